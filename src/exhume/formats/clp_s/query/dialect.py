"""What KQL means in each format version: the rules that changed between the versions of the native search.

The archive decides the meaning: a query returns the lines that the native search of the archive's own version
prints.
"""

from __future__ import annotations

from dataclasses import dataclass

Version = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Dialect:
    """`core_text`: text encoding of 0.4.0 on.  `legacy_instants`: a time literal is an integer of milliseconds that
    compares as a plain number (and string).  `truncates`: a fraction in a range over integers is cut, not rounded
    towards the range.  `last_column`: of several columns that a path names in one record shape, the last one is
    searched, else the first.  `nanoseconds`: timestamp columns count nanoseconds.  `question_mark_is_star`: inside
    strings with spaces `?` stands for any number of bytes; `verifies_question_marks`: static text found with `?` taken
    as `*` is checked again with `?` as it is (native searches of 0.4 do or do not, by chance; later ones do not).
    `raw_dictionary_lookup`: escapes are left in a variable before the dictionary is asked for it.
    """

    core_text: bool
    legacy_instants: bool
    truncates: bool
    last_column: bool
    nanoseconds: bool
    question_mark_is_star: bool
    verifies_question_marks: bool
    raw_dictionary_lookup: bool


def dialect_of(version: Version) -> Dialect:
    """The rules for archives of that format version."""
    core_text = version >= (0, 4, 0)
    recent = version >= (0, 4, 1)
    nanoseconds = version >= (0, 5, 0)
    return Dialect(
        core_text=core_text,
        legacy_instants=not recent,
        truncates=not recent,
        last_column=not nanoseconds,
        nanoseconds=nanoseconds,
        question_mark_is_star=not core_text,
        verifies_question_marks=core_text and not nanoseconds,
        raw_dictionary_lookup=not recent,
    )
