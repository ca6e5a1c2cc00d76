"""Fast readers compiled from `ksy/` (see `make generated`); never edited by hand."""

ELEMENTS = "6dcefbd0dc4690c5"
"""What compiled code includes; code that was built from anything else is not used."""
