"""Parameter types that options of several verbs and formats share, and the examples in the help of the verbs.

A verb is a subcommand of `exhume` (`verify`, `list` ...), made with click.  `convert` of a type turns the text of an
argument into its value, and may get a value that was converted before, such as a default.  Its other arguments, `param`
and `ctx`, are click's: what the message of a wrong value names.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from exhume.choices import hint
from exhume.errors import ExhumeError, UnrecognizedFormatError
from exhume.limits import parse_size
from exhume.registry import get_format

EXAMPLES: dict[str, tuple[str, ...]] = {
    "audit": ("exhume verify words.zs --audit case.jsonl && exhume audit case.jsonl",),
    "browse": ("exhume browse words.zs",),
    "carve": ("exhume carve image.dd", "exhume carve image.dd --only zs -o found"),
    "cat": (
        "exhume cat words.zs --prefix ap",
        "exhume cat files.caf 'files/letters/*'",
        "exhume cat robot --topic '/robot/*'",
    ),
    "catalog build": ("exhume catalog build chunks.db files.caf",),
    "catalog find": ("exhume catalog find chunks.db '*.txt'",),
    "catalog check": ("exhume catalog check chunks.db",),
    "compile": ("exhume compile readings.ksy -o readings",),
    "completion": ("source <(exhume completion bash)",),
    "create ark": ("exhume create ark messages.jsonl -o log --schema robot.idl --type /robot/pose=demo::Pose",),
    "create caf": ("exhume create caf files -o new.caf", "tar c files | exhume create caf --from-tar - -o tarred.caf"),
    "create clp-s": ("exhume create clp-s app.jsonl -o new.clps --timestamp-key timestamp",),
    "create databundle": ("exhume create databundle files -o new.bundle --compression zlib",),
    "create kv-ir": ("exhume create kv-ir app.jsonl -o new.clp.zst",),
    "create clp-ir": ("exhume create clp-ir log.jsonl -o new.clp.zst --zone Europe/Berlin",),
    "create zs": ("exhume create zs words.txt -o new.zs --sort", "sort words.txt | exhume create zs - -o piped.zs"),
    "diff": ("exhume diff photos.bundle files",),
    "explain": ("exhume explain words.zs --section header", "exhume explain words.zs --html words.html"),
    "explore": ("exhume explore words.zs --no-browser --idle 1",),
    "export": ("exhume export events.clps --to parquet -o events.parquet", "exhume export words.zs --to jsonl"),
    "extract": (
        "exhume extract files.caf -o extracted",
        "exhume extract files.caf 'files/letters/*' --tar letters.tar",
    ),
    "formats": ("exhume formats",),
    "identify": ("exhume identify words.zs files.caf",),
    "info": ("exhume info words.zs --stats",),
    "list": ("exhume list files.caf --long", "exhume list words.zs --sections"),
    "map": ("exhume map words.zs --svg words.svg",),
    "payload": ("exhume payload words.zs data-0 -o block.bin",),
    "recode": ("exhume recode words.zs -o stored.zs --stored",),
    "repair": ("exhume repair robot --name repaired",),
    "report": (
        "exhume report image.dd -o case.html || [ $? -eq 3 ]",
        "exhume report robot -o folder.html --folder parts",
    ),
    "salvage": ("exhume salvage words.zs -o rescued.zs", "exhume salvage files.caf -o rescued --as-files"),
    "schema": ("exhume schema", "exhume schema zs --bundle"),
    "search": ("exhume search events.clps 'level: ERROR'", "exhume search words.zs ap --count"),
    "selftest": ("exhume selftest --count 2", "exhume selftest --count 3 -o report"),
    "snippet": ("exhume snippet robot --topic /robot/pose -o poses",),
    "verify": ("exhume verify words.zs files.caf", "exhume verify --recursive files"),
}
"""Example commands by verb; tests run them, next to the sample archives that they name."""


if TYPE_CHECKING:
    _IntType = click.ParamType[int]
    _BytesType = click.ParamType[bytes]
    _TextType = click.ParamType[str]
    _RangeType = click.ParamType[tuple[int, int | None]]
    _ChoiceType = click.Choice[Any]
else:  # generic only in newer click
    _IntType = _BytesType = _TextType = _RangeType = click.ParamType
    _ChoiceType = click.Choice


class Time(_IntType):
    """A time as epoch milliseconds: these, or a date and time of ISO 8601 with its zone."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the milliseconds; fails for times without a zone and for parts of milliseconds."""
        if isinstance(value, int):
            return value
        if re.fullmatch(r"[+-]?[0-9]{1,64}", value):  # more than 64 bits, less than `int` takes
            return int(value)
        from datetime import timedelta

        from exhume.times import EPOCH, iso_time

        try:
            time, is_cut = iso_time(value)
        except ValueError:
            self.fail(f"{value!r} is neither epoch milliseconds nor a time such as 2024-03-01T12:00:00Z", param, ctx)
        if time.tzinfo is None:
            self.fail(f"{value!r} has no time zone: append Z (UTC) or an offset such as +01:00", param, ctx)
        found, rest = divmod(time - EPOCH, timedelta(milliseconds=1))
        if rest or is_cut:
            self.fail(f"{value!r} is not a whole number of milliseconds", param, ctx)
        return found


