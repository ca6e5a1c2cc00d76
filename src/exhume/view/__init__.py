"""Pictures of an archive for people who would rather look: the explain page and the section map."""
