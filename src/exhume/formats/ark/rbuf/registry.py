"""The rbuf schema registry: which fields, groups, types and enumerations objects have.

A registry is JSON text in every log: one for the manifest in its trailer, one per channel.  It is all that is needed to
decode and encode values; `decoder` and `encoder` compile it once per type.

Spec: rbuf schema registry (the JSON of the schema compiler, embedded in manifests).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from exhume.counts import counted
from exhume.errors import shorten
from exhume.formats.ark.checks import REGISTRY_TEXT, REGISTRY_TYPE
from exhume.tuples import NamedTuple

INTEGERS: Final = {
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
}
"""Integer types and their `struct` letters; also what an enumeration can be stored as."""

FIXED: Final = {
    **INTEGERS,
    "float": "f",
    "double": "d",
    "bool": "?",
    "duration": "q",
    "steady_time_point": "Q",
    "system_time_point": "Q",
}
"""Types of fixed width and their `struct` letters; everything is little-endian and packed."""

OTHER_TYPES: Final = frozenset(
    {"string", "guid", "byte_buffer", "enum", "object", "variant", "array", "arraylist", "dictionary"}
)

MAX_TYPE_DEPTH: Final = 32
"""Most containers inside containers within one field."""


class Field(NamedTuple):
    """One field, or the key or element type of a container (then without a name); `variants` has (index, type name)."""

    name: str
    type: str
    object_type: str | None = None  # full name of the type of an `object` or `enum`
    array_size: int = 0  # elements of an `array`
    key: Field | None = None  # type of the keys of a dictionary
    value: Field | None = None  # type of its values, or of the elements of a list or an array
    variants: tuple[tuple[int, str], ...] = ()
    optional: bool = False  # a byte before the value states whether it is there
    removed: bool = False  # still stored, but not a field of values
    constant: bool = False  # not stored
    constant_value: str | None = None  # as text; see `constant_literal`
    packed_timespec: bool = False  # two 32-bit numbers, whatever the type says

    def to_json(self) -> dict[str, Any]:
        """The registry's JSON form."""
        out: dict[str, Any] = {"name": self.name} if self.name else {}
        out["type"] = self.type
        if self.object_type is not None:
            out["object_type"] = self.object_type
        if self.type == "array":
            out["array_size"] = self.array_size
        if self.key is not None:
            out["ctr_key_type"] = self.key.to_json()
        if self.value is not None:
            out["ctr_value_type"] = self.value.to_json()
        if self.variants:
            out["variant_types"] = [[index, name] for index, name in self.variants]
        flags = ("optional", "removed", "constant", "packed_timespec")
        attributes = {flag: True for flag in flags if getattr(self, flag)}
        if attributes:
            out["attributes"] = attributes
        if self.constant_value is not None:
            out["constant_value"] = self.constant_value
        return out

    def constant_literal(self) -> Any:
        """The value of a constant field: its text as a number, boolean or quoted string, or else the text itself."""
        text = (self.constant_value or "").strip()
        try:
            return json.loads(text, parse_constant=lambda name: name)
        except (ValueError, RecursionError):
            return text[1:-1] if len(text) > 1 and text[0] == text[-1] == "'" else text


class Group(NamedTuple):
    """Fields that were added to a schema after its first version."""

    identifier: int
    fields: tuple[Field, ...]


class Schema(NamedTuple):
    """One object type; `name` is qualified (`ns::Name`); objects of `final` types have neither header nor groups."""

    name: str
    fields: tuple[Field, ...]
    groups: tuple[Group, ...] = ()
    final: bool = False
    comments: str = ""

    def all_fields(self) -> Iterator[Field]:
        """The fields of the object and of its groups, in wire order."""
        yield from self.fields
        for group in self.groups:
            yield from group.fields

    def visible_fields(self) -> Iterator[Field]:
        """Fields that a value has: neither removed nor constant."""
        return (each for each in self.all_fields() if not each.removed and not each.constant)

    def constants(self) -> dict[str, Any]:
        """Constant fields and their values (they are not on the wire)."""
        return {each.name: each.constant_literal() for each in self.all_fields() if each.constant}

    def to_json(self) -> dict[str, Any]:
        """The registry's JSON form."""
        namespace, name = _split_name(self.name)
        out: dict[str, Any] = {"name": name, **({"object_namespace": namespace} if namespace else {})}
        out["fields"] = [*map(Field.to_json, self.fields)]
        groups = [(number, [*map(Field.to_json, fields)]) for number, fields in self.groups]
        out["groups"] = [{"identifier": number, "fields": fields} for number, fields in groups]
        if self.final:
            out["attributes"] = {"final": True}
        if self.comments:
            out["comments"] = self.comments
        return out


