"""Words and phrases to avoid in docs, docstrings, comments, messages, help and specifications.

    python -m tools.prose_lint              check everything that people read in this project
    python -m tools.prose_lint FILE...      check these files or folders
    python -m tools.prose_lint --summary    print only the count of each rule

Checked are Markdown without its code, docstrings, comments, messages and option help in `.py`, docstrings and comments
in `.pyx` and `.pxi`, and `doc:` and `title:` in `.ksy`.  Generated files, and lines with the mark `prose: ok`, are
skipped.  Exits with 1 if there is a finding.  `CONTRIBUTING.md` has the style that the rules stand for.
"""

from __future__ import annotations

import argparse
import ast
import functools
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tools.blocks import ROOT

COVERED = (
    "src/exhume",
    "ksy",
    "docs",
    "tests",
    "tools",
    "benchmarks",
    "examples",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
)
"""The folders and files that are checked by default."""

SKIPPED = ("tests/.cache", "tests/golden", "tests/samples", "docs/man")
"""Folders with outputs of the program or files of other projects."""

RULES: dict[str, str] = {
    # Places
    r"beside": "next to, in addition to; in parallel for work",
    r"behind": "after, following, past",
    r"in front(?: of)?": "before, preceding",
    r"lies|lie|lying": "is at, starts at, is stored in; incorrect for a wrong value",
    r"(?:stands?|stood)(?! (?:for|in for|out|up)\b)": "is, appears, comes",
    r"one after (?:the other|another)": "in sequence, back to back",
    # Reporting
    r"(?:told|tells?|telling)(?! (?:\w+ ){0,3}(?:apart|from)\b)": "report, show, state, determine",
    r"(?:header|footer|index|manifest|metadata|file|entry|table|row|field|name|it) says?": "states, declares",
    r"nothing (?:tells|says|names|proves|vouches|checks|in the format)": "a positive statement",
    r"vouch(?:es|ed)?": "verify, confirm",
    r"(?:say|says|said|saying) so": "state, report",
    r"what is wrong": "the fault, the error",
    r"ask(?:s|ed|ing)? for": "request, require, search",
    r"look(?:s|ed|ing)? at": "examine, show, use",
    # Data
    r"texts": "strings for values, messages for output",
    r"(?<!in.)a text": "a string",
    r"what (?:is|was|are|were) (?:read|written|there|left|held|kept|stored|printed|needed|made|found|lost)": "a noun",
    r"(?:archive|file|directory|chunk|block|index|table|stream|log) holds?": "contains",
    r"(?:frame|section|split|record|it|they) holds?": "contains",
    r"portions?|passages?|stretch(?:es)?": "chunk, batch, range, window",
    r"in pieces|a piece at a time|pieces? of (?:a|an|the|its)": "in chunks, chunk of",
    r"put together": "decode, reassemble, join",
    r"half surrogates?|half of a surrogate(?: pair)?|halves of (?:surrogates?|characters?)": "lone surrogate",
    r"(?:make|makes|made|become|becomes|became) known|keys? known": "declare, register",
    r"sorts of|(?:each|that|this|every|one|same) sort": "kind, type",
    r"twins?": "pure-Python implementation",
    r"rooms?": "layer for code, space for memory",
    r"at hand": "available",
    r"cut short": "truncated",
    r"metadata are": "metadata is",
    # Grammar
    r"(?<!one.)(?<!each.)(?<!all.)of which": "whose, where, or a new sentence",
    r"(?-i:Of) (?:an?|the|all|several|both|what|each|every|its|one|two|large|local|remote|those)": "For a ...",
    r"(?<!there.)(?:is|are|was|were) no (?!longer|more|less|such|doubt|need|for|in)\w+": "is not a ...",
    r"(?<!there.)(?:is|are|was|were) (?-i:none)(?! of)": "is absent, does not exist",
    r"nobody|somebody|whoever": "the caller, another thread, no one",
    r"another \w+ than": "a different ... from, does not match",
    r"called like": "named after",
    r"gives": "returns, yields, prints, provides",
    r"(?:is|are) not covered(?! by)": "is not supported",
    # Time and amount
    r"anew": "again, from scratch",
    r"(?:goes|go|going|went) on(?! to\b)": "continue",
    r"to (?:its|their) end": "completely, to the end",
    r"under way": "in progress, in flight",
    r"(?<!read.)(?<!reads.)(?<!look.)ahead(?! of (?:time|the))": "in advance, prefetch",
    r"so many(?= (?:bytes|times|entries|of|are|were)\b)": "this many, at most N",
    r"(?:an?|two|three|four|five|six) (?:third|fifth|sixth|seventh|eighth|tenth)s?": "a percentage or a ratio",
    # Spelling
    r"\w*(?:recognis|serialis|normalis|summaris|initialis|organis|catalogu)\w*": "American spelling",
    r"\w*(?:neighbour|behaviour|honour|colour)\w*": "American spelling",
    # Idioms
    r"without a word|let(?:s|ting)? go of|and its like|as ever|in vain|calls? of the system": "plain words",
}
"""A pattern, matched as whole words in any case, and the words to write instead."""

