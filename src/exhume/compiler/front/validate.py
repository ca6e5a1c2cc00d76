"""Whether a specification of unknown origin has the shape of one, and whether its names are names.

Specifications become code that is run.  So every name is checked against Kaitai's rule, and every key and value
against its type, before any code is written; only strings are left, and these are only ever written as constants.

Each function checks one part; `where` is the path of that part, for messages, `raw` has its keys as in the YAML,
`found` is a value that may be of any kind.  All raise `UnsupportedError`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

from exhume.compiler import refusal
from exhume.compiler.front.expressions import is_private
from exhume.compiler.front.kinds import text_encoding
from exhume.compiler.front.model import KNOWN, MARKED, NUMBER, enum_key
from exhume.compiler.refusal import UnsupportedError

# Forms of names, of types with arguments, and of enums.
NAME = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
TYPE = re.compile(r"(::)?[a-z][a-z0-9_]*(::[a-z][a-z0-9_]*)*(\[\])?(\s*\(.*\))?", re.ASCII | re.DOTALL)
ENUM = re.compile(r"[a-z][a-z0-9_]*(::[a-z][a-z0-9_]*)*", re.ASCII)
# Types that only parameters may have, and those that they may not have; keys of enums are decimal, `0x...` or `0b...`.
_NOT_OF_FIELDS = re.compile(r"[us]1(le|be)|.*\[\]", re.DOTALL)
_NOT_OF_PARAMETERS = re.compile(r"([usf][1248](le|be)|strz)(\[\])?")
_ENUM_KEY = re.compile(r"-?[0-9]{1,20}|0x[0-9a-fA-F]{1,16}|0b[01]{1,64}")
WIDEST = 64
"""Most bits of one field."""

# Keys that the parts of a specification may have, and keys whose values are expressions.
_TYPE_KEYS = frozenset(("meta", "doc", "doc-ref", "to-string", "params", "seq", "instances", "types", "enums"))
_PARAM_KEYS = frozenset(("id", "type", "enum", "doc", "doc-ref"))
_MEMBER_KEYS = frozenset(("id", "doc", "doc-ref"))
_EXPRESSIONS = ("size", "if", "repeat-expr", "repeat-until", "pos", "io", "value", "parent")
_META_KEYS = frozenset(
    (
        *("id", "title", "application", "file-extension", "xref", "tags", "license", "imports", "endian", "bit-endian"),
        *("encoding", "ks-version", "ks-debug", "ks-opaque-types", "ks-zero-copy-substream"),
    )
)
_OLDEST, _NEWEST = (0, 6), (0, 11)
"""Lowest and highest supported version of the language."""
_FLAGS = ("size-eos", "consume", "include", "eos-error")
"""Keys of a field that are true or false."""
_RULES = frozenset(("eq", "min", "max", "any-of", "in-enum", "expr"))
"""Keys of `valid`."""


def validate(spec: Any, id: str) -> None:
    """Raise `UnsupportedError`, which names the field, for a part that no specification has."""
    if not isinstance(spec, Mapping):
        raise UnsupportedError("is not a specification: a mapping is expected", id)
    try:
        _check_type(spec, id, id)
    except RecursionError:
        raise UnsupportedError("types are nested too deeply", id) from None


def _characters(part: Any) -> int:
    """Count the characters in a field, documentation excluded."""
    if isinstance(part, str):
        return len(part)
    if isinstance(part, list):
        return sum(map(_characters, part))
    found = part.items() if isinstance(part, Mapping) else ()
    return sum(_characters(one) for key, one in found if not key.startswith(("doc", "-")))


def check_size(specs: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise `UnsupportedError` for specifications that have more types, fields or expressions than `refusal` allows."""
    types = fields = texts = 0
    waiting = [(id, spec) for id, spec in specs.items()]
    while waiting:
        where, raw = waiting.pop()
        own = sum(len(raw.get(key, ())) for key in ("params", "seq", "instances"))
        types, fields = types + 1, fields + own
        texts += sum(_characters(one) for key in ("seq", "params") for one in raw.get(key, ()))
        texts += sum(map(_characters, raw.get("instances", {}).values()))
        if texts > refusal.EXPRESSIONS:
            raise UnsupportedError(f"expressions of more than {refusal.EXPRESSIONS} characters", where)
        if own > refusal.FIELDS_OF_ONE:
            raise UnsupportedError(f"more than {refusal.FIELDS_OF_ONE} fields", where)
        if types > refusal.TYPES:
            raise UnsupportedError(f"more than {refusal.TYPES} types", where)
        if fields > refusal.FIELDS:
            raise UnsupportedError(f"more than {refusal.FIELDS} fields in all types", where)
        waiting += [(f"{where}::{id}", one) for id, one in raw.get("types", {}).items()]


