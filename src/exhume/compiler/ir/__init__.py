"""The intermediate form: what is decided once about the types that `front` resolved, for everything that `emit` writes.

Emitters write Python, Cython and tables; they ask here how a structure is traversed, and decide none of it
themselves:

    fixed      sizes, byte orders and contents that do not depend on the data; numbers of variable length
    bits       which fields and structures may begin within a byte
    needs      arguments that the reader of a type takes, facts that its values store, unsupported orders of bits
    rows       how each field of a row (element of a list) is read, the columns that it becomes, and which rows are of
               one fixed size, so that they are unpacked together

This folder contains no text of any programming language, and `front` imports nothing of it.
"""
