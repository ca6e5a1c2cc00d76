"""What other tools load of exhume, by their own entry points: one module per tool, which only that tool imports.

`docs/plugins.md` lists them.
"""
