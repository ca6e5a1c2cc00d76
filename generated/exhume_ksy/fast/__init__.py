"""Fast readers compiled from `ksy/` (see `make generated`); never edited by hand."""

ELEMENTS = "713df549ad5730a3"
"""What compiled code includes; code that was built from anything else is not used."""