NAMES = frozenset(
    ("told", "untold", "telling", "behind", "beside", "anew", "lies", "twin", "twins", "passage", "passages", "stretch")
)
"""Words that names of variables, functions and classes do not have."""

MESSAGE = re.compile(r"(?:Error|Parameter|option|argument|rule|finding|error|note|say|report|fail|skipped|tell|echo)$")
"""Calls whose constant arguments are messages or help."""

NOT_PROSE = re.compile(
    r"^ *```.*?^ *```|<!--.*?-->|`[^`]*`|\]\([^)]*\)|https?://\S+|^ *(?:>>>|\$ ).*?$", re.MULTILINE | re.DOTALL
)
"""Code, comments, link targets and commands within prose."""

CYTHON = re.compile(r'"""(.*?)"""|(?<!\w)#([^\n]*)', re.DOTALL)
DOCS_OF_KSY = re.compile(r"^(?P<indent> *)(?:- )?(?:doc|title):([^\n]*(?:\n(?P=indent) [^\n]*)*)", re.MULTILINE)
SUFFIXES = frozenset((".md", ".py", ".pyx", ".pxi", ".ksy"))


class Found(NamedTuple):
    """A phrase to avoid, and where it is."""

    file: Path
    line: int
    phrase: str
    instead: str


def files(paths: Sequence[Path]) -> Iterator[Path]:
    """The files to check below these paths, in order."""
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            inside = file.resolve().as_posix()
            if file.suffix in SUFFIXES and not any(inside.startswith((ROOT / one).as_posix() + "/") for one in SKIPPED):
                yield file


def check(file: Path, source: str) -> Iterator[Found]:
    """The phrases to avoid in the prose of one file, and the words to avoid in its names."""
    if "Generated by" in source[:200]:
        return
    if file.suffix == ".py":
        yield from _names(file, source)
    for first, part in _prose(file.suffix, source):
        text = NOT_PROSE.sub(lambda code: re.sub(r"[^\n]", "`", code[0]), part)
        lines = text.split("\n")
        for pattern, instead in _rules():
            for match in pattern.finditer(text):
                line = text.count("\n", 0, match.start())
                if "prose: ok" not in lines[line]:
                    yield Found(file, first + line, " ".join(match[0].lower().split()), instead)


def _names(file: Path, source: str) -> Iterator[Found]:
    """The first place of each name that has a word to avoid."""
    found: dict[str, tuple[int, str]] = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME and "prose: ok" not in token.line:
            words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", token.string)
            if not NAMES.isdisjoint(word.lower() for word in words):
                found.setdefault(token.string, (token.start[0], token.string))
    for line, name in found.values():
        yield Found(file, line, name, "a name in the words of the glossary")


@functools.cache
def _rules() -> list[tuple[re.Pattern[str], str]]:
    """Return the patterns of words to avoid, each with what to write instead."""
    words = ((pattern.replace(" ", r"\s+"), instead) for pattern, instead in RULES.items())
    return [(re.compile(rf"(?<![\w-])(?:{pattern})(?!\w)", re.IGNORECASE), instead) for pattern, instead in words]


def _prose(suffix: str, source: str) -> Iterator[tuple[int, str]]:
    """The parts of a file that people read, each with its first line."""
    if suffix == ".py":
        yield from _python(source)
    elif suffix == ".md":
        yield 1, source
    else:
        for match in (DOCS_OF_KSY if suffix == ".ksy" else CYTHON).finditer(source):
            yield source.count("\n", 0, match.start()) + 1, match[2] or match[1] or ""


def _python(source: str) -> Iterator[tuple[int, str]]:
    """Docstrings, messages, help and comments of Python."""
    for node in ast.walk(ast.parse(source)):
        texts: list[ast.expr] = [node.value] if isinstance(node, ast.Expr) else []  # a docstring
        if isinstance(node, ast.Call) and MESSAGE.search(ast.unparse(node.func)):
            texts = [*node.args, *(one.value for one in node.keywords if one.arg in ("help", "hint", "reason"))]
        for text in texts:
            for part in text.values if isinstance(text, ast.JoinedStr) else [text]:
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.lineno, part.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the findings, or their counts; return 1 if there is any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", metavar="FILE", type=Path)
    parser.add_argument("--summary", action="store_true", help="print only the count of each rule")
    given = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    checked = 0
    for file in files(given.paths or [ROOT / one for one in COVERED]):
        checked += 1
        for found in check(file, file.read_text(encoding="utf-8")):
            counts[f"{found.phrase} -> {found.instead}"] += 1
            if not given.summary:
                print(f"{found.file}:{found.line}: {found.phrase} -> {found.instead}")
    if given.summary:
        print("\n".join(f"{count:6}  {rule}" for rule, count in counts.most_common()))
    print(f"{counts.total()} phrases to avoid in {checked} files")
    return int(counts.total() > 0)


if __name__ == "__main__":
    sys.exit(main())
