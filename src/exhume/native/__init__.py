"""The measured hot loops: the compiled kernel, or the pure-Python one.  Those of a format are in its folder."""
