"""Names that a user chooses: selection by patterns, suggestions for misspelled names, rejection of unknown arguments.

Used for members of archives, formats, columns, sections and options, on the command line and in the library.  Modules
that only errors need are imported where they are needed, because every start of `exhume` imports this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TypeVar

    from exhume.errors import Span

    F = TypeVar("F")

LOOKED_AT = 10_000
"""At most this many known names are compared with a wrong one: a hint is not worth reading a large index."""


def near(wrong: str, known: Iterable[str]) -> str | None:
    """The known name most similar to a wrong one; None when none is similar."""
    import difflib

    names = [name for name in islice(known, LOOKED_AT) if isinstance(name, str)]
    # Reversed, so that of names that differ in case only the first is suggested.
    folded = {name.casefold(): name for name in reversed(names)}
    folded_name = wrong.casefold()
    # Next best: a name of the same letters in another order, which difflib may find too different.
    found = difflib.get_close_matches(folded_name, folded, 1) or [
        one for one in folded if sorted(one) == sorted(folded_name)
    ]
    return folded[found[0]] if found else None


def hint(wrong: str, known: Iterable[str]) -> str:
    """` (did you mean 'zs'?)`, or "" when no known name is similar to the wrong one."""
    found = near(wrong, known)
    return "" if found is None else f" (did you mean {found!r}?)"


def matching(names: list[str], patterns: Iterable[str], where: Span) -> list[str]:
    """The names that equal or glob-match any pattern, in their order (`a/` selects what is below `a`).

    Raises `EntryNotFoundError`, at `where`, for a pattern that nothing matches.
    """
    chosen: set[str] = set()
    for pattern in patterns:
        # A glob is tried last: `a[1]` may be the exact name of a member.
        prefix = pattern.rstrip("/") + "/"
        hits = {name for name in names if name == pattern or name.startswith(prefix)}
        if not hits and any(char in pattern for char in "*?["):
            import fnmatch

            hits = set(fnmatch.filter(names, pattern))
        if not hits:
            from exhume.errors import EntryNotFoundError, shorten

            raise EntryNotFoundError(f"no such member{hint(pattern, names)}", span=where, actual=shorten(pattern))
        chosen |= hits
    return [name for name in names if name in chosen]


def check_choice(name: str, given: object, known: Iterable[str]) -> None:
    """Raise `QueryError` when `given`, the value of the argument `name`, is not among those that it can have."""
    choices, chosen = [str(one) for one in known], str(given)
    if chosen not in choices:
        from exhume.errors import QueryError, shorten

        expected = f"one of {', '.join(choices)}"
        raise QueryError(f"{name}: no such choice{hint(chosen, choices)}", expected=expected, actual=shorten(chosen))


def passes_on(*others: Callable[..., Any]) -> Callable[[F], F]:
    """Declare, for a function with `**options`, to which functions it passes them on; `keywords` reads it."""

    def mark(function: F) -> F:
        """Attach the names to a function, without changing it."""
        marked: Any = function
        marked.passes_on = others
        return function

    return mark


def keywords(function: Callable[..., Any]) -> set[str]:
    """The names of the keyword arguments that a function takes, including those that it passes on."""
    import inspect

    # A dataclass of options takes its fields.
    if isinstance(function, type) and (fields := getattr(function, "__dataclass_fields__", None)):
        return set(fields)
    known = inspect.signature(function).parameters.values()
    found = {one.name for one in known if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)}
    return found.union(*(keywords(other) for other in getattr(function, "passes_on", ())))


def check_keywords(
    what: str, given: Mapping[str, Any], *functions: Callable[..., Any], also: Iterable[str] = ()
) -> None:
    """Raise `TypeError` for a keyword argument in `given` that none of the functions takes, and suggest a similar one.

    `what` is the call, such as `open()`; `also` are further names that are taken.
    """
    if given:
        known = set().union(also, *map(keywords, functions)) - {"self"}
        for name in given:
            if name not in known:
                raise TypeError(f"{what} takes no argument {name!r}{hint(name, sorted(known))}")
