"""The only place that creates files: atomic files and directories, safe extraction trees, tar streams.

Nothing half-written ever carries its final name, and no member name leads outside the directory it is extracted to.
"""
