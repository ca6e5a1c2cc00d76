"""Fast readers compiled from `ksy/` (see `make generated`); never edited by hand."""
