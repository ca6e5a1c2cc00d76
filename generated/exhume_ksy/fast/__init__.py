"""Fast readers compiled from `ksy/` (see `make generated`); never edited by hand."""

ELEMENTS = "65d8f2875e3d03b1"
"""What compiled code includes; code that was built from anything else is not used."""
