"""Parsers compiled from `ksy/` (see `make generated`); never edited by hand.

- `exhume_ksy.fast`: typed readers that raise one exception with the path and place of the field; exhume runs on them.
- `exhume_ksy.facts`: enums, magics, sizes and fixed places of each specification.
- `exhume_ksy.<specification>`: the classes that Kaitai's compiler writes, as other projects know them:

    from exhume_ksy.zs import Zs

    with Zs.from_file("words.zs") as file:
        print(file.header.codec_name, file.header.len_root)

- `exhume_ksy.debug`: the same with the position of every field.

The specifications themselves are next to them: `importlib.resources.files("exhume_ksy") / "ksy"`, and `exhume schema`
prints them.
"""
