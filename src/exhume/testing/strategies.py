"""Hypothesis strategies from specifications: instances of a `.ksy`, and data that is refused for one broken rule.

    from hypothesis import given
    from exhume.testing.strategies import from_ksy

    @given(from_ksy("zs_index_block"))
    def test_parser(one):
        parse(one.data)

The work is done by `exhume.compiler.strategies`, which needs nothing of exhume but its compiler.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from collections.abc import Sequence as Many
from typing import Any

from hypothesis import strategies as st

from exhume.codecs import checksums as algorithms
from exhume.compiler.front.model import Type
from exhume.compiler.front.specs import Model
from exhume.compiler.instances.draw import KNOWN, Checksums
from exhume.compiler.strategies import Instance, InvalidInstance, instances, invalid_instances, type_of
from exhume.layout.foreign import compile_ksy
from exhume.layout.specifications import spec

__all__ = ["Instance", "InvalidInstance", "from_ksy", "invalid_from_ksy"]

Ksy = str | os.PathLike[str] | Mapping[str, Any]
"""A specification: the id of one of exhume's, the path of a `.ksy` file, or a mapping as loaded from YAML."""


CHECKSUMS: Checksums = {
    **KNOWN,
    "CRC-32C": algorithms.crc32c,
    "masked CRC-32C": algorithms.masked_crc32c,
    "CRC-64/XZ": algorithms.crc64_xz,
}
"""The algorithms that `-checksum` may name; `checksums=` adds others."""


def from_ksy(
    ksy: Ksy,
    type: str = "",
    *,
    arguments: Many[Any] | None = None,
    imports: Mapping[str, Any] | None = None,
    checksums: Checksums = CHECKSUMS,
) -> st.SearchStrategy[Instance]:
    """Instances of a specification: `Instance(data, arguments)`.

    `ksy` is the id of one of exhume's own specifications (`"zs_index_block"`), the path of a `.ksy` file (which needs
    PyYAML), or a specification as loaded from YAML, with those that it `imports` by their ids.  `type` names a type in
    it, `"block"` or `"block::header"`.  Parameters are drawn too unless `arguments` are given.  A field with
    `-checksum: NAME` and `-covers: [FIELDS]` gets what `checksums[NAME]` computes of those sibling fields.

    Raises `exhume.compiler.refusal.UnsupportedError`, naming the field, for what the compiler does not cover.
    """
    return instances(_type(ksy, type, imports), arguments, checksums)


def invalid_from_ksy(
    ksy: Ksy,
    type: str = "",
    *,
    arguments: Many[Any] | None = None,
    imports: Mapping[str, Any] | None = None,
    checksums: Checksums = CHECKSUMS,
) -> st.SearchStrategy[InvalidInstance]:
    """Data that would be an instance except for one broken rule: `InvalidInstance(data, arguments, path, at, rule)`.

    A reader that goes through the fields in the order of the specification refuses it at the field `path`, which
    begins at the offset `at`; where the rule is `checksum`, everything can be read and a checksum is wrong.  The
    arguments and the errors are those of `from_ksy`.
    """
    return invalid_instances(_type(ksy, type, imports), arguments, checksums)


def _type(ksy: Ksy, type: str, imports: Mapping[str, Any] | None) -> Type:
    """Return a type of a specification: a mapping, a path, or the name of one of this package."""
    if isinstance(ksy, Mapping):
        id = str(ksy["meta"]["id"])
        return type_of(Model({**(imports or {}), id: ksy}, foreign=True), _path(id, type))
    if isinstance(ksy, str) and not ksy.endswith(".ksy"):
        return _own(ksy, type)
    found = compile_ksy(ksy)
    return type_of(found.model, _path(found.id, type))


def _path(id: str, type: str) -> str:
    """Return the full name of a type in a specification, or of the specification's own type."""
    return f"{id}::{type}" if type else id


@functools.cache
def _own(id: str, type: str) -> Type:
    """Return a type of one of this package's specifications, with its imports."""
    found: dict[str, Any] = {}
    waiting = [id]
    while waiting:
        one = waiting.pop()
        found[one] = spec(one)
        waiting += [str(name) for name in found[one]["meta"].get("imports", ()) if str(name) not in found]
    return type_of(Model(found), _path(id, type))
