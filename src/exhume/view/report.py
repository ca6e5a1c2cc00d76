"""The case report as one HTML page without scripts: it opens anywhere, prints, and loads nothing."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any, Self

from exhume.counts import counted
from exhume.engines.case import UNRECOGNIZED, CaseArchive, CaseReport, Hashed, RecoveryOutcome
from exhume.engines.inspect import Inspection
from exhume.engines.report import Opener
from exhume.engines.walk import Kind
from exhume.errors import ExhumeError, SourceError
from exhume.io.source import Source
from exhume.layout.sections import Section, SectionKind, SectionMap
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import CarveVerdict, VerifiedBy
from exhume.redaction import redact
from exhume.registry import get_format
from exhume.view.map import draw_map, draw_strip, to_svg
from exhume.view.parts import asset

NOTES = 3
"""Notes on a recovery that are in the table; more are a list of their own."""

SHORT = 14
"""Characters of a cell that is not wrapped."""

LONG = 40
"""Characters of a cell that is wide in a narrow window, too."""

MOST_MAPS = 40
"""Archives that are drawn section by section: damaged ones first."""

# What the verdict on an archive is based on, what it means, and how the content of a recovered one was verified.
RESTS_ON = {
    VerifiedBy.CHECKSUMS: "checksums of its content were computed",
    VerifiedBy.STRUCTURE: "its content was decoded, or each part begins or ends as it must; no checksum covers it",
    VerifiedBy.NONE: "the format provides no way to check its content",
}
MEANS = {
    CarveVerdict.COMPLETE: "present from beginning to end, and no rule is broken",
    CarveVerdict.PARTIAL: "its beginning or its end is missing, or elsewhere in the image",
    CarveVerdict.DAMAGED: "present from beginning to end, with errors in between",
    CarveVerdict.INCOMPLETE: "present from beginning to end, without errors, but its content could not be checked",
}
PARTLY = "the part that was recovered matches the checksums of the original"
PROOF = {
    VerifiedBy.CHECKSUMS: "its content matches the checksums of the original",
    VerifiedBy.STRUCTURE: "its content decodes without errors, but no checksum covers it",
    VerifiedBy.NONE: "the format provides no way to verify the content",
    VerifiedBy.FAILED: "it does not verify",
    VerifiedBy.EMPTY: "no content was recovered",
}


def write_report(
    file: IO[str],
    case: CaseReport,
    opened: Opener,
    *,
    created: str,
    versions: Mapping[str, str],
    timeline: Iterable[Mapping[str, Any]] = (),
    limits: Limits = DEFAULT_LIMITS,
) -> None:
    """Write the page of a case.

    Args:
        file: Where to.
        case: The result of `exhume.engines.report.build_report`.
        opened: Opens what was examined again, for the maps.
        created: When the report was made, in ISO 8601 with a zone.
        versions: What made it, by name.
        timeline: Runs of exhume in audit records, with `started`, `ended`, `verb`, `targets`, `exit_code`,
            `outputs` and `digest`.
        limits: What hostile input may cost.

    Raises:
        SourceError: An image that could be read cannot be read now.
    """
    names = ", ".join(map(redact, case.targets))
    file.write(_HEAD.format(title=_text(f"Case report: {names}"), css=asset("report.css")))
    file.write(
        f"<h1>Case report</h1>\n<p class='dim'>Made on {_text(created)} by exhume {_text(versions['exhume'])}</p>\n"
    )
    _summary(file, case)
    _images(file, case, opened)
    _archives(file, case)
    _groups(file, case)
    _recovered(file, case)
    _details(file, case, opened, limits)
    _others(file, case)
    _timeline(file, list(timeline))
    _terms(file)
    rows = ([name, version] for name, version in versions.items())
    file.write("<h2>Versions</h2>\n" + _table(["what", "version"], rows))
    file.write("</main>\n</body>\n</html>\n")


def _summary(file: IO[str], case: CaseReport) -> None:
    """Write the paragraph with the number of archives by verdict, and a warning for each EWF image that changed."""
    counts = {verdict: sum(one.carved.verdict is verdict for one in case.archives) for verdict in CarveVerdict}
    by_verdict = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    found = f"{counted(len(case.archives), 'archives')} found" + (f": {by_verdict}" if by_verdict else "")
    file.write(f"<p class='summary'>{_text(found)}. ")
    copied = f"Files are below <code>{_text(case.folder)}</code>." if case.has_files else "Nothing was copied."
    file.write(f"{_text(counted(len(case.recovered), 'recoveries'))} attempted. {copied}</p>\n")
    for name in case.changed:
        file.write(
            f"<p class='damaged'>{_text(name)}: the content does not match the digest stored in the container</p>\n"
        )


def _images(file: IO[str], case: CaseReport, opened: Opener) -> None:
    """Write the table of input files, and a map of each file that has archives inside, up to `MOST_MAPS`."""
    within = Counter(one.image for one in case.archives)  # number of archives by that of the file
    rows = (
        [image.name, f"{image.size:,}", f"{within[number]:,}", _Digest(image.sha256)]
        for number, image in enumerate(case.images)
    )
    file.write("<h2>Files</h2>\n" + _table(["file", "bytes", "archives", "SHA-256"], rows, right={1, 2}))
    inside: dict[int, list[CaseArchive]] = {}
    for one in case.archives:
        if one.image is not None:
            inside.setdefault(one.image, []).append(one)
    drawn = 0
    for number, found in inside.items():
        if all(one.file is None for one in found):
            continue  # it is an archive itself, and has a map of its own
        drawn += 1
        if drawn > MOST_MAPS:
            file.write(f"<p class='dim'>Only the first {MOST_MAPS} files with archives inside are drawn.</p>\n")
            break
        found = [one for one in found if one.nested_in is None]
        sections = [Section(_name(one), one.carved.span, _kind(one)) for one in found]
        problems = [finding for one in found for finding in one.carved.findings if finding.is_problem]
        title = f"<p>{_text(case.images[number].name)}</p>" if len(case.images) > 1 else ""
        with opened(found[0].target) as image:
            assert isinstance(image, Source)
            picture = to_svg(draw_strip(image, SectionMap([(image, sections)]), problems))
        file.write(f"<figure tabindex='0'>{title}{picture}\n")
        file.write(
            "<figcaption>Blue: whole or incomplete; red: damaged or partial; orange: no archive.</figcaption>\n"
            "</figure>\n"
        )


def _name(found: CaseArchive) -> str:
    """Return what the page calls an archive."""
    return f"#{found.number} {found.carved.format}"


def _kind(found: CaseArchive) -> SectionKind:
    """Return the kind of section, and so the color, that stands for an archive on the map of an image."""
    is_whole = found.carved.verdict in (CarveVerdict.COMPLETE, CarveVerdict.INCOMPLETE)
    return SectionKind.STRUCTURE if is_whole else SectionKind.UNREAD


def _archives(file: IO[str], case: CaseReport) -> None:
    """Write the table of archives: where each is, its verdict, and what the verdict is based on."""
    rows = []
    for one in case.archives:
        carved = one.carved
        inside = "" if one.nested_in is None else f"in #{one.nested_in}"
        group = "" if one.group is None else f"group {one.group}"
        target = redact(one.target) if len(case.images) != 1 or one.image is None else ""
        offset = "" if one.image is None else f"{carved.offset:,}"
        intact = "" if one.intact_bytes is None else f"{one.intact_bytes:,}"
        digest = counted(len(one.files), "files") if one.sha256 is None else _Digest(one.sha256)
        rows.append([
            _PageLink(f"#{one.number}", f"a{one.number}"), target, offset, f"{one.length:,}", carved.format,
            _ColoredVerdict(carved.verdict), str(carved.verified_by), intact, f"{carved.confidence:.0%}",
            " ".join(filter(None, (inside, group))), digest,
        ])  # fmt: skip
    header = [
        "#",
        "in",
        "offset",
        "bytes",
        "format",
        "verdict",
        "verified by",
        "intact bytes",
        "confidence",
        "within",
        "SHA-256",
    ]
    file.write(
        "<h2>Archives</h2>\n" + (_table(header, rows, right={2, 3, 7, 8}) if rows else "<p>None was found.</p>\n")
    )


def _groups(file: IO[str], case: CaseReport) -> None:
    """Write the table of groups: archives that are parts of one."""
    if not case.groups:
        return
    rows = [
        [
            str(one.number),
            one.format,
            one.archive,
            ", ".join(f"#{number}" for number in one.archives),
            one.basis,
            _Code(one.folder),
        ]
        for one in case.groups
    ]
    file.write("<h2>What belongs together</h2>\n")
    file.write(_table(["group", "format", "archive", "pieces", "because", "copied to"], rows))


def _recovered(file: IO[str], case: CaseReport) -> None:
    """Write the table of recovered archives."""
    if not case.recovered:
        return
    file.write("<h2>Recovered</h2>\n")
    rows = [[_of(one), _Code(one.output), *_outcome(one)] for one in case.recovered]
    file.write(_table(["of", "output", "recovered", "lost", "proof", "notes"], rows))
    for one in case.recovered:
        file.write(_long_notes(one))
    if files := [each for one in case.recovered for each in one.files]:
        file.write("<h3>Files</h3>\n" + _files(files))


def _long_notes(one: RecoveryOutcome) -> str:
    """More notes than a cell of the table can have, as a list that can be unfolded; it is printed unfolded."""
    notes = _notes(one)
    if len(notes) <= NOTES:
        return ""
    items = "".join(f"<li>{_text(note)}</li>\n" for note in notes)
    title = f"{counted(len(notes), 'notes')} on {_text(_of(one))}"
    return f"<details><summary>{title}</summary>\n<ul>\n{items}</ul></details>\n"


def _notes(one: RecoveryOutcome) -> Sequence[str]:
    """Return the notes on a recovery."""
    return one.report.notes if one.report is not None else ()


def _files(files: Iterable[Hashed]) -> str:
    """Return a table of files."""
    rows = [[_Code(each.name), f"{each.size:,}", _Digest(each.sha256)] for each in files]
    return _table(["file", "bytes", "SHA-256"], rows, right={1})


def _of(one: RecoveryOutcome) -> str:
    """Return what was recovered: a group, or archives by number."""
    return f"group {one.group}" if one.group is not None else ", ".join(f"#{number}" for number in one.archives)


def _outcome(one: RecoveryOutcome) -> list[str]:
    """Return recovered and lost items, proof and notes of a recovery."""
    if one.report is None:
        return ["nothing", "", f"not salvaged: {one.error}", ""]
    counts = [
        ", ".join(counted(count, kind) for kind, count in kinds.items() if count) or "nothing"
        for kinds in (one.report.recovered, one.report.lost)
    ]
    partly = one.report.verified_by is VerifiedBy.CHECKSUMS and not one.report.complete
    notes = one.report.notes
    remarks = "; ".join(notes) if len(notes) <= NOTES else f"{counted(len(notes), 'notes')}: see below"
    return [*counts, PARTLY if partly else PROOF[one.report.verified_by], remarks]


def _details(file: IO[str], case: CaseReport, opened: Opener, limits: Limits) -> None:
    """Write a section for each archive: verdict, findings and, for the first `MOST_MAPS` (damaged first), a map."""
    order = sorted(case.archives, key=lambda one: one.carved.verdict is CarveVerdict.COMPLETE)  # False: first
    drawn = {one.number for one in order[:MOST_MAPS]}
    for one in case.archives:
        carved = one.carved
        where = f"at {carved.offset:,} to {carved.end:,} of {redact(one.target)}"
        if one.file is None:
            where = f"is {redact(one.target)}"
        file.write(f"<section id='a{one.number}'>\n<h3>{_text(_name(one))} {_text(where)}</h3>\n")
        file.write(
            f"<p>{_cell(_ColoredVerdict(carved.verdict))}: {_text(MEANS[carved.verdict])}. "
            f"Verified by: {_text(RESTS_ON[carved.verified_by])}."
        )
        caveat = carved.note or "; ".join(get_format(carved.format).limitations[:1])
        file.write(f" Caveat of the format: {_text(caveat)}.</p>\n" if caveat else "</p>\n")
        copied = "Not copied" if one.file is None else f"Copied to <code>{_text(one.file)}</code>"
        digest = "" if one.sha256 is None else f", SHA-256 <code>{one.sha256}</code>"
        file.write(f"<p>{copied}{digest}.</p>\n")
        shown = one.to_dict()
        if shown["findings"]:
            rows = (
                [each["code"], each["severity"], str(finding)]
                for each, finding in zip(shown["findings"], carved.findings, strict=False)
            )
            file.write(_table(["code", "severity", "finding"], rows))
            if (more := shown["findings_total"] - len(shown["findings"])) > 0:
                file.write(f"<p>and {counted(more, 'more findings')}</p>\n")
        file.write(_files(one.files) if one.files else "")
        if one.number in drawn and (picture := _map(one, opened, limits)):
            file.write(f"<figure tabindex='0'>{picture}</figure>\n")
        file.write("</section>\n")


def _map(found: CaseArchive, opened: Opener, limits: Limits) -> str:
    """The map of an archive; empty if it cannot be opened by itself."""
    carved = found.carved
    try:
        with opened(found.target) as source:
            if isinstance(source, Source):
                source = source.window(carved.offset - source.origin, carved.end - source.origin)
            with Inspection(source, get_format(carved.format), limits=limits) as archive:
                return to_svg(draw_map(archive, carved.findings))
    except SourceError:
        raise
    except ExhumeError:
        return ""


def _others(file: IO[str], case: CaseReport) -> None:
    """Write the table of files in which no archive was found, with the reason."""
    if not case.others:
        return
    words = {
        UNRECOGNIZED: "no archive found in it",
        Kind.PART: "part of another",
        Kind.LINK: "link, not followed",
        Kind.UNREADABLE: "cannot be read",
    }
    counts = ", ".join(f"{words[kind]}: {case.counts[kind]:,}" for kind in words if case.counts[kind])
    file.write(f"<h2>What is no archive</h2>\n<p>{_text(counts)}.</p>\n")
    rows = ([_Code(redact(one.name)), words[one.kind], one.message] for one in case.others)
    file.write(_table(["name", "what it is", ""], rows))


def _timeline(file: IO[str], runs: Sequence[Mapping[str, Any]]) -> None:
    """Write the table of runs from audit records."""
    if not runs:
        return
    rows = [
        [run["started"] or "", run["ended"] or "", run["verb"], ", ".join(run["targets"]), str(run["exit_code"]),
         ", ".join(run["outputs"]), _Digest(run["digest"])] for run in runs
    ]  # fmt: skip
    header = ["started (UTC)", "ended (UTC)", "verb", "targets", "exit code", "outputs", "record"]
    file.write("<h2>Timeline</h2>\n" + _table(header, rows, right={4}))


def _terms(file: IO[str]) -> None:
    """Write the explanation of the terms used."""
    rows = [[_ColoredVerdict(verdict), meaning] for verdict, meaning in MEANS.items()]
    rows += [[f"verified by {proof}", meaning] for proof, meaning in RESTS_ON.items()]
    file.write("<h2>Terms</h2>\n" + _table(["term", "meaning"], rows))
    file.write("<p>Offsets are decimal and count from the first byte of the image; the end is not included. ")
    file.write("Confidence is how sure it is that the bytes are of the format, not whether they are intact.</p>\n")


class _Code(str):
    """Text in a fixed font."""


class _Digest(_Code):
    """A checksum: its digits take two lines where they do not fit one."""


class _ColoredVerdict(str):
    """A verdict, in its color."""


class _PageLink(str):
    """Text that leads to a place on the page."""

    target: str

    def __new__(cls, text: str, target: str) -> Self:
        made = super().__new__(cls, text)
        made.target = target
        return made


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """Return a table; columns without any text are left out, those in `right` are aligned to the right."""
    kept = list(rows)
    shown = [at for at in range(len(header)) if any(row[at] for row in kept)]
    aligned = set(right)
    mark = {at: " class='right'" if at in aligned else "" for at in shown}
    head = "".join(f"<th scope='col'{mark[at]}>{_text(header[at])}</th>" for at in shown)
    lines = ("".join(f"<td{mark[at] or _wrapping(row[at])}>{_cell(row[at])}</td>" for at in shown) for row in kept)
    body = "".join(f"<tr>{line}</tr>\n" for line in lines)
    table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>"
    return f"<div class='table' tabindex='0'>{table}</div>\n"


def _wrapping(value: str) -> str:
    """The class of a cell that is not wrapped, or that is wrapped in lines of some words at least."""
    return " class='short'" if len(value) <= SHORT else " class='long'" if len(value) > LONG else ""


def _cell(value: str) -> str:
    """Return the HTML of a table cell."""
    if isinstance(value, _Digest):
        return f"<code class='digest'>{_text(value)}</code>"
    if isinstance(value, _Code):
        return f"<code>{_text(value)}</code>"
    if isinstance(value, _ColoredVerdict):
        return f"<b class='{_text(value)}'>{_text(value)}</b>"
    if isinstance(value, _PageLink):
        return f"<a href='#{_text(value.target)}'>{_text(value)}</a>"
    return _text(value)


def _text(value: str) -> str:
    """Text that is safe on a page: characters that are not printable become dots."""
    return html.escape("".join(char if char.isprintable() else "·" for char in str(value)))


_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{css}</style>
</head>
<body>
<main>
"""