def name(found: Any, where: str) -> str:
    """Return a valid name; raises `UnsupportedError` for anything else."""
    if found is None:
        raise UnsupportedError("`id` is missing", where)
    if isinstance(found, str) and len(found) > refusal.NAME:
        raise UnsupportedError(f"a name longer than {refusal.NAME} characters: {found:.60}", where)
    if not isinstance(found, str) or NAME.fullmatch(found) is None:
        raise UnsupportedError(f"{found!r:.60} is not a name: names are of lower-case letters, digits and `_`", where)
    if is_private(found):
        raise UnsupportedError(f"{found!r:.60} ends with `__`, as no name does", where)
    return found


def _mapping(found: Any, where: str) -> Mapping[str, Any]:
    """Return a mapping with strings as keys; raises `UnsupportedError` for anything else."""
    if not isinstance(found, Mapping) or not all(isinstance(key, str) for key in found):
        raise UnsupportedError("a mapping is expected", where)
    return found


def _list(found: Any, where: str) -> list[Any]:
    """Return a list; raises `UnsupportedError` for anything else."""
    if not isinstance(found, list):
        raise UnsupportedError("a list is expected", where)
    return found


def _check_expression(found: Any, where: str) -> None:
    """Check that an expression is a string or a number, and not too long."""
    if not isinstance(found, (str, int, float)) or found == "":
        raise UnsupportedError("an expression is expected", where)
    if isinstance(found, str) and len(found) > refusal.EXPRESSION:
        raise UnsupportedError(f"an expression of more than {refusal.EXPRESSION} characters", where)


def _check_keys(found: Mapping[str, Any], known: frozenset[str], where: str) -> None:
    """Reject keys that are not `known`, with the nearest one as advice; keys that begin with `-` are free."""
    for key in found:
        if key not in known and not key.startswith("-"):
            near = difflib.get_close_matches(key[:100], known, 1)
            more = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(sorted(known))}"
            raise UnsupportedError(f"`{key:.60}` is not a key here: {more}", f"{where}: {key}")


def _check_type(raw: Mapping[str, Any], id: str, where: str) -> None:
    """Check the keys and names of a type, and of its fields, enums and types, to any depth.

    `where` is its path in messages.  Raises `UnsupportedError` at the first fault.
    """
    name(id, where)
    if len(where) > refusal.PATH:
        raise UnsupportedError(f"names of types within each other of more than {refusal.PATH} characters", where)
    _check_keys(raw, _TYPE_KEYS, where)
    _check_docs(raw, where)
    if "to-string" in raw:
        _check_expression(raw["to-string"], f"{where}: to-string")
    shown = raw.get("-webide-representation", "")
    if not isinstance(shown, str) or len(shown) > refusal.REPRESENTATION:
        raise UnsupportedError(f"a representation is a string of at most {refusal.REPRESENTATION} characters", where)
    _check_meta(_mapping(raw.get("meta", {}), where), where)
    # Parameters, fields and instances have one set of names.
    taken: set[str] = set()
    for number, item in enumerate(_list(raw.get("params", []), f"{where}: params")):
        param = _mapping(item, f"{where}: params[{number}]")
        own = f"{where}.{name(param.get('id'), f'{where}: params[{number}]')}"
        _check_field(param, own, taken, _PARAM_KEYS)
    for number, item in enumerate(_list(raw.get("seq", []), f"{where}: seq")):
        field = _mapping(item, f"{where}: seq[{number}]")
        own = f"{where}.{name(field['id'], f'{where}: seq[{number}]') if 'id' in field else f'_unnamed{number}'}"
        _check_field(field, own, taken, _keys_of(field))
    for key, item in _mapping(raw.get("instances", {}), where).items():
        own = f"{where}.{name(key, f'{where}: instances')}"
        _check_field(_mapping(item, own), own, taken, _keys_of_instance(item))
    for key, item in _mapping(raw.get("enums", {}), where).items():
        _check_enum(_mapping(item, where), f"{where}::{name(key, f'{where}: enums')}")
    for key, item in _mapping(raw.get("types", {}), where).items():
        _check_type(_mapping(item, where), name(key, f"{where}: types"), f"{where}::{key}")


