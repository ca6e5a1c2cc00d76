"""From a model to text: readers in Python, columns, extension modules, facts, and type stubs."""
