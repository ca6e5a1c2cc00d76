"""From JSON text, text logs and KV-IR streams to the bytes of clp-s archives.

`inputs` reads and recognizes inputs; `series` fills one archive after another, with blocks encoded in parallel; an
`encoder` (compiled, or `pykernel`) makes columns of records; `assemble` and `build` write a finished archive.
"""
