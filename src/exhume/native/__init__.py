"""The measured hot loops: the compiled kernel, or its interpreted twin.  Those of a format lie in its folder."""
