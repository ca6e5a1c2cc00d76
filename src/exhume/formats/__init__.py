"""The archive formats, one subpackage each; `exhume.registry` finds them here by name."""
