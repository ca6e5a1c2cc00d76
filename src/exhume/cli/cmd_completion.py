"""`exhume completion`: bash, zsh and fish complete verbs, options and names of archives on TAB.

A script runs `exhume` with `_EXHUME_COMPLETE` set to the shell's name and sends the words on standard input, each
followed by NUL.  The answer is a sequence of three fields, each followed by NUL: kind, value, help.  A shell never
evaluates a value: bash quotes it with `printf %q`, zsh with `compadd`, fish with its own `complete`.

| shell | input | kinds in the answer |
|---|---|---|
| bash | the line up to the cursor; the part of it that a completion replaces | `word`, `file`; the quote that is open |
| zsh | the words before the one at the cursor, unquoted; that word | `word`, `file` |
| fish | the command up to the cursor | `word`, `file` |

click knows the verbs, the options and their choices; this adds formats, limits, specifications, sections, members,
channels and columns.  It reads local archives only, reports no errors, and offers files where nothing else is known.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem, ShellComplete

from exhume.cli.params import Choice, Verb
from exhume.tuples import NamedTuple

BASH = r"""
# The answer of exhume is data: it is read with `read -r`, quoted with `printf %q`, and never evaluated.
_exhume_complete() {
    local kind value help quoted name
    COMPREPLY=()
    while IFS= read -r -d '' kind && IFS= read -r -d '' value && IFS= read -r -d '' help; do
        case $kind in
            file)
                if [[ $2 == [!~-]* || $2 == '~'*/* ]]; then
                    compopt -o default 2>/dev/null
                else  # only here a name could begin with "-" or "~"
                    compopt -o filenames 2>/dev/null
                    for name in * .[!.]*; do
                        [[ -e $name || -L $name ]] || continue
                        [[ $name == [~-]* ]] && name=./$name
                        [[ $name == "$2"* || $name == "./$2"* ]] && COMPREPLY+=("$name")
                    done
                fi
                ;;
            *)
                printf -v quoted %q "$value"
                # An open quote is closed at once; readline does not double the first and the last quote.
                [[ $kind == word ]] || quoted=$kind$kind$quoted$kind$kind
                COMPREPLY+=("$quoted")
                [[ $value == *[=,/] ]] && compopt -o nospace 2>/dev/null
                ;;
        esac
    done < <(printf '%s\0' "${COMP_LINE:0:COMP_POINT}" "$2" | _EXHUME_COMPLETE=bash command exhume 2>/dev/null)
}
complete -F _exhume_complete exhume
"""

ZSH = r"""
#compdef exhume
# The answer of exhume is data: `compadd` quotes it, and nothing evaluates it.
_exhume() {
    emulate -L zsh
    local -a fields values texts open open_texts names
    local kind value help text
    fields=("${(@0)$(printf '%s\0' "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" |
        _EXHUME_COMPLETE=zsh command exhume 2>/dev/null)}")
    for kind value help in "${fields[@]}"; do
        text=$value${help:+"  -- $help"}
        if [[ $kind == file ]]; then
            compset -P '--*='
            if [[ $PREFIX == [^-]* ]]; then
                _files -F '(-*)'
            else  # only here a name could begin with "-"
                _files -F '(-*)'
                names=(-*(N))
                (( $#names )) && compadd -f -U -- ./${^names}
            fi
        elif [[ $kind == word && $value == *[=,/] ]]; then
            open+=("$value") open_texts+=("$text")
        elif [[ $kind == word ]]; then
            values+=("$value") texts+=("$text")
        fi
    done
    (( $#open )) && compadd -S '' -l -d open_texts -a -- open
    (( $#values )) && compadd -l -d texts -a -- values
}
compdef _exhume exhume
"""

FISH = r"""
# The answer of exhume is data: fish quotes what `complete` is given, and nothing evaluates it.
function __exhume_complete
    set -l fields (commandline -cp | env _EXHUME_COMPLETE=fish exhume 2>/dev/null | string split0)
    test (count $fields) -ge 3; or return
    for at in (seq 1 3 (count $fields))
        set -l value $fields[(math $at + 1)]
        if test "$fields[$at]" = file
            # lead: "--option=" before the path, or nothing.
            set -l lead (string match -r -- '^--[^=]*=' (commandline -ct); or echo)
            set -l part (string replace -- "$lead" '' (commandline -ct))
            if string match -q -- '-*' "$part"; or test -z "$part"
                # Only here a name could begin with "-" or "~".
                for name in *
                    string match -qr -- '^[-~]' $name; and set name ./$name
                    test -d $name; and set name $name/
                    # A tab in a name would begin its description.
                    string match -qr -- '\t' $name; or printf '%s%s\0' $lead $name
                end
            else
                printf '%s\0' $lead(__fish_complete_path $part)
            end
        else
            printf '%s\t%s\0' $value $fields[(math $at + 2)]
        end
    end
end
complete -c exhume -e
complete -c exhume -f -a '(__exhume_complete | string split0)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
"""The script of each shell."""

# How a shell writes words.  Groups name the way a token is quoted: `code` (escape sequences), `single` and `double`
# quotes, `escape` (one character after a backslash), `plain`; `gap` is a character between words.  A quote may be open
# at the end of the line (`\Z`), where the cursor is.
_CODE = r"\\(?:c.|[xX][0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|[0-7]{1,3}|.?)"
_IN_SINGLE, _IN_DOUBLE = (rf"(?:\\.|[^\\{quote}])*\\?" for quote in "'\"")
_BASH = rf"\$'(?P<code>{_IN_SINGLE})(?:'|\Z) | '(?P<single>[^']*)(?:'|\Z) | \\(?P<escape>.?)"
_FISH = rf"'(?P<single>{_IN_SINGLE})(?:'|\Z) | (?P<code>{_CODE})"
_PIECES = {
    shell: re.compile(
        rf"""(?P<gap>[\ \t\n;|&()<>]) | "(?P<double>{_IN_DOUBLE})(?:"|\Z) | {own}
        | (?P<plain>[^'"\\$\ \t\n;|&()<>]+|\$)""",
        re.VERBOSE | re.DOTALL,
    )
    for shell, own in (("bash", _BASH), ("fish", _FISH))
}
_PART = re.compile(rf"(?P<code>{_CODE})|[^\\]+", re.DOTALL)
"""Parts of a token with escape sequences: one sequence, or text up to the next."""
_NAMED = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
"""Escape sequences of one letter."""


class Word(NamedTuple):
    """A word of a command line: where it starts, its value without quotes, and the quote that is open at its end."""

    start: int
    value: str
    quote: str = ""
    opened: int = 0
    """One past the opening quote."""


def split_line(line: str, shell: str = "bash") -> list[Word]:
    """Split a line into words as a shell does, without expanding anything; the last is the one at the cursor.

    Only the last command of a line counts. Redirections are words like any others.
    """
    words: list[Word] = []
    value, start, quote, opened = b"", -1, "", 0  # of the current word; start -1: between words
    for token in _PIECES[shell].finditer(line):
        kind = token.lastgroup or ""
        if kind == "gap":
            if start >= 0:
                words.append(Word(start, os.fsdecode(value)))
                value, start = b"", -1
            if token[kind] in "\n;|&()":  # the next command of the line begins
                words.clear()
            continue
        start = token.start() if start < 0 else start
        # The token begins with a quote and does not end with one: the quote is open.
        if token.start(kind) > token.start() and kind != "escape" and token.end() == token.end(kind):
            quote, opened = line[token.start(kind) - 1], token.end(kind) - len(token[kind])
        value += _value(kind, token[kind], shell)
    words.append(Word(start if start >= 0 else len(line), os.fsdecode(value), quote, opened))
    return words


def _value(kind: str, text: str, shell: str) -> bytes:
    """Return the bytes that a token of the command line stands for, without the shell's quotes and escapes.

    `kind` is the way in which it is quoted.
    """
    if kind == "code":
        return b"".join(_decoded(part[0]) if part["code"] else os.fsencode(part[0]) for part in _PART.finditer(text))
    if kind == "double":
        text = re.sub(r'\\(?:\n|([$`"\\]))', r"\1", text)
    elif kind == "single" and shell == "fish":
        text = re.sub(r"\\(['\\])", r"\1", text)
    return os.fsencode("" if (kind, text) == ("escape", "\n") else text)


def _decoded(code: str) -> bytes:
    """The bytes of an escape sequence in `$'...'`, or anywhere in fish."""
    letter, rest = code[1:2], code[2:]
    if letter and letter in "01234567":
        return bytes([int(code[1:], 8) & 0xFF])
    if letter in ("x", "X", "u", "U") and rest:
        number = int(rest, 16)
        if letter in "xX":
            return bytes([number])
        return chr(number).encode("utf-8", "surrogatepass") if number < 0x110000 else b""
    if letter == "c" and rest.isascii():  # a control character, such as \cA
        return bytes(ord(one) & 0x1F for one in rest)
    return os.fsencode(_NAMED.get(letter, letter))


def answer(command: click.Command, shell: str) -> None:
    """Answer the script of a shell: read the words on standard input, write the completions to standard output."""
    if shell not in SCRIPTS or sys.stdin is None or sys.stdin.isatty():  # not called by a script of ours
        return
    given = os.fsdecode(sys.stdin.buffer.read(1 << 20))  # far longer than any command line
    rows: Iterable[tuple[str, str, str]]
    if shell == "bash":
        rows = _rows_for_bash(command, given)
    elif shell == "fish":
        words = split_line(given.removesuffix("\n"), "fish")
        found = completions(command, _arguments(words), words[-1].value)
        # fish cuts a value at a tab and does not quote a leading "~"
        rows = (row for row in found if "\t" not in row[1] and not row[1].startswith("~"))
    else:
        *before, incomplete = given.removesuffix("\0").split("\0")
        rows = completions(command, before, incomplete)
    out = bytearray()
    for row in rows:
        try:
            fields = [os.fsencode(field) for field in row]
        except UnicodeEncodeError:  # no argument can be this name
            continue
        if not any(b"\0" in field for field in fields):
            out += b"".join(field + b"\0" for field in fields)
    sys.stdout.buffer.write(out)
    sys.stdout.buffer.flush()


def _rows_for_bash(command: click.Command, given: str) -> Iterator[tuple[str, str, str]]:
    """Yield the completions for bash, in the form of `completions`, but without the bytes that readline keeps.

    `given`: the line up to the cursor, and the part of its last word that readline will replace.
    """
    line, _, part = given.removesuffix("\0").partition("\0")
    words = split_line(line)
    last = words[-1]
    until = last.opened if last.quote else len(line) - len(part)  # readline replaces what follows
    # Where readline divides words differently, an answer could replace the wrong bytes: complete nothing.
    if not line.endswith(part) or until < last.start:
        return
    # The part of the last word that readline keeps: completions have to begin with it.
    kept = split_line(line[last.start : until])[-1]
    for kind, value, text in completions(command, _arguments(words), last.value):
        if kind == "file":
            yield kind, value[len(kept.value) :], text
        elif value.startswith(kept.value):
            yield kept.quote or kind, value[len(kept.value) :], text


def _arguments(words: list[Word]) -> list[str]:
    """The words between the name of the command, which assignments may precede, and the word at the cursor."""
    values = [word.value for word in words[:-1]]
    while values and re.match(r"[A-Za-z_]\w*\+?=", values[0]):
        del values[0]
    return values[1:]


MOST = 1000
"""At most this many names are offered."""

FILES = frozenset(("DB", "DIR", "FILE", "OUT", "ROOT", "SPEC.ksy", "TARGET"))
"""Metavars of options that take a file name."""


def complete(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completions for a parameter for which click itself has none."""
    offer = OFFERS.get(param.name or "")
    if offer is not None:
        known, _, part = incomplete.rpartition(",") if param.name in SEVERAL else ("", "", incomplete)
        lead = f"{known}," if known else ""
        names = islice((name for name in _offered(offer, context) if name.startswith(part)), MOST)
        return [CompletionItem(f"{lead}{name}") for name in names]
    if isinstance(param, click.Argument) or param.metavar in FILES or isinstance(param.type, click.Path):
        return [CompletionItem(incomplete, type="file")]
    return []


def _offered(offer: Callable[[click.Context], Iterable[str]], context: click.Context) -> Iterable[str]:
    """Yield the names of an offer up to the first error, if any."""
    try:
        yield from offer(context)
    except Exception:  # noqa: S110 - a shell waits for names; the verb reports errors when it runs
        pass


def _archive(context: click.Context, *, damaged: bool = False) -> Any:
    """The archive that was typed.  Raises what opening raises, and `LookupError` if there is none or it is remote."""
    import exhume

    found = context.params.get("target") or context.params.get("targets")
    target = found if isinstance(found, str) else (found or ("",))[0]
    if not target or "://" in target or "::" in target:
        raise LookupError(target)
    if not Path(target).exists():  # the shell's `~` is not expanded yet
        target = str(Path(target).expanduser())
    opening = exhume.inspect if damaged else exhume.open
    return opening(target, format=context.params.get("as_format"))


def formats(context: click.Context) -> Iterable[str]:
    """The ids of all formats."""
    from exhume.registry import formats as known

    return known()


def limits(context: click.Context) -> Iterable[str]:
    """The names of the limits, ready for a value."""
    from exhume.limits import Limits

    return [f"{name}=" for name in Limits._fields]


def specifications(context: click.Context) -> Iterable[str]:
    """The names of the specifications."""
    from exhume.layout.specifications import ids

    return ids()


def exports(context: click.Context) -> Iterable[str]:
    """The targets to which archives can be exported."""
    from exhume.cli.cmd_export import all_targets

    return all_targets()


def sections(context: click.Context) -> Iterable[str]:
    """The names of the archive's sections."""
    with _archive(context, damaged=True) as archive:
        yield from archive.sections().names()


def entries(context: click.Context) -> Iterable[str]:
    """The names of the archive's members, channels, tables or keys."""
    with _archive(context) as archive:
        yield from (entry.name for entry in archive.entries() if entry.name is not None)


def columns(context: click.Context) -> Iterable[str]:
    """The names of the columns of the archive's table."""
    with _archive(context) as archive:
        yield from archive.to_arrow().schema.names


OFFERS: dict[str, Callable[[click.Context], Iterable[str]]] = {
    "as_format": formats,
    "columns": columns,
    "limit": limits,
    "names": entries,
    "only": formats,
    "projection": columns,
    "section": sections,
    "specification": specifications,
    "to": exports,
    "topic": entries,
    "hide": entries,
}
"""The completions that are offered, by parameter name."""

SEVERAL = ("columns", "projection")
"""Parameters that take several names, separated by commas."""


def completions(command: click.Command, args: list[str], incomplete: str) -> Iterator[tuple[str, str, str]]:
    """Yield kind (`word` or `file`), value and help of each word that can replace `incomplete` after `args`.

    A name from an archive that begins with `-` is a completion only as the value of an option, or after `--`.
    """
    # Of `--name=value`, click completes only the value, but a shell replaces the whole word.
    named, equals, _ = incomplete.partition("=")
    lead = f"{named}=" if equals and named.startswith("-") and "--" not in args else ""
    for item in _ExhumeCompletion(command, {}, "exhume", "").get_completions(args, incomplete):
        if item.value or item.type != "plain":
            text = " ".join((item.help or "").split())
            yield ("word", lead + item.value, text) if item.type == "plain" else ("file", "", "")


class _ExhumeCompletion(ShellComplete):
    """click's completion of verbs, options and choices, extended by `complete`."""

    name = "exhume"
    source_template = ""  # click's own script of a shell is not used

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Return what can replace `incomplete`."""
        from click.shell_completion import _resolve_context, _resolve_incomplete

        found = super().get_completions(args.copy(), incomplete)  # a copy: click removes the arguments that it parses
        if found:
            return found
        args = args.copy()
        context = _resolve_context(self.cli, self.ctx_args, self.prog_name, args)
        param, incomplete = _resolve_incomplete(context, args, incomplete)
        if not isinstance(param, click.Parameter):
            return []
        if isinstance(param, click.Option) and args[-1] in param.opts:  # without its value, click parses nothing at all
            context = _resolve_context(self.cli, self.ctx_args, self.prog_name, args[:-1])
        offered = complete(context, param, incomplete)
        if isinstance(param, click.Option) or "--" in args:
            return offered
        # As an argument before `--`, a name that begins with `-` would be taken for an option.
        return [item for item in offered if item.type == "file" or not item.value.startswith("-")]


@click.command("completion", cls=Verb)
@click.argument("shell", type=Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for SHELL.

    It completes verbs, options, file names, formats, and the sections, members, channels and columns of the local
    archive that the line names. A name from an archive that begins with "-" is completed only after "--" or as the
    value of an option; a file whose name begins with "-" is completed as "./-NAME".

    \b
    bash: source <(exhume completion bash)        (in ~/.bashrc)
    zsh:  source <(exhume completion zsh)         (in ~/.zshrc, after compinit)
    fish: exhume completion fish | source         (in ~/.config/fish/config.fish)
    """

    click.echo(SCRIPTS[shell].strip())