def _check_meta(meta: Mapping[str, Any], where: str) -> None:
    """Check the `meta` of a type: byte orders, flags, encoding and version.  Raises `UnsupportedError`."""
    _check_keys(meta, _META_KEYS, f"{where}: meta")
    _check_version(meta.get("ks-version", "0.6"), f"{where}: meta: ks-version")
    for key in ("ks-debug", "ks-opaque-types", "ks-zero-copy-substream"):
        if not isinstance(meta.get(key, False), bool):
            raise UnsupportedError(f"`{key}` is true or false", f"{where}: meta: {key}")
    endian = meta.get("endian")
    if isinstance(endian, Mapping):
        _check_keys(_mapping(endian, where), frozenset(("switch-on", "cases")), f"{where}: endian")
        _check_expression(endian.get("switch-on"), f"{where}: endian")
        if not set(_mapping(endian.get("cases"), f"{where}: endian").values()) <= {"le", "be"}:
            raise UnsupportedError("`endian` is `le` or `be` in every case", where)
        endian = None  # checked: the rest is for a single byte order
    if endian not in (None, "le", "be") or meta.get("bit-endian") not in (None, "le", "be"):
        raise UnsupportedError("`endian` and `bit-endian` are `le` or `be`", where)
    if "encoding" in meta:
        encoding(meta["encoding"], where)


def _check_version(found: Any, where: str) -> None:
    """Raise `UnsupportedError` unless a version of Kaitai's compiler is one whose language is supported."""
    numbers = r"(?:0|[1-9][0-9]{0,5})"
    parsed = re.fullmatch(rf"({numbers})\.({numbers})(?:\.({numbers}))?", str(found))
    if parsed is None or isinstance(found, bool):
        raise UnsupportedError(f"{found!r:.60} is not a version: `ks-version` is X.Y or X.Y.Z", where)
    version = tuple(int(one or 0) for one in parsed.groups())
    if version < _OLDEST:
        hint = ", which YAML makes of 0.10: write '0.10'" if found == 0.1 else ""
        raise UnsupportedError(f"`ks-version: {found}` is below 0.6, the lowest version{hint}", where)
    if version[:2] > _NEWEST:
        raise UnsupportedError(f"`ks-version: {found!s:.60}` is newer than 0.11, the newest supported version", where)


def encoding(found: Any, where: str) -> None:
    """Raise `UnsupportedError` unless `found` is the name of an encoding of characters."""
    try:
        text_encoding(found)
    except UnsupportedError as error:
        raise error.within(where) from None


def _check_enum(raw: Mapping[str, Any], where: str) -> None:
    """Check that the keys of an enum are numbers, and its names differ.  Raises `UnsupportedError`."""
    taken = set()
    for key, stated in raw.items():
        if _ENUM_KEY.fullmatch(key) is None or not -(1 << 63) <= enum_key(key) < 1 << 64:
            raise UnsupportedError(f"{key!r:.60} is not an integer of 64 bits", where)
        found = stated
        if isinstance(stated, Mapping):
            _check_keys(_mapping(stated, where), _MEMBER_KEYS, where)
            found = stated.get("id")
        taken.add(name(str(found).lower() if isinstance(found, bool) else found, where))
    if len(taken) < len(raw):
        raise UnsupportedError("two values have the same name", where)


