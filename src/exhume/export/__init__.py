"""Other ecosystems: each module is one target of `exhume export --to NAME`, found by its name.

A module `exhume.export.<name>` (`-` becomes `_`) has

- `ACCEPTS`: `"members"`, `"records"`, `"any"`, or `"tables"` (archives that have `to_arrow`, whose options it takes)
- `export(archive, output, *, overwrite, progress, **options) -> ExportReport`, where `output` is a path or `"-"`

Targets that only one format can serve are listed in that format's `cli.EXPORTS` instead, with the same signature.
"""
