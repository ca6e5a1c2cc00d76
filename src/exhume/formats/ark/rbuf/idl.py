"""The `.rbuf` interface language (IDL), as far as it is known: IDL text to a registry, the schemas of rbuf's types.

No log contains IDL text; this is for writers and tests that would rather not spell registry JSON.  Namespaces, schemas,
fields, groups, `[[removed]]`, `arraylist`, `array`, `dictionary` and type references are documented; how enumerations,
variants, optional fields and constants are spelt is an assumption (`docs/formats/ark.md`):

    include "other.rbuf";                       ignored: give all text at once
    namespace a::b;
    enum Mode : uint8 { Idle = 0, Auto }        values count on, like C
    bitmask Flags : uint16 { Left = 1, Right = 2 }
    [[final]] schema Point { double x; double y; }
    schema Scan {
        const uint32 version = 3;
        [[optional]] string note;
        variant<Point, 4: other::Shape> shape;  index 0, 1, ... unless given
        group 0 { dictionary<string, arraylist<Point>> marks; }
    }
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from exhume.errors import WriterError, shorten
from exhume.formats.ark.rbuf.registry import FIXED, INTEGERS, MAX_TYPE_DEPTH, EnumType, Field, Group, Registry, Schema

# Spaces and comments, strings, numbers, names (also qualified ones), punctuation.
_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<number>[+-]?(?:0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?))
      | (?P<name>(?:::)?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)
      | (?P<mark>\[\[|\]\]|[{};:,<>=])
    """,
    re.VERBOSE | re.DOTALL,
)
_SIMPLE = frozenset(FIXED) | {"string", "guid", "byte_buffer"}
"""Types that are written as their name alone."""
_FIELD_ATTRIBUTES = frozenset({"removed", "optional", "packed_timespec"})
"""Attributes that a field may have, in `[[` and `]]`."""


@dataclass(frozen=True, slots=True)
class _Token:
    """A piece of IDL text that the grammar does not divide."""

    kind: str  # the group of `_TOKEN`, or "end"
    text: str
    line: int  # from 1


def parse_idl(text: str) -> Registry:
    """The registry of IDL text.

    Raises `WriterError` (code ARK-701) with the line for text that does not parse, types that are not defined, and
    names that are defined twice.
    """
    return _Parser(list(_tokens(text))).file()


def _tokens(text: str) -> Iterator[_Token]:
    """Split IDL into tokens with their lines. Raises at a character that starts none."""
    at, line = 0, 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _error(line, "unexpected character", text[at])
        kind = match.lastgroup or ""
        if kind != "space":
            yield _Token(kind, match.group(), line)
        line += match.group().count("\n")
        at = match.end()


def _error(line: int, what: str, actual: str | None = None, expected: str | None = None) -> WriterError:
    """The error of text that does not parse; `what` is the problem."""
    return WriterError(f"IDL line {line}: {what}", code="ARK-701", expected=expected, actual=actual)


