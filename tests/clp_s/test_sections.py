"""The tables of a stream as sections: each made when it is examined, for there may be hundreds of thousands.

Spec: clp_s.txt, Table segments.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.engines.explain import BULK_SECTIONS, Selection, explain_archive
from exhume.engines.explanation import ExplainedSection
from exhume.findings import Finding
from exhume.formats.clp_s import checks, sections
from exhume.formats.clp_s.reader import open_archive
from exhume.io.source import BytesSource
from exhume.layout.sections import PayloadRun, SectionKind, SectionMap
from tests.clp_s.build import Built, i64

MANY = 40


def many(bad: int | None = None) -> Built:
    """Tables of one record with two integers each, in one stream; a bad one's schema names a node that is absent."""
    columns = [[2 * number + 1, 2 * number + 2] for number in range(MANY)]
    if bad is not None:
        columns[bad][0] = 999
    return Built(
        nodes=[(-1, b"", 5), *((0, b"%s%d" % (key, number), 0) for number in range(MANY) for key in (b"a", b"b"))],
        schemas=[(number, nodes, []) for number, nodes in enumerate(columns)],
        streams=[[(number, 1, i64(number, -number)) for number in range(MANY)]],
    )


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the tables that became sections."""
    numbers: list[int] = []
    make = sections._table

    def counted(archive: Any, number: int, *rest: Any) -> Any:
        numbers.append(number)
        return make(archive, number, *rest)

    monkeypatch.setattr(sections, "_table", counted)
    return numbers


def explained(selection: Selection, findings: list[Finding] | None = None) -> list[ExplainedSection]:
    with open_archive(BytesSource(many().build(), "many.clps")) as archive:
        return list(explain_archive(archive, selection, findings))


def test_only_tables_that_are_shown_are_made(made: list[int]) -> None:
    with open_archive(BytesSource(many().build(), "many.clps")) as archive:
        found = archive.sections()
        stream = found.named("stream-0")
    offset = stream.span.start + 9
    assert [s.name for s in found.at(offset)] == ["/0", "stream-0"], "which table a compressed byte is of is not known"
    at = explained(Selection(start=offset, end=offset + 1, payloads=False))
    assert [item.section.name for item in at] == ["/0", "stream-0"]
    assert made == []
    some = explained(Selection(start=offset, end=offset + 5))
    assert [item.section.name for item in some[2:-1]] == [f"table-{number}" for number in range(BULK_SECTIONS)]
    assert (some[-1].section.name, some[-1].skipped) == (f"table-{BULK_SECTIONS}", MANY - BULK_SECTIONS)
    assert len(set(made)) == BULK_SECTIONS + 1
    page = explained(Selection())
    assert sum(item.skipped or item.section.name.startswith("table-") for item in page) == MANY
    assert len(set(made)) == BULK_SECTIONS + 2, "the last is named"
    assert [item.section.name for item in explained(Selection(section="table-33"))] == ["table-33"]
    made.clear()
    stated = explained(Selection(section="stream-0"))
    assert [item.section.name for item in stated] == ["stream-0", *(f"table-{n}" for n in range(BULK_SECTIONS + 1))]
    assert stated[-1].skipped == MANY - BULK_SECTIONS
    assert len(set(made)) == BULK_SECTIONS + 1
    assert [item.section.name for item in explained(Selection(section="stream-0", whole=True))] == [
        "stream-0",
        *(f"table-{number}" for number in range(MANY)),
    ]
    whole = explained(Selection(whole=True, start=stream.span.start, end=stream.span.end))
    assert len(whole) == MANY + 2
    assert [item.section.name for item in explained(Selection(whole=True, start=0, end=9))] == ["header"]


def test_a_finding_is_noted_at_its_table() -> None:
    """Positions in a payload are those of the stream, and fields begin with their table."""
    with open_archive(BytesSource(many().build(), "many.clps")) as archive:
        where = archive.tables[20].span
    finding = checks.BAD_TABLE_SIZE.finding(span=where.sub(8, 16))
    found = explained(Selection(), [finding])
    noted = {item.section.name: [node.path for tree in item.trees() for _, node in tree.walk() if node.note]
             for item in found}  # fmt: skip
    assert {name: paths for name, paths in noted.items() if paths} == {"table-20": ["clp_s_table.columns[1].values[0]"]}
    assert [item.section.name for item in found if item.findings] == ["/0", "stream-0"]
    assert sum(item.skipped for item in found) == MANY - BULK_SECTIONS - 1
    near = explained(Selection(start=where.start, end=where.start + 5), [finding])
    assert [item.section.name for item in near[-3:]] == ["table-20", "table-21", "table-16"]
    assert near[-1].skipped == MANY - BULK_SECTIONS - 2, "the second begins where the finding ends"
    with open_archive(BytesSource(many().build(), "many.clps")) as archive:
        found_at = archive.sections().numbers_at(where.start, payload=where.payload[0] + 8 if where.payload else 0)
        assert [archive.sections()[number].name for number in found_at] == ["/0", "stream-0", "table-20"]


def test_the_kinds_of_tables_are_found_when_they_are_requested(
    tmp_path: Path, exhume_cli: Callable[..., Any], made: list[int]
) -> None:
    path = tmp_path / "bad.clps"
    path.write_bytes(many(bad=7).build())
    with exhume.inspect(path) as archive:
        found: SectionMap = archive.sections()
        [run] = (part for part in found.parts if isinstance(part, PayloadRun))
        assert [n for n, sort in enumerate(run.sorts) if sort] == [7]
        assert [s.name for s in run.unread()] == ["table-7"]
        assert {s.name: count for s, count, _ in found.sums() if s.parent == "stream-0"} == {
            "table-0": MANY - 1,
            "table-7": 1,
        }
        assert found.coverage().claimed == path.stat().st_size
        assert [(s.kind is SectionKind.UNREAD) for s in run] == [number == 7 for number in range(MANY)]
    listed = exhume_cli("list", "--sections", "--json", path)
    assert listed.code == 3
    kinds = [s["kind"] for s in json.loads(listed.text)["sections"] if s["name"].startswith("table-")]
    assert [n for n, kind in enumerate(kinds) if kind == "unread"] == [7]
    text = exhume_cli("list", "--sections", path)
    assert text.code == 3
    assert f"table-{MANY - 1}" in text.text
    assert exhume_cli("map", "--svg", tmp_path / "bad.svg", path).code == 3