class Size(_IntType):
    """A byte count with an optional K, M, G or T suffix (powers of 1024), or hexadecimal with `0x`."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return a size such as `64K`, `1.5G` or `0x400` in bytes."""
        if isinstance(value, int):
            return value
        try:
            return int(value, 16) if value.lower().startswith("0x") else parse_size(value)
        except (ExhumeError, ValueError) as error:
            self.fail(getattr(error, "message", None) or f"not a size: {value!r}", param, ctx)


SIZE = Size()


class ByteRange(_RangeType):
    """`A:B`, the half-open range of bytes `[A, B)`; an absent A is 0, an absent B the end (None)."""

    name = "range"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int | None]:
        """Return `A:B` as `(start, stop)`; without A it starts at 0, without B `stop` is None."""
        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]
        first, colon, last = value.partition(":")
        start = SIZE.convert(first or "0", param, ctx) if colon else 0  # else the range is wrong, not a size in it
        stop = SIZE.convert(last, param, ctx) if last else None
        if not colon or (stop is not None and stop <= start):
            self.fail(f"not a range: {value!r}; give A:B with A before B, for example 0x40:0x80", param, ctx)
        return start, stop


BYTE_RANGE = ByteRange()


class Whole(click.IntRange):
    """A whole number within bounds, shown as `N` in the help."""

    name = "whole number"

    def get_metavar(self, *_: Any, **__: Any) -> str:
        """The name of the value in the help."""
        return "N"


class FormatId(_TextType):
    """The id of a format, or another name for it: a file extension, an fsspec protocol."""

    name = "format"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the id of a format; `value` may also be one of its other names."""
        try:
            return get_format(value).id
        except UnrecognizedFormatError as error:
            self.fail(f"{value!r}: {error.message}: {error.expected}", param, ctx)


FORMAT = FormatId()


class Nanoseconds(Size):
    """A time in nanoseconds, a whole number; the suffixes of sizes multiply it as there."""

    name = "ns"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the nanoseconds."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"not a whole number of nanoseconds: {value!r}", param, ctx)


NS = Nanoseconds()


class LocalPath(_TextType):
    """A path of the local file system, for what does not take URLs."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path unchanged; a URL is a usage error."""
        from exhume.io.opening import is_url

        if is_url(str(value)):
            self.fail(f"{value!r} is a URL, and only local files are taken here: download it first", param, ctx)
        return value


LOCAL_PATH = LocalPath()


class Choice(_ChoiceType):
    """click's choice, which suggests the most similar value for a wrong one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the choice; a wrong one fails with the most similar choice in the message."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(error.message.rstrip(".") + hint(str(value), map(str, self.choices)), param, ctx)


class Jobs(click.Option):
    """`--jobs`, the same in every verb and format: how many threads or processes work at a time."""

    def __init__(self, param_decls: Sequence[str] = (), *, default: int | None = 1, help: str = "") -> None:
        defaults = f"default {default}; 0" if default else "default and 0"  # a default of None or 0 is one job per core
        help_text = help or f"Parallel jobs ({defaults}: one per core)."
        super().__init__(["--jobs", "-j", *param_decls], type=Whole(0), default=default, help=help_text)


def _show_help(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Print the help of a command and exit, if `--help` was given."""
    if value and not ctx.resilient_parsing:
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


