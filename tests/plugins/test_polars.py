"""Scans of Polars: KQL is given what it can say, and the result is that of Polars alone, whatever is asked.

DuckDB and DataFusion answer the same questions as `events(query=…)` does.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import polars
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from polars import col

import exhume
from exhume.archive import Archive
from exhume.errors import EntryNotFoundError
from exhume.plugins.polars import pushed, scan
from tests.real import ROOT
from tests.sizes import size


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("polars") / "events.clps"
    with exhume.create(path, "clp-s", timestamp_key="timestamp") as writer:
        writer.add_file(ROOT / "examples/clp_s/events.jsonl")
    with exhume.open(path) as archive:
        yield archive


SECOND = datetime(2025, 1, 1, 0, 0, 1, tzinfo=UTC)
ASKED = [
    (col("level") == "ERROR", 'level: "ERROR"'),
    ((col("latency_s") > 0.5) & (col("level") == "INFO"), '(latency_s> 0.5) AND (level: "INFO")'),
    ((col("level") == "ERROR") | (col("user.id") > 800), '(level: "ERROR") OR (user.id> 800)'),
    (col("level").is_in(["WARN", "ERROR"]), '(level: "WARN") OR (level: "ERROR")'),
    (col("message").str.starts_with("user u4"), 'message: "user u4*"'),
    (col("message").str.ends_with(" ms"), 'message: "* ms"'),
    (col("message").str.contains("took", literal=True), 'message: "*took*"'),
    (col("user.id").is_between(200, 300), "(user.id>= 200) AND (user.id<= 300)"),
    (col("timestamp") < SECOND, "timestamp< 1735689601000000000"),
    (col("user.admin"), "user.admin: true"),
    (polars.lit(500) < col("user.id"), "user.id> 500"),
    ((col("level") != "INFO") & (col("retries") == 2), "(retries: 2)"),
    (col("message").str.contains("to+k"), None),
    (~col("user.admin"), None),
    ((col("level") == "ERROR") | (col("user.id") % 2 == 0), None),
]


@pytest.mark.parametrize(("condition", "query"), ASKED, ids=[str(number) for number in range(len(ASKED))])
def test_conditions_become_kql(events: Archive, condition: polars.Expr, query: str | None) -> None:
    assert pushed(events, condition) == query
    wanted = polars.DataFrame(events).filter(condition)
    assert scan(events).filter(condition).collect().equals(wanted)
    assert wanted.height > 0


def test_the_reader_gets_columns_conditions_and_rows(events: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[dict[str, Any]] = []
    to_arrow = type(events).to_arrow

    def spy(self: Archive, **options: Any) -> Any:
        requested.append(options)
        return to_arrow(self, **options)

    monkeypatch.setattr(type(events), "to_arrow", spy)
    frame = scan(events, query="service: checkout").filter(col("level") == "ERROR").select("message").head(2).collect()
    assert frame.shape == (2, 1)
    reported = requested[-1]
    assert reported["query"] == '(service: checkout) AND (level: "ERROR")'
    assert sorted(reported["columns"]) == ["level", "message"]
    assert scan(events).select(polars.len()).collect().item() == 80


def test_every_archive_can_be_scanned(samples: Path) -> None:
    with exhume.zs.open(samples / "zs/words-none.zs") as archive:
        wanted = [record for record in archive.records() if b"calm" in record]
    frame = scan(samples / "zs/words-none.zs").filter(col("record").bin.contains(b"calm")).collect()
    assert frame["record"].to_list() == wanted != []
    with exhume.ark.open(samples / "ark/log") as log:
        late = [message.time_ns for message in log.messages("/nav/pose") if message.time_ns > 1_300_000_000]
    poses = scan(samples / "ark/log", topic="/nav/pose").filter(col("time_ns") > 1_300_000_000)
    assert poses.select("time_ns").collect()["time_ns"].to_list() == late != []
    with pytest.raises(EntryNotFoundError):
        scan(samples / "ark/log", topic="/nav/pos")


TEXTS = st.sampled_from(
    [
        "a",
        "A",
        "a b",
        "a*",
        "a?b",
        'q"',
        "b\\",
        "\\*c",
        "5",
        "-1",
        "1.0",
        "true",
        "null",
        "",
        "é",
        "a b 12 c",
        "\t",
        "(x)",
    ]
)
NUMBERS = st.sampled_from([0, 1, -1, 5, 12, 1 << 53, (1 << 53) + 1, -(1 << 53) - 1, (1 << 62) + 1])
REALS = st.sampled_from([0.0, -0.0, 0.5, 1.0, 5.0, 1e-7, 1e300, -2.25, float(1 << 53)])
RECORDS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "text": TEXTS | st.none(),
            "word": TEXTS.filter(lambda text: " " not in text),
            "number": NUMBERS,
            "real": REALS | NUMBERS,
            "flag": st.booleans(),
            "mixed": TEXTS | NUMBERS | REALS | st.booleans(),
            "in": st.fixed_dictionaries({}, optional={"side": TEXTS}),
        },
    ),
    min_size=1,
    max_size=8,
)
EVERY = {"text": "a b 12 c", "word": "a", "number": 1, "real": 0.5, "flag": True, "mixed": "a", "in": {"side": "a b"}}
"""A record with every column, so that each of them is there and has the type that is requested."""

ORDERED = st.sampled_from(("eq", "ne", "lt", "le", "gt", "ge", "is_in", "is_between"))
WORDED = st.sampled_from(("eq", "ne", "starts_with", "ends_with", "contains", "is_in"))
LEAVES = st.one_of(
    st.tuples(st.sampled_from(("text", "word", "in.side", "mixed")), WORDED, TEXTS),
    st.tuples(st.sampled_from(("number", "real")), ORDERED, NUMBERS | REALS),
    st.tuples(st.just("flag"), st.sampled_from(("eq", "ne", "itself")), st.booleans()),
)
"""A condition on a column with one value: the column, what is done, the value."""

CONDITIONS = st.recursive(
    LEAVES, lambda inner: st.tuples(st.sampled_from(("and", "or", "not")), inner, inner), max_leaves=4
)


def expression(tree: Any) -> polars.Expr:
    if tree[0] in ("and", "or", "not"):
        one, other = expression(tree[1]), expression(tree[2])
        return one & other if tree[0] == "and" else one | other if tree[0] == "or" else ~one & other
    name, done, value = tree
    column = col(name)
    if done in ("starts_with", "ends_with"):
        made: polars.Expr = getattr(column.str, done)(str(value))
    elif done == "contains":
        made = column.str.contains(str(value), literal=True)
    elif done == "is_in":
        made = column.is_in([value])
    elif done == "is_between":
        made = column.is_between(value, value)
    else:
        made = column if done == "itself" else getattr(column, done)(value)
    return made


@pytest.mark.slow
@settings(max_examples=size(60, 2000))
@given(records=RECORDS, tree=CONDITIONS)
def test_the_result_is_that_of_polars_alone(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]], tree: Any
) -> None:
    path = tmp_path_factory.mktemp("drawn") / "a.clps"
    with exhume.create(path, "clp-s") as writer:
        for record in [EVERY, {"mixed": 1}, *records]:
            writer.write_json_line(json.dumps(record))
    condition = expression(tree)
    with exhume.open(path) as archive:
        try:
            wanted = polars.DataFrame(archive).filter(condition)
        except polars.exceptions.PolarsError:
            event("refused by Polars")  # a column that is not there, or of another type
            return
        event(f"pushed: {pushed(archive, condition) is not None}, rows: {wanted.height > 0}")
        got = scan(archive).filter(condition).collect()
        assert got.equals(wanted), pushed(archive, condition)


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("level: ERROR", "level = 'ERROR'"),
        ("latency_s > 0.5 AND NOT level: ERROR", "latency_s > 0.5 AND level <> 'ERROR'"),
        ("user.id >= 200 AND user.id < 300", '"user.id" >= 200 AND "user.id" < 300'),
        ('message: "user u4*"', "message LIKE 'user u4%'"),
    ],
)
def test_duckdb_and_datafusion_answer_as_kql_does(events: Any, query: str, where: str) -> None:
    from datafusion import SessionContext

    wanted = sorted(each["message"] for each in events.events(query=query))
    rows = events.to_dataset()
    assert rows.schema.names
    requested = f"SELECT message FROM rows WHERE {where}"
    assert sorted(row[0] for row in duckdb.execute(requested).fetchall()) == wanted != []
    context = SessionContext()
    context.register_dataset("rows", rows)
    batches = context.sql(requested).collect()
    assert sorted(value for batch in batches for value in batch.column(0).to_pylist()) == wanted
