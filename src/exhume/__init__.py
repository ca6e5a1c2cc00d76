"""exhume: read, write, verify, explain, salvage and carve five archive formats."""

__version__ = "0.1.0"
