"""The same parsers, with the position of every field; compiled from `ksy/`, never edited by hand."""
