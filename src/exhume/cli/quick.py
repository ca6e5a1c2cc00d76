"""The plain forms of the verbs that scripts call in loops, run without click.

click, its imports and the options of all formats take longer than most searches: about 30 of the 45 milliseconds that
a search of a small archive would take.  So the command line is first looked at here.  Whatever is not one of the plain
forms (an option unknown here, a value that does not fit, anything for people: help, terminals, progress) is left to
click, which also words every usage error; a test holds the two to the same answers.

A format takes part through its `quick` module: `OPTIONS[verb]` maps flags to `(name, kind)`, where the kind is None for
a switch or the type of the value, `DEFAULTS[verb]` has the value of every option, and the functions `search` and `cat`
are those of its `cli` module.
"""

from __future__ import annotations

import sys

from exhume.lighttyping import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from exhume.cli.outcome import Outcome

VERBS = ("search", "cat")

_COMMON = {"-q": ("quiet", None), "--quiet": ("quiet", None)}
_OF_VERB = {"search": {"--exit-status": ("exit_status", None)}, "cat": {}}


class Declined(Exception):  # noqa: N818 - no error: click takes over
    """This command line is not one of the plain forms."""


def run(argv: list[str]) -> Outcome | None:
    """Runs a plain command line and says how it ended; None when it is not one, before anything was done."""
    if len(argv) < 2 or argv[0] not in VERBS or sys.stdout.isatty() or sys.stderr.isatty():
        return None
    try:
        return _run(argv[0], argv[1:])
    except Declined:
        return None
    except BaseException as error:
        from exhume.cli.main import UsageError, ending

        if isinstance(error, UsageError):
            return None
        return ending(error, argv)


def parse(verb: str, argv: list[str]) -> tuple[list[str], dict[str, Any]]:
    """The arguments that are no options, and the options that were given.  Raises `Declined`."""
    from exhume.registry import formats

    known: dict[str, Any] = {**_COMMON, **_OF_VERB[verb]}
    for described in formats().values():
        if described.quick is not None:
            known |= described.hook("quick").OPTIONS[verb]
    words: list[str] = []
    given: dict[str, Any] = {}
    left = iter(argv)
    for word in left:
        if not word.startswith("-"):
            words.append(word)
            continue
        flag, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if flag not in known:
            raise Declined
        name, kind = known[flag]
        if kind is None:
            if equals:
                raise Declined
            given[name] = True
            continue
        text = value if equals else next(left, "-")
        if text.startswith("-"):
            raise Declined
        try:
            given[name] = kind(text)
        except ValueError:
            raise Declined from None
    return words, given


def _run(verb: str, argv: list[str]) -> Outcome:
    words, given = parse(verb, argv)
    if not words or (verb == "search" and len(words) < 2):
        raise Declined
    from exhume.cli.outcome import Outcome
    from exhume.cli.run import Run
    from exhume.registry import get_format

    if "://" in words[0] or (verb == "search" and len(words) > 2):
        raise Declined  # remote and several targets have ways of their own
    run = Run(quiet=given.pop("quiet", False))
    exit_status = given.pop("exit_status", False)
    described = get_format(run.format_of(words[0]))
    if described.quick is None:
        raise Declined
    own = described.hook("quick")
    options = own.DEFAULTS[verb] | given
    with run.open(words[0]) as archive:
        if verb == "search":
            outcome = own.search(run, [archive], words[1], options)
        else:
            outcome = own.cat(run, archive, tuple(words[1:]), options)
    sys.stdout.flush()
    found: Outcome = Outcome.DONE if outcome is None or (outcome is Outcome.NO and not exit_status) else outcome
    return found
