"""Fast readers compiled from `ksy/` (see `make generated`); never edited by hand."""

ELEMENTS = "c9ead759697ceda4"
"""What compiled code includes; code that was built from anything else is not used."""
