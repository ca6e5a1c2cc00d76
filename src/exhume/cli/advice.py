"""Remedies for errors and for misspelled options, as options of the command line.

Messages of the library name no options, since its users have arguments instead.  Each error has a code, such as
`EX-702`, or `ARK-108` for one of a format.  By it, the options that may help are found here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence

import click

from exhume.errors import ExhumeError

ADVICE: Mapping[str, Mapping[str, str]] = {
    "EX-101": {
        "--format": "use --format FORMAT to choose one",
        "--recursive": "use --recursive for the archives inside",
    },
    "EX-501": {"--limit": "use --limit NAME=VALUE to raise the limit"},
    "EX-505": {"--limit": "use --limit NAME=VALUE to raise the limit"},
    "EX-602": {"--allow-full-download": "use --allow-full-download to read all of it"},
    "EX-607": {"--allow-full-download": "use --allow-full-download to continue"},
    "EX-613": {"--chunks-in": "use --chunks-in to name the directory or URL prefix of chunks"},
    "EX-611": {"--add": "use --add to add the readable ones"},
    "EX-612": {"--follow-redirects": "use --follow-redirects to follow it"},
    "EX-702": {"--overwrite": "use --overwrite to replace it"},
    "ARK-108": {"--log": "use --log GUID to choose one"},
    "CLPIR-309": {"": "use `exhume carve` to find appended streams"},
    "KVIR-309": {"": "use `exhume carve` to find appended streams"},
}
"""The remedy for an error code, by the option that it names; "" where it names none."""


# Beginnings of messages that need advice of their own, whatever their code.
_NOT_JSON = re.compile(r"line \d+: not (valid |a )?JSON")
_NO_SECTION = re.compile(r"no such section(?!.*did you mean)")
_FIXED = re.compile(r"the specification (requests|describes) ")
"""Errors about budgets (calls, bytes) of a user's specification, which no option changes."""


def advice(error: ExhumeError, main: click.Group, arguments: Sequence[str]) -> str:
    """The remedies for an error, such as `use --overwrite to replace it`, with options of this verb; "" without any.

    `main` is the command of all verbs, `arguments` are the words that the user typed after `exhume`.
    """
    if _NOT_JSON.match(error.message) and "--input" in options_of(main, arguments):
        return "use --input text if it is a plain-text log"
    if _FIXED.match(error.message):
        return ""
    if _NO_SECTION.match(error.message):
        return "use `exhume list --sections` to list them"
    where = error.span.source if error.span is not None else ""
    return advice_on(error.code, options_of(main, arguments), where) if error.code in ADVICE else ""


def advice_on(code: str, options: Collection[str], where: str) -> str:
    """Return advice on an error code, as `advice` does.

    `options` are those that the verb has; `where` is the path or URL of the archive, "" if the error names none.
    """
    # Only a directory or a URL can contain other archives.
    is_folder = not where or "://" in where or os.path.isdir(where)  # noqa: PTH112 - pathlib imports much
    without = set() if is_folder else {"--recursive"}
    suggestions = [
        text
        for option, text in ADVICE.get(code, {}).items()
        if (option in options or not option) and option not in without
    ]
    return ", or ".join(suggestions)


def options_of(main: click.Group, arguments: Sequence[str]) -> set[str]:
    """The options of the command that the arguments name."""
    command: click.Command = main
    context = click.Context(main)
    for word in arguments:
        if not isinstance(command, click.Group):
            break
        found = command.get_command(context, word)
        if found is not None:
            command, context = found, click.Context(found, parent=context)
    return {option for param in command.get_params(context) for option in param.opts}


SYNONYMS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("force", "replace", "clobber"), ("--overwrite",)),
    **dict.fromkeys(("threads", "workers", "processes", "parallel"), ("--jobs",)),
    **dict.fromkeys(("dest", "destination", "target", "to-file", "save"), ("--output",)),
    **dict.fromkeys(("fmt", "type"), ("--to", "--format")),
    **dict.fromkeys(("silent", "no-progress"), ("--quiet",)),
    **dict.fromkeys(("debug", "detail", "details"), ("--verbose",)),
    **dict.fromkeys(("case-insensitive", "icase", "nocase"), ("--ignore-case",)),
    **dict.fromkeys(("where", "filter"), ("--query",)),
    **dict.fromkeys(("fields", "select"), ("--projection", "--columns")),
    **dict.fromkeys(("from", "begin", "since", "after"), ("--start-ns", "--start")),
    **dict.fromkeys(("until", "end", "before"), ("--stop-ns", "--stop")),
    **dict.fromkeys(("ksy-file", "spec", "specification", "schema"), ("--ksy",)),
    **dict.fromkeys(("theme", "no-color"), ("--color",)),
}
"""Options of other programs, without dashes, and what they are called here."""

MOST_SUGGESTED = 3
"""Options that a message about a misspelled option suggests at most."""


def similar_options(wrong: str, known: Collection[str]) -> list[str]:
    """Options that a wrong one may stand for: synonyms, those that begin alike, or those with a letter or two changed.

    Nothing else is suggested: an option that only looks a little alike misleads.
    """
    typed = wrong.lstrip("-").casefold()
    names = {option: option.lstrip("-") for option in known if option.startswith("--")}
    same = [
        option for option, name in names.items() if name.replace("-", "") == typed.replace("-", "").replace("_", "")
    ]
    named = [option for option in SYNONYMS.get(typed, ()) if option in names]
    begun = [
        option
        for option, name in names.items()
        if (len(typed) > 1 and name.startswith(typed)) or (len(name) > 3 and typed.startswith(name))
    ]
    # The nearest ones, if at most one letter in three differs (one letter in short words, never more than two).
    far = {option: edits(typed, name) for option, name in names.items()}
    least = min(far.values(), default=0)
    close = [option for option, distance in far.items() if distance == least <= min(2, max(1, len(typed) // 3))]
    return sorted(same or named or begun or (close if len(typed) > 2 else []))[:MOST_SUGGESTED]


def edits(one: str, other: str) -> int:
    """Return how many letters have to be inserted, deleted, replaced or swapped to turn one word into another.

    This is the optimal string alignment distance, by dynamic programming.  `row[to]` is the distance between the first
    `at` letters of one word and the first `to` of the other; `before` is the row of `at - 1`, `last` that of `at - 2`.
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        last, before, row = before, row, [at]
        for to, wanted in enumerate(other, 1):
            best = min(before[to] + 1, row[-1] + 1, before[to - 1] + (letter != wanted))
            if at > 1 and to > 1 and letter == other[to - 2] and one[at - 2] == wanted:  # two neighbors swapped
                best = min(best, last[to - 2] + 1)
            row.append(best)
    return row[-1]