# Keys that a field may have: whatever its type; of bytes.
_EVERY = frozenset(("id", "doc", "doc-ref", "type", "if", "repeat", "repeat-expr", "repeat-until", "valid"))
_BYTES = frozenset(("size", "size-eos", "pad-right", "process")) | MARKED
# All keys of an instance that is computed, and the keys that one with a position has besides those of a field.
_VALUE_KEYS = frozenset(("value", "if", "enum", "doc", "doc-ref"))
_PLACE_KEYS = frozenset(("pos", "io"))


def _keys_of(raw: Mapping[str, Any]) -> frozenset[str]:
    """Return the keys that a field may have, by its type."""
    type = raw.get("type")
    if isinstance(type, Mapping):
        return _EVERY | _BYTES | {"parent"}
    if type is None:
        return _EVERY | ({"contents", "size"} if "contents" in raw else _BYTES) | {"parent"}
    if not isinstance(type, str):
        return KNOWN  # `_check_type_name` refuses the type
    if NUMBER.fullmatch(type.strip()):
        return _EVERY | MARKED | {"enum"}
    if type.strip() in ("str", "strz"):
        return _EVERY | (_BYTES - {"process"}) | {"encoding"}
    return _EVERY | _BYTES | {"parent"}


def _keys_of_instance(raw: Any) -> frozenset[str]:
    """Return the keys that an instance may have: computed ones (`value`) have no others that read data."""
    if not isinstance(raw, Mapping):
        return KNOWN  # the caller refuses it (`_mapping`)
    return _VALUE_KEYS if "value" in raw else _keys_of(raw) | _PLACE_KEYS | {"value"}


def _check_field(raw: Mapping[str, Any], where: str, taken: set[str], known: frozenset[str]) -> None:
    """Check one field; its name is added to `taken`, and it may have the keys `known`.  Raises `UnsupportedError`."""
    id = where.rpartition(".")[2]
    if id in taken:
        raise UnsupportedError("another field has the same name", where)
    taken.add(id)
    _check_keys(raw, known, where)
    _check_exclusions(raw, where)
    for key in _EXPRESSIONS:
        if key in raw:
            _check_expression(raw[key], f"{where}: {key}")
    for key in _FLAGS:
        if key in raw and not isinstance(raw[key], bool):
            raise UnsupportedError(f"`{key}` is true or false", where)
    _check_repeat(raw, where)
    _check_type_name(raw.get("type"), where, stored=known is not _PARAM_KEYS)  # parameters alone have these keys
    if "enum" in raw and (not isinstance(raw["enum"], str) or ENUM.fullmatch(raw["enum"]) is None):
        raise UnsupportedError(f"{raw['enum']!r:.60} is not the name of an enum", where)
    if "encoding" in raw:
        encoding(raw["encoding"], where)
    if "process" in raw and not isinstance(raw["process"], str):
        raise UnsupportedError("`process` is the name of a routine", where)
    _check_bytes(raw, where)
    _check_valid(raw.get("valid", 0), where)  # without a rule, any value that passes


def _check_exclusions(raw: Mapping[str, Any], where: str) -> None:
    """Check that no two keys are given that exclude each other, and that the documentation is text."""
    for one, other in (("contents", "valid"), ("size", "size-eos")):
        if one in raw and raw.get(other, False) is not False:
            raise UnsupportedError(f"`{one}` and `{other}` exclude each other", where)
    _check_docs(raw, where)


def _check_docs(raw: Mapping[str, Any], where: str) -> None:
    """Check that the documentation is text."""
    for key in ("doc", "doc-ref"):
        if not isinstance(raw.get(key, ""), (str, int, float) if key == "doc" else (str, list)):
            raise UnsupportedError(f"`{key}` is a string", f"{where}: {key}")


def _check_repeat(raw: Mapping[str, Any], where: str) -> None:
    """Check that `repeat` has a known value and the key that belongs to it."""
    if raw.get("repeat", "eos") not in ("eos", "expr", "until"):
        raise UnsupportedError("`repeat` is eos, expr or until", where)
    for key in ("expr", "until"):
        if (raw.get("repeat") == key) != (f"repeat-{key}" in raw):
            raise UnsupportedError(f"`repeat: {key}` and `repeat-{key}` belong together", where)


