"""The parts of exhume that other tools load through their own entry points: one module per tool, imported by it alone.

`docs/plugins.md` lists them.
"""
