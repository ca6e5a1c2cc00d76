"""The command line: `main.py` runs it, `cmd_<verb>.py` holds one verb each and is found by its name."""
