"""From Kaitai Struct specifications to fast readers, and to the facts that need no data.

`whole` compiles specifications; the package itself imports nothing, because commands that compile nothing use parts of
it.  It needs the standard library only: it runs before anything is installed.  Its functions raise `UnsupportedError`
for anything in a specification that readers cannot do; no other errors leave the package.
"""
