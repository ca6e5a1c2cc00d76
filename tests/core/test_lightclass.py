"""The light `dataclass` makes the classes that the standard one makes."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from exhume import lightclass

LIGHT: Any = lightclass
STANDARD: Any = dataclasses


def point(library: Any) -> Any:
    @library.dataclass(frozen=True, slots=True, order=True)
    class Point:
        """A class with everything that is supported."""

        kind: ClassVar[str] = "point"
        x: int
        y: int = 0
        tags: Mapping[str, int] = library.field(default_factory=dict, compare=False)
        secret: str = library.field(default="s", repr=False)

        @property
        def far(self) -> bool:
            return self.x > 9

    return Point


def counter(library: Any) -> Any:
    @library.dataclass(slots=True)
    class Counter:
        name: str
        seen: list[int] = library.field(default_factory=list)
        total: int = library.field(default=7, init=False)

        def __post_init__(self) -> None:
            self.total += len(self.seen)

    return Counter


def heir(library: Any) -> Any:
    @library.dataclass(frozen=True, slots=True)
    class Base:
        a: int
        b: int = 2

    @library.dataclass(frozen=True, slots=True)
    class Heir(Base):
        c: int = 3
        b: int = 5

    return Heir


@lightclass.dataclass(frozen=True, slots=True)
class Pickled:
    """At module level, where pickle finds it."""

    a: int
    b: tuple[int, ...] = ()


ARGUMENTS: list[tuple[Any, list[tuple[tuple[Any, ...], dict[str, Any]]]]] = [
    (point, [((1,), {}), ((1, 0), {}), ((1,), {"tags": {"a": 1}}), ((2,), {"secret": "t"}), ((10, 3), {})]),
    (counter, [(("a",), {}), (("a", [1, 2]), {}), ((), {"name": "b"})]),
    (heir, [((1,), {}), ((1, 2, 3), {}), ((), {"a": 1, "c": 4})]),
]


@pytest.mark.parametrize("compiled", [False, True], ids=["first instances", "compiled"])
@pytest.mark.parametrize(("make", "calls"), ARGUMENTS, ids=["point", "counter", "heir"])
def test_same_classes(make: Any, calls: Any, compiled: bool) -> None:
    light, standard = make(LIGHT), make(STANDARD)
    if compiled:
        for _ in range(LIGHT.WORTH_COMPILING):
            light(*calls[0][0], **calls[0][1])
        parameters = [list(inspect.signature(one.__init__).parameters) for one in (light, standard)]
        assert parameters[0] == parameters[1]
    mine = [light(*args, **kwargs) for args, kwargs in calls]
    theirs = [standard(*args, **kwargs) for args, kwargs in calls]
    names = [one.name for one in dataclasses.fields(standard)]
    assert [one.name for one in dataclasses.fields(light)] == names
    assert light.__match_args__ == standard.__match_args__
    assert light.__slots__ == standard.__slots__
    for one, other in zip(mine, theirs, strict=True):
        assert repr(one) == repr(other)
        assert dataclasses.asdict(one) == dataclasses.asdict(other)
        assert not hasattr(one, "__dict__")
        first = names[0]
        assert getattr(LIGHT.replace(one, **{first: "new"}), first) == "new"
        assert repr(dataclasses.replace(one, **{first: "new"})) == repr(LIGHT.replace(one, **{first: "new"}))
        assert copy.copy(one) == one
        assert (one == object()) is (other == object()) is False
    for row in range(len(mine)):
        for column in range(len(mine)):
            assert (mine[row] == mine[column]) is (theirs[row] == theirs[column])
            if make is point:
                for compare in ("__lt__", "__le__", "__gt__", "__ge__"):
                    left = getattr(mine[row], compare)(mine[column])
                    assert left is getattr(theirs[row], compare)(theirs[column])
    assert mine[0].__eq__(theirs[0]) is NotImplemented
    if make is counter:
        with pytest.raises(TypeError, match="unhashable"):
            hash(mine[0])
    else:
        assert [hash(one) for one in mine] == [hash(other) for other in theirs]


def test_calls_that_do_not_fit_are_refused() -> None:
    for make in (point(LIGHT), point(STANDARD)):
        calls: list[Any] = [((), {}), ((1, 2, {}, "s", 5), {}), ((1,), {"z": 1}), ((1,), {"x": 1})]
        for args, kwargs in calls:
            with pytest.raises(TypeError):
                make(*args, **kwargs)


def test_frozen() -> None:
    for make in (point(LIGHT), point(STANDARD)):
        one = make(1)
        for name in ("x", "nothing"):
            # The standard class stumbles over a name that is no field (3.11: a TypeError out of super()).
            refusal = (dataclasses.FrozenInstanceError, TypeError) if name == "nothing" else AttributeError
            with pytest.raises(refusal):
                setattr(one, name, 2)
            with pytest.raises(refusal):
                delattr(one, name)


def test_defaults_of_a_factory_are_not_shared() -> None:
    made = counter(LIGHT)
    one, other = made("a"), made("b")
    one.seen.append(1)
    assert other.seen == []


def test_a_standard_heir_of_a_light_class() -> None:
    @dataclasses.dataclass(frozen=True, slots=True)
    class More(Pickled):
        c: int = 1

    assert More(1, (2,), 3) == More(1, (2,), c=3)
    assert [one.name for one in dataclasses.fields(More)] == ["a", "b", "c"]


def test_pickle() -> None:
    one = Pickled(1, (2, 3))
    assert pickle.loads(pickle.dumps(one)) == one
    assert copy.deepcopy(one) == one


def test_what_is_not_supported_is_refused() -> None:
    with pytest.raises(TypeError, match="slotted"):
        LIGHT.dataclass(slots=False)
    with pytest.raises(TypeError):
        LIGHT.dataclass(slots=True, kw_only=True)
    with pytest.raises(TypeError, match="without a default"):
        LIGHT.dataclass(slots=True)(type("Wrong", (), {"__annotations__": {"a": "int", "b": "int"}, "a": 1}))
    with pytest.raises(ValueError, match="mutable default"):
        LIGHT.dataclass(slots=True)(type("Wrong", (), {"__annotations__": {"a": "list"}, "a": []}))
    with pytest.raises(ValueError, match="init=False"):
        LIGHT.replace(counter(LIGHT)("a"), total=1)