class EnumType(NamedTuple):
    """An enumeration; values stay integers, `values` has their names."""

    name: str
    enum_class: str  # the integer type that it is stored as
    bitmask: bool  # its values are flags, which can be combined
    values: Mapping[str, int]

    def label(self, value: int) -> str | None:
        """The name of a value, or names joined with ` | ` for a bitmask; None when there is none."""
        for name, number in self.values.items():
            if number == value:
                return name
        if not self.bitmask or value <= 0:
            return None
        names = []
        rest = value
        for name, number in self.values.items():
            if number > 0 and rest & number == number:
                names.append(name)
                rest &= ~number
        return " | ".join(names) if names and not rest else None

    def to_json(self) -> dict[str, Any]:
        """The registry's JSON form."""
        namespace, name = _split_name(self.name)
        out: dict[str, Any] = {"name": name}
        if namespace:
            out["object_namespace"] = namespace
        return out | {
            "enum_class": self.enum_class,
            "enum_type": "bitmask" if self.bitmask else "value",
            "values": dict(self.values),
        }


class Registry:
    """Schemas and enumerations by qualified name."""

    def __init__(self, schemas: Mapping[str, Schema], enums: Mapping[str, EnumType], text: str | None = None) -> None:
        """Make a registry; `text` is its JSON form, if it was parsed from one."""
        self.schemas: dict[str, Schema] = dict(schemas)
        self.enums: dict[str, EnumType] = dict(enums)
        self._text = text
        self.compiled: dict[tuple[str, str], Any] = {}
        """Decoders and encoders by kind and type, kept by `decoder_for` and `encoder_for`."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Without what was compiled, which cannot travel to another process."""
        return Registry, (self.schemas, self.enums, self._text)

    @classmethod
    def from_json(cls, text: str | bytes) -> Registry:
        """Parse registry JSON; unknown keys are ignored.

        Raises the error of rule ARK-410 for text that is not JSON or not a registry.
        """
        if isinstance(text, bytes):
            try:
                text = text.decode()
            except UnicodeDecodeError as error:
                raise REGISTRY_TEXT.error("not UTF-8", actual=error.reason) from error
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise REGISTRY_TEXT.error("not JSON", actual=shorten(error)) from error
        try:
            return _parse_registry(document, text)
        except _BadRegistryError as error:
            raise REGISTRY_TEXT.error(str(error), field_path=error.path or None) from None
        except RecursionError as error:
            raise REGISTRY_TEXT.error("nested too deeply") from error

    def to_json(self) -> str:
        """The JSON text: the one that was parsed, unchanged, or a compact rendering."""
        if self._text is None:
            document = {
                "schemas": [schema.to_json() for schema in self.schemas.values()],
                "enums": [enum.to_json() for enum in self.enums.values()],
            }
            self._text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
        return self._text

    def schema(self, name: str) -> Schema:
        """The schema of that name (a leading `::` is accepted).  Raises ARK-411 when there is none."""
        found = self.schemas.get(name.removeprefix("::"))
        if found is None:
            raise REGISTRY_TYPE.error(expected=f"one of {counted(len(self.schemas), 'schemas')}", actual=name)
        return found

    def enum(self, name: str) -> EnumType:
        """The enumeration of that name.  Raises ARK-411 when there is none."""
        found = self.enums.get(name.removeprefix("::"))
        if found is None:
            raise REGISTRY_TYPE.error(expected=f"one of {counted(len(self.enums), 'enumerations')}", actual=name)
        return found

    def closure(self, name: str) -> Registry:
        """The part of the registry that one type needs: what a channel declaration embeds."""
        schemas: dict[str, Schema] = {}
        enums: dict[str, EnumType] = {}
        waiting = [name.removeprefix("::")]
        while waiting:
            current = waiting.pop()
            if current in schemas:
                continue
            schemas[current] = self.schema(current)
            for each in schemas[current].all_fields():
                for used in _walk(each):
                    if used.type == "enum" and used.object_type is not None:
                        enums[used.object_type] = self.enum(used.object_type)
                    elif used.type == "object" and used.object_type is not None:
                        waiting.append(used.object_type)
                    waiting.extend(variant for _, variant in used.variants)
        order = {known: position for position, known in enumerate(self.schemas)}
        return Registry({known: schemas[known] for known in sorted(schemas, key=order.__getitem__)}, enums)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Registry) and self.schemas == other.schemas and self.enums == other.enums

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Registry {counted(len(self.schemas), 'schemas')}, {counted(len(self.enums), 'enumerations')}>"


