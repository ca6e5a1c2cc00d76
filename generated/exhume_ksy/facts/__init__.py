"""Enums, magics, sizes and fixed places from `ksy/` (see `make generated`); never edited by hand."""