class _Parser:
    """A recursive-descent parser: a method for each construct, which consumes its tokens.  Errors are `_error`."""

    def __init__(self, tokens: list[_Token]) -> None:
        """Prepare to parse tokens into schemas and enumerations."""
        self._tokens = tokens
        self._at = 0  # index of the next token
        self._namespace = ""  # the current one
        self._schemas: dict[str, Schema] = {}
        self._enums: dict[str, EnumType] = {}
        self._scopes: dict[str, tuple[str, int]] = {}  # by full name of a type: namespace and line of its definition

    # Tokens

    def _peek(self) -> _Token:
        """Return the next token without consuming it; one of the kind `end` after the last."""
        if self._at < len(self._tokens):
            return self._tokens[self._at]
        return _Token("end", "end of text", self._tokens[-1].line if self._tokens else 1)

    def _next(self, expected: str) -> _Token:
        """Consume and return the next token; `expected` is for the error at the end of the text."""
        token = self._peek()
        if token.kind == "end":
            raise _error(token.line, "unexpected end of the text", expected=expected)
        self._at += 1
        return token

    def _accept(self, text: str) -> bool:
        """Consume the next token if it is `text`; return whether it was."""
        if self._peek().kind != "string" and self._peek().text == text:
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        """Consume the token `text`; any other is an error."""
        token = self._next(text)
        if token.text != text or token.kind == "string":
            raise _error(token.line, "something else is expected", shorten(token.text), text)

    def _name(self, what: str, *, qualified: bool = False) -> _Token:
        """Consume a name, which may have a namespace if `qualified`; `what` names it in errors."""
        token = self._next(what)
        if token.kind != "name" or (not qualified and "::" in token.text):
            raise _error(token.line, "something else is expected", shorten(token.text), what)
        return token

    def _integer(self, what: str) -> int:
        """Consume an integer, decimal or with a prefix such as `0x`; `what` names it in errors."""
        token = self._next(what)
        try:
            return int(token.text if token.kind == "number" else "", 0)  # empty text raises, as `1.5` does
        except ValueError:
            raise _error(token.line, "something else is expected", shorten(token.text), what) from None

    # Declarations

    def file(self) -> Registry:
        """Parse all declarations of a file and return the registry, with type names resolved."""
        while self._peek().kind != "end":
            attributes = self._attributes()
            token = self._next("a declaration")
            match token.text if token.kind == "name" else "":
                case "include":
                    self._next("a file name")
                    self._expect(";")
                case "namespace":
                    self._namespace = self._name("a namespace", qualified=True).text
                    self._expect(";")
                case "const":
                    self._constant()  # a constant of the namespace, to which values never refer
                case "enum" | "bitmask":
                    self._enum(bitmask=token.text == "bitmask" or "bitmask" in attributes)
                case "schema":
                    self._schema(attributes)
                case _:
                    raise _error(token.line, "not a declaration", shorten(token.text))
            self._accept(";")
        return self._resolve()

    def _attributes(self) -> set[str]:
        """Consume any number of `[[a, b]]` and return the names in them."""
        found: set[str] = set()
        while self._accept("[["):
            while True:
                found.add(self._name("an attribute").text)
                if not self._accept(","):
                    break
            self._expect("]]")
        return found

    def _define(self, token: _Token) -> str:
        """Register the name of a type in the current namespace and return it in full."""
        name = f"{self._namespace}::{token.text}" if self._namespace else token.text
        if name in self._scopes:
            raise _error(token.line, "defined twice", name)
        self._scopes[name] = (self._namespace, token.line)
        return name

    def _enum(self, *, bitmask: bool) -> None:
        """Parse an enumeration or a bitmask after its keyword and register it; without a type, it is `uint32`.

        Without a number, a value is one more than the previous one; in a bitmask, twice that.
        """
        name = self._define(self._name("a name"))
        stored = "uint32"
        if self._accept(":"):
            token = self._name("an integer type")
            if token.text not in INTEGERS:
                raise _error(token.line, "not an integer type", token.text)
            stored = token.text
        self._expect("{")
        values: dict[str, int] = {}
        following = 1 if bitmask else 0
        while not self._accept("}"):
            label = self._name("a value's name").text
            number = self._integer("a number") if self._accept("=") else following
            values[label] = number
            following = number * 2 if bitmask else number + 1
            if not self._accept(","):
                self._expect("}")
                break
        self._enums[name] = EnumType(name, stored, bitmask, values)

    def _schema(self, attributes: set[str]) -> None:
        """Parse a schema after the keyword `schema` and register it; `attributes` may contain `final`."""
        token = self._name("a name")
        name = self._define(token)
        self._expect("{")
        fields: list[Field] = []
        groups: list[Group] = []
        while not self._accept("}"):
            # `group 0 {` starts a group; otherwise `group` is the name of a type.
            following = self._tokens[self._at + 1].kind if self._at + 1 < len(self._tokens) else ""
            if self._peek().text == "group" and following == "number":
                self._at += 1
                number = self._integer("a group number")
                self._expect("{")
                inner: list[Field] = []
                while not self._accept("}"):
                    inner.append(self._field())
                if not 0 <= number <= 255 or any(group.identifier == number for group in groups):
                    raise _error(token.line, "group numbers are unique and at most 255", str(number))
                groups.append(Group(number, tuple(inner)))
                self._accept(";")
            else:
                fields.append(self._field())
        schema = Schema(name, tuple(fields), tuple(groups), "final" in attributes)
        names = [each.name for each in schema.visible_fields()]
        if len(set(names)) != len(names):
            raise _error(token.line, "two fields have the same name", name)
        self._schemas[name] = schema

    def _field(self) -> Field:
        """Parse a field or a constant of a schema, from its attributes to the semicolon."""
        attributes = self._attributes()
        if self._accept("const"):
            return self._constant()
        line = self._peek().line
        unknown = attributes - _FIELD_ATTRIBUTES
        if unknown:
            raise _error(line, "not an attribute of fields", ", ".join(sorted(unknown)))
        found = self._type(0)
        name = self._name("a field's name").text
        self._expect(";")
        return found._replace(
            name=name,
            removed="removed" in attributes,
            optional="optional" in attributes,
            packed_timespec="packed_timespec" in attributes,
        )

    def _constant(self) -> Field:
        """Parse `type NAME = value;` as a constant field."""
        found = self._type(0)
        name = self._name("a constant's name").text
        self._expect("=")
        value = self._next("a value").text
        self._expect(";")
        return found._replace(name=name, constant=True, constant_value=value)

    def _type(self, depth: int) -> Field:
        """Parse a type and return it as a field without a name; `depth` counts the containers around it."""
        token = self._name("a type", qualified=True)
        if depth > MAX_TYPE_DEPTH:
            raise _error(token.line, "types nest too deeply")
        match token.text:
            case "arraylist":
                self._expect("<")
                element = self._type(depth + 1)
                self._expect(">")
                return Field("", "arraylist", value=element)
            case "array":
                self._expect("<")
                element = self._type(depth + 1)
                self._expect(",")
                size = self._integer("a size")
                self._expect(">")
                if not 0 <= size < 1 << 32:
                    raise _error(token.line, "not an array size", str(size))
                return Field("", "array", array_size=size, value=element)
            case "dictionary":
                self._expect("<")
                key = self._type(depth + 1)
                self._expect(",")
                value = self._type(depth + 1)
                self._expect(">")
                return Field("", "dictionary", key=key, value=value)
            case "variant":
                return Field("", "variant", variants=self._variants(token))
        if token.text in _SIMPLE:
            return Field("", token.text)
        # Resolved when everything is known; until then the constant's value is the place of the type.
        return Field("", "object", object_type=token.text, constant_value=f"{self._namespace}\n{token.line}")

    def _variants(self, token: _Token) -> tuple[tuple[int, str], ...]:
        """Parse the alternatives of a variant: (index, name) each.

        An index that is not stated is one more than the previous one. The names are resolved later (see `_resolved`).
        """
        self._expect("<")
        found: list[tuple[int, str]] = []
        while True:
            index = found[-1][0] + 1 if found else 0
            if self._peek().kind == "number":
                index = self._integer("an index")
                self._expect(":")
            name = self._name("a type", qualified=True)
            found.append((index, f"{self._namespace}\n{name.line}\n{name.text}"))
            if not self._accept(","):
                break
        self._expect(">")
        if len({index for index, _ in found}) != len(found) or not all(0 <= index <= 255 for index, _ in found):
            raise _error(token.line, "variant indexes are unique and at most 255")
        return tuple(found)

    # References

    def _resolve(self) -> Registry:
        """Return the registry, with the types of all fields resolved."""
        schemas = {
            name: schema._replace(
                fields=tuple(map(self._resolved, schema.fields)),
                groups=tuple(
                    Group(group.identifier, tuple(map(self._resolved, group.fields))) for group in schema.groups
                ),
            )
            for name, schema in self._schemas.items()
        }
        return Registry(schemas, self._enums)

    def _resolved(self, each: Field) -> Field:
        """Return a field with the type names in it replaced by full names; `enum` types are recognized here.

        Until then, `constant_value` and the names of variants have the namespace and line where the name was used,
        separated by newlines.
        """
        if each.key is not None:
            each = each._replace(key=self._resolved(each.key))
        if each.value is not None:
            each = each._replace(value=self._resolved(each.value))
        if each.variants:
            variants = []
            for index, place in each.variants:
                namespace, line, text = place.split("\n")
                name, _ = self._lookup(text, namespace, int(line), enums=False)
                variants.append((index, name))
            each = each._replace(variants=tuple(variants))
        if each.type == "object":
            if each.constant:
                raise WriterError("IDL: constants must have simple types", code="ARK-701", actual=each.name)
            namespace, line = (each.constant_value or "\n0").split("\n")  # else no namespace, line 0
            name, type_ = self._lookup(each.object_type or "", namespace, int(line), enums=True)
            each = each._replace(type=type_, object_type=name, constant_value=None)
        return each

    def _lookup(self, text: str, namespace: str, line: int, *, enums: bool) -> tuple[str, str]:
        """Return the full name and kind of a type, searched for from the inner namespace outward."""
        scopes = [""] if text.startswith("::") else _outward(namespace)
        bare = text.removeprefix("::")
        for scope in scopes:
            name = f"{scope}::{bare}" if scope else bare
            if name in self._schemas:
                return name, "object"
            if enums and name in self._enums:
                return name, "enum"
        raise _error(line, "no such type", text)


def _outward(namespace: str) -> list[str]:
    """A namespace and those around it, from the innermost to the outermost, "": `a::b`, `a`, ""."""
    parts = namespace.split("::") if namespace else []
    return ["::".join(parts[:count]) for count in range(len(parts), -1, -1)]


def load_registry(registry: Registry | str | bytes | Mapping[str, Any]) -> Registry:
    """A registry from what callers have: a `Registry`, registry JSON, or IDL text (anything not starting with `{`)."""
    if isinstance(registry, Registry):
        return registry
    if isinstance(registry, Mapping):
        return Registry.from_json(json.dumps(registry))
    text = registry.decode() if isinstance(registry, bytes) else registry
    if text.lstrip().startswith("{"):
        return Registry.from_json(text)
    return parse_idl(text)