@functools.cache
def _help_option(*names: str) -> click.Option:
    """Return the option `--help` with these names; click's own looks for a translation, for which it loads `locale`."""
    text = "Show this message and exit."
    return click.Option(
        ["show_help", *names], is_flag=True, is_eager=True, expose_value=False, help=text, callback=_show_help
    )


class Verb(click.Command):
    """click's command, whose help ends with examples (`exhume.cli.params`), and which suggests similar options."""

    def get_help_option(self, ctx: click.Context) -> click.Option:
        """The option `--help`, and `-h` unless the command has another meaning for it."""
        return _help_option(*self.get_help_option_names(ctx))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; raises `NoSuchOption`, with suggestions, for an unknown option."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            from exhume.cli.advice import similar_options

            shown = (param for param in self.get_params(ctx) if not getattr(param, "hidden", False))
            similar = similar_options(error.option_name, [opt for param in shown for opt in param.opts])
            defaults = f" (did you mean {' or '.join(map(repr, similar))}?)" if similar else ""
            message = f"No such option {error.option_name!r}{defaults}."
            raise click.NoSuchOption(error.option_name, message, ctx=ctx) from error

    def get_short_help_str(self, limit: int = 45) -> str:
        """The first sentence of the help, whatever its length: shells show it next to the name."""
        return _first_sentence(self)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the examples of the command at the end of its help."""
        lines = EXAMPLES.get(ctx.command_path.removeprefix("exhume "), ())
        if lines:
            with formatter.section("Examples"):
                formatter.write("".join(f"{'':>{formatter.current_indent}}{line}\n" for line in lines))


class Group(click.Group):
    """click's group, which suggests the most similar command for an unknown one, and says of each a whole sentence."""

    def get_help_option(self, ctx: click.Context) -> click.Option:
        """The option `--help`, and `-h` unless the command has another meaning for it."""
        return _help_option(*self.get_help_option_names(ctx))

    def get_short_help_str(self, limit: int = 45) -> str:
        """The first sentence of the help, as for `Verb`."""
        return _first_sentence(self)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands, each with the first sentence of its help."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, _first_sentence(one)) for name, one in found if one is not None and not one.hidden]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name; raises `click.UsageError`, with a suggestion, for an unknown one."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            similar = self.hint(ctx, args[0]) or f": one of {', '.join(self.list_commands(ctx))}"
            raise click.UsageError(f"No such command {args[0]!r}{similar}.", ctx) from error

    def hint(self, ctx: click.Context, name: str) -> str:
        """The suggestion that follows the message."""
        return hint(name, self.list_commands(ctx))


_SIMPLE = {"n": 10, "t": 9, "r": 13, "0": 0, "\\": 92, "a": 7, "b": 8, "f": 12, "v": 11}
"""The byte of each escape sequence of one letter."""
_HEX = frozenset("0123456789abcdefABCDEF")


class ByteText(_BytesType):
    r"""Text given as bytes: UTF-8, with `\n \t \r \0 \\ \xHH` escapes; bytes of undecodable arguments survive."""

    name = "bytes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        """Return the bytes that the text states; a backslash before anything else is kept as it is."""
        if isinstance(value, bytes):
            return value
        out = bytearray()
        text: str = value
        at = 0
        while at < len(text):
            if text[at] == "\\" and at + 1 < len(text):
                follow, digits = text[at + 1], text[at + 2 : at + 4]
                if follow == "x" and len(digits) == 2 and set(digits) <= _HEX:
                    out.append(int(digits, 16))
                    at += 4
                    continue
                if follow in _SIMPLE:
                    out.append(_SIMPLE[follow])
                    at += 2
                    continue
            out += text[at].encode("utf-8", "surrogateescape")
            at += 1
        return bytes(out)


BYTES = ByteText()


def _first_sentence(command: click.Command) -> str:
    """Return the first sentence of a command's help: up to a full stop before a space, unless it ends an ellipsis."""
    text = " ".join((command.short_help or command.help or "").partition("\n\n")[0].split())
    return re.split(r"(?<=[^.]\.) ", text)[0]
