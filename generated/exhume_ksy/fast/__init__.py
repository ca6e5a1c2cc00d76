"""Fast readers compiled from `ksy/` (see `make generated`); never edited by hand."""

ELEMENTS = "39c81cacb74f0f0a"
"""What compiled code includes; code that was built from anything else is not used."""