def _check_type_name(type: Any, where: str, *, stored: bool) -> None:
    """Check the `type` of a field: a name, or `switch-on` with cases.  Raises `UnsupportedError`.

    A parameter is not `stored`, and may have types that no bytes have (`bool`, `io`, `u4[]`).
    """
    if isinstance(type, Mapping):
        if not stored:
            raise UnsupportedError("a parameter is of one type", where)
        _check_keys(_mapping(type, where), frozenset(("switch-on", "cases")), where)
        for key in ("switch-on", "cases"):
            if key not in type:
                raise UnsupportedError(f"`{key}` is missing", where)
        _check_expression(type.get("switch-on"), f"{where}: switch-on")
        cases = _mapping(type.get("cases"), f"{where}: cases")
        if not cases:
            raise UnsupportedError("a choice without cases", f"{where}: cases")
        for one in cases.values():
            if isinstance(one, Mapping) or one is None:
                raise UnsupportedError("a case is the name of a type", f"{where}: cases")
            _check_type_name(one, where, stored=stored)
        return
    if type is None:
        return
    if not isinstance(type, str) or TYPE.fullmatch(type.strip()) is None:
        raise UnsupportedError(f"{type!r:.60} is not a type", where)
    amiss = _NOT_OF_FIELDS if stored else _NOT_OF_PARAMETERS
    if amiss.fullmatch(type.strip()):
        raise UnsupportedError(f"`{type:.60}` is not the type of a {'field' if stored else 'parameter'}", where)
    # Nine digits suffice to see that a width is too large.
    if (bits := re.fullmatch(r"b([0-9]+)(le|be)?", type.strip())) and not 1 <= int(bits[1][:9]) <= WIDEST:
        raise UnsupportedError(f"`{type:.60}`: a field of bits has 1 to {WIDEST}", where)


def _check_bytes(raw: Mapping[str, Any], where: str) -> None:
    """Check `terminator`, `pad-right` and `contents`.  Raises `UnsupportedError`."""

    def byte(one: Any) -> bool:
        """Return whether a value is a byte."""
        return isinstance(one, int) and not isinstance(one, bool) and 0 <= one < 256

    for key in ("terminator", "pad-right"):
        if not byte(raw.get(key, 0)):
            raise UnsupportedError(f"`{key}` is a byte", where)
    if "contents" not in raw:
        return
    stated = raw["contents"]
    if stated in ("", []):
        raise UnsupportedError("`contents` is empty", where)
    numbers = re.compile(r"0x[0-9a-fA-F]{1,2}")
    # None, for anything but a list or a string, is refused as an element of a wrong kind would be.
    for one in stated if isinstance(stated, list) else [stated] if isinstance(stated, str) else [None]:
        if byte(one) or (isinstance(one, str) and (not one.startswith("0x") or numbers.fullmatch(one))):
            continue
        raise UnsupportedError("`contents` is a string, or a list of bytes and strings", where)


def _check_valid(valid: Any, where: str) -> None:
    """Check `valid`: a value, or one rule (`min` and `max` may be together).  Raises `UnsupportedError`."""
    if not isinstance(valid, Mapping):
        _check_expression(valid, f"{where}: valid")
        if isinstance(valid, float):
            raise UnsupportedError(f"a float is in quotes here: '{valid}'", f"{where}: valid")
        return
    _check_keys(_mapping(valid, where), _RULES, f"{where}: valid")
    if len(valid) != 1 and set(valid) != {"min", "max"}:
        raise UnsupportedError(
            "`valid` is one of any-of, eq, expr, in-enum, min and max, or min with max", f"{where}: valid"
        )
    for key, stated in valid.items():
        if key == "in-enum" and stated is not True:
            raise UnsupportedError("`in-enum` is true", f"{where}: valid")
        if key == "any-of" and not stated:
            raise UnsupportedError("`any-of` is empty", f"{where}: valid")
        for one in _list(stated, f"{where}: valid") if key == "any-of" else [stated]:
            _check_expression(one, f"{where}: valid")
