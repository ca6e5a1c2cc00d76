"""Fast readers compiled from `ksy/` (see `make generated`); never edited by hand."""

ELEMENTS = "3811bcdd0cde3f60"
"""What compiled code includes; code that was built from anything else is not used."""
