"""What a browser shows of an archive: the explain page, the explorer, the section map, reports, tables in notebooks."""
