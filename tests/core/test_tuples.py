"""Named tuples of our own: they have all that those of `typing` have, but for what they check."""

from __future__ import annotations

import copy
import pickle
import typing
from pathlib import Path

import pytest

from exhume.tuples import NamedTuple
from tests.toolchain.trees import ROOT
from tools import audit, layers


class Place(NamedTuple):
    """Where something is."""

    name: str
    start: int = 0
    others: tuple[int, ...] = ()

    @property
    def end(self) -> int:
        return self.start + 1

    @classmethod
    def first(cls) -> Place:
        return cls("first")

    def __str__(self) -> str:
        return f"{self.name}@{self.start}"


class Plain(NamedTuple):
    one: int


class Outer:
    class Inner(NamedTuple):
        value: int


def test_fields_defaults_and_methods() -> None:
    place = Place("here", 3)
    assert tuple(place) == ("here", 3, ())
    assert (place.name, place.end, str(place), Place.first()) == ("here", 4, "here@3", ("first", 0, ()))
    assert Place._fields == Place.__match_args__ == ("name", "start", "others")
    assert Place._field_defaults == {"start": 0, "others": ()}
    assert place._replace(start=5)._asdict() == {"name": "here", "start": 5, "others": ()}
    assert Place._make(["x", 1, ()]) == Place(name="x", start=1)
    assert repr(Plain(1)) == "Plain(one=1)"
    assert (Place.__doc__, (Plain.__doc__ or "")[:9]) == ("Where something is.", "Plain(one")
    assert not hasattr(place, "__dict__")
    match place:
        case Place(name, start=3):
            assert name == "here"
        case _:
            pytest.fail("a pattern by position and name does not match")


def test_wrong_arguments_are_refused() -> None:
    make: typing.Any = Place
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
        make()
    with pytest.raises(TypeError, match="unexpected keyword argument 'nmae'"):
        make("x", nmae=1)
    with pytest.raises(AttributeError):
        setattr(make("x"), "start", 1)  # noqa: B010
    with pytest.raises(TypeError, match="Expected 3 arguments, got 1"):
        make._make("x")
    with pytest.raises(ValueError, match=r"unexpected field names: \['nmae'\]"):
        make("x")._replace(nmae=1)


def test_pickles_copies_and_hints_find_the_class() -> None:
    for value in (Place("here", 3, (1,)), Outer.Inner(2)):
        assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value
        assert type(pickle.loads(pickle.dumps(value))) is type(value)
    assert Outer.Inner.__qualname__ == "Outer.Inner"
    assert typing.get_type_hints(Place) == {"name": str, "start": int, "others": tuple[int, ...]}


def test_the_other_named_tuples_are_refused(tmp_path: Path) -> None:
    assert audit.tuples(layers.modules()) == []
    for number, text in enumerate(("from typing import Any, NamedTuple\n", "from exhume.tuples import NamedTuple\n")):
        (tmp_path / f"m{number}.py").write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layers, "SRC", tmp_path)
        assert audit.tuples({f"m{n}": tmp_path / f"m{n}.py" for n in (0, 1)}) == ["m0"]


def test_every_module_that_defines_one_keeps_annotations_as_text() -> None:
    users = [file for file in Path(ROOT, "src").rglob("*.py") if "exhume.tuples import" in file.read_text("utf-8")]
    assert len(users) > 80
    assert not [file for file in users if "from __future__ import annotations" not in file.read_text("utf-8")]