def _walk(each: Field) -> Iterator[Field]:
    """A field, and the element and key types within it."""
    yield each
    for inner in (each.key, each.value):
        if inner is not None:
            yield from _walk(inner)


def _split_name(name: str) -> tuple[str, str]:
    """The namespace ("" without one) and the last part of a qualified name."""
    namespace, _, bare = name.rpartition("::")
    return namespace, bare


class _BadRegistryError(Exception):
    """The problem in a registry, and where; `from_json` turns it into ARK-410."""

    def __init__(self, what: str, path: str = "") -> None:
        super().__init__(what)
        self.path = path


def _need(condition: bool, what: str, path: str) -> None:
    """Raise `_BadRegistryError` unless the condition holds; `what` is the problem, `path` its place in the JSON."""
    if not condition:
        raise _BadRegistryError(what, path)


def _parse_registry(document: Any, text: str) -> Registry:
    """Return a registry from its JSON document. Raises at two different definitions of one name."""
    _need(isinstance(document, dict), "not an object", "")
    schemas: dict[str, Schema] = {}
    enums: dict[str, EnumType] = {}
    for position, raw in enumerate(_list(document, "schemas", "")):
        schema = _parse_schema(raw, f"schemas[{position}]")
        _need(schemas.setdefault(schema.name, schema) == schema, "two schemas of one name", f"schemas[{position}]")
    for position, raw in enumerate(_list(document, "enums", "")):
        enum = _parse_enum(raw, f"enums[{position}]")
        _need(enums.setdefault(enum.name, enum) == enum, "two enumerations of one name", f"enums[{position}]")
    return Registry(schemas, enums, text)


def _list(raw: dict[str, Any], key: str, path: str) -> list[Any]:
    """Return the list `raw[key]`, empty if absent. Raises if it is something else."""
    value = raw.get(key)
    if value is None:
        return []
    _need(isinstance(value, list), f"{key} is not a list", path)
    return list(value)


def _qualified(raw: Any, path: str) -> str:
    """The qualified name of a schema or enumeration in its JSON form.  Raises if it has none."""
    _need(isinstance(raw, dict), "not an object", path)
    name, namespace = raw.get("name"), raw.get("object_namespace") or ""
    _need(isinstance(name, str) and bool(name) and isinstance(namespace, str), "no usable name", path)
    # The "::" after an empty namespace, and one that the name or namespace begins with.
    return f"{namespace}::{name}".removeprefix("::").removeprefix("::")


def _attributes(raw: dict[str, Any], path: str) -> dict[str, Any]:
    """Return attributes as a mapping, from either form: a list of names, or an object."""
    found = raw.get("attributes")
    if found is None:
        return {}
    if isinstance(found, list):
        return {name: True for name in found if isinstance(name, str)}
    _need(isinstance(found, dict), "attributes is not an object", path)
    return dict(found)


def _parse_fields(raw: Any, path: str) -> tuple[Field, ...]:
    """Convert the list `fields` of a schema or group."""
    each = enumerate(_list(raw, "fields", path))
    return tuple(_parse_field(field, f"{path}.fields[{position}]", 0, named=True) for position, field in each)


