"""Fast readers compiled from `ksy/` (see `make generated`); never edited by hand."""

ELEMENTS = "57d35c8bf1b60e09"
"""What compiled code includes; code that was built from anything else is not used."""
