"""Fast readers compiled from `ksy/` (see `make generated`); never edited by hand."""

ELEMENTS = "1697e2b0ca3e18bc"
"""What compiled code includes; code that was built from anything else is not used."""
