"""Fast readers compiled from `ksy/` (see `make generated`); never edited by hand."""

ELEMENTS = "c55b9f97d320118e"
"""What compiled code includes; code that was built from anything else is not used."""
