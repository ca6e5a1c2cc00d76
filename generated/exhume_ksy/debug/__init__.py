"""Parsers compiled from `ksy/` (see `make generated`); never edited by hand."""
