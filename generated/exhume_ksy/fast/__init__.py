"""Fast readers compiled from `ksy/` (see `make generated`); never edited by hand."""

ELEMENTS = "b33eff24a7a0cc9e"
"""What compiled code includes; code that was built from anything else is not used."""