def _parse_schema(raw: Any, path: str) -> Schema:
    """Convert one entry of the registry's `schemas` list; `path` is its JSON path, for errors.

    Raises the error of `_need` for a missing or invalid property, a repeated group number or a repeated field name.
    """
    name = _qualified(raw, path)
    path = f"{path} ({shorten(name, 60)})"
    fields = _parse_fields(raw, path)
    groups = []
    for position, each in enumerate(_list(raw, "groups", path)):
        where = f"{path}.groups[{position}]"
        _need(isinstance(each, dict), "not an object", where)
        number = each.get("identifier")
        _need(_is_int(number) and 0 <= number <= 255, "group identifier is not a number from 0 to 255", where)
        groups.append(Group(int(number), _parse_fields(each, where)))
    _need(len({group.identifier for group in groups}) == len(groups), "two groups of one number", path)
    comments = raw.get("comments")
    schema = Schema(
        name,
        fields,
        tuple(groups),
        bool(_attributes(raw, path).get("final")),
        comments if isinstance(comments, str) else "",
    )
    names = [each.name for each in schema.visible_fields()]
    _need(len(set(names)) == len(names), "two fields have the same name", path)
    return schema


def _parse_field(raw: Any, path: str, depth: int, *, named: bool) -> Field:
    """Convert one JSON field, or the element or key type of a container (`named` is then False).

    `depth` counts the containers around it. Unknown attributes are ignored.
    """
    _need(isinstance(raw, dict), "not an object", path)
    _need(depth <= MAX_TYPE_DEPTH, "containers nest too deeply", path)
    # Name, type, and the type name of objects and enumerations.
    name, type_ = raw.get("name"), raw.get("type")
    if named:
        _need(isinstance(name, str) and bool(name), "a field without a name", path)
    _need(isinstance(type_, str) and (type_ in FIXED or type_ in OTHER_TYPES), f"unknown type {shorten(type_)}", path)
    attributes = _attributes(raw, path)
    constant = bool(attributes.get("constant"))
    object_type = raw.get("object_type")
    if type_ in ("object", "enum"):
        _need(isinstance(object_type, str) and bool(object_type), f"{type_} without object_type", path)
        object_type = object_type.removeprefix("::")
    else:
        object_type = None
    # The parts of a container.
    size = raw.get("array_size", 0)
    key: Field | None = None
    value: Field | None = None
    if type_ == "array":
        _need(_is_int(size) and 0 <= size < 1 << 32, "array without a usable array_size", path)
    if type_ in ("array", "arraylist", "dictionary"):
        value = _parse_field(raw.get("ctr_value_type"), f"{path}.ctr_value_type", depth + 1, named=False)
    if type_ == "dictionary":
        key = _parse_field(raw.get("ctr_key_type"), f"{path}.ctr_key_type", depth + 1, named=False)
    text = raw.get("constant_value")
    return Field(
        name=name if isinstance(name, str) else "",
        type=str(type_),
        object_type=object_type,
        array_size=int(size) if type_ == "array" else 0,
        key=key,
        value=value,
        variants=_parse_variants(raw, path) if type_ == "variant" else (),
        optional=bool(attributes.get("optional")),
        removed=bool(attributes.get("removed")),
        constant=constant,
        constant_value=text if isinstance(text, str) else None if text is None else json.dumps(text),
        packed_timespec=bool(attributes.get("packed_timespec")),
    )


def _parse_variants(raw: dict[str, Any], path: str) -> tuple[tuple[int, str], ...]:
    """Return the alternatives of a variant as `(index, type name)`."""
    found = []
    for each in _list(raw, "variant_types", path):
        _need(isinstance(each, list) and len(each) == 2, "variant_types holds no pairs", path)
        index, name = each
        _need(_is_int(index) and 0 <= index <= 255 and isinstance(name, str), "a variant without index and type", path)
        found.append((int(index), name.removeprefix("::")))
    _need(len({index for index, _ in found}) == len(found), "two variants of one index", path)
    return tuple(found)


def _parse_enum(raw: Any, path: str) -> EnumType:
    """Return an enumeration from its JSON form."""
    name = _qualified(raw, path)
    enum_class = raw.get("enum_class")
    _need(isinstance(enum_class, str) and enum_class in INTEGERS, "enumeration without an integer enum_class", path)
    values = raw.get("values") or {}
    _need(isinstance(values, dict) and all(map(_is_int, values.values())), "values are not integers", path)
    return EnumType(name, enum_class, raw.get("enum_type") == "bitmask", dict(values))


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)  # Python's booleans are integers


__all__ = ["FIXED", "INTEGERS", "EnumType", "Field", "Group", "Registry", "Schema"]
