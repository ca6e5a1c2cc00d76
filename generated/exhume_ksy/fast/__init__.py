"""Fast readers compiled from `ksy/` (see `make generated`); never edited by hand."""

ELEMENTS = "f2a2223ff53e5db5"
"""What compiled code includes; code that was built from anything else is not used."""
