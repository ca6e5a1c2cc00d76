"""The intermediate form: what is decided once about the types that `front` resolved, for everything that `emit` writes.

Emitters write Python, Cython and tables; they ask here how a structure is traversed, and decide none of it themselves:

    fixed      sizes, byte orders and contents that do not depend on the data; numbers of variable length
    needs      what the reader of a type is given, what its values remember, and orders of bits that are refused
    rows       how each field of a row is read, and the columns that it becomes

Nothing here is text of a language, and `front` imports nothing of it.
"""
