"""The explorer: what it refuses, what each request is answered with, and the page in a browser."""

from __future__ import annotations

import http.client
import io
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import exhume
from exhume.cli import exploring
from exhume.cli.exploring import explored, opener
from exhume.cli.run import Run
from exhume.engines import explained as explained_engine
from exhume.engines import payloads
from exhume.engines.explanation import PARSED_SIZE
from exhume.errors import LimitExceededError
from exhume.formats.data_bundle.shard import Shard
from exhume.formats.kv_ir import sections as kv_ir_sections
from exhume.formats.kv_ir.layout import END, build_text
from exhume.formats.zs.writer import ZsWriter
from exhume.io.source import StoppedError
from exhume.io.tree import MemoryTree, Tree, stoppable
from exhume.layout import elements, kaitai
from exhume.testing.damage import flip
from exhume.view import explored as explored_module
from exhume.view.explored import ExploredArchive
from exhume.view.parts import SCRIPTS
from exhume.view.server import HEADERS, ExploredImage, Explorer
from tests.conftest import ROOT
from tests.kv_ir.streams import HEAD
from tests.view.test_page import run_browser

Cli = Callable[..., Any]
HOST = "127.0.0.1:1234"
TOKEN = "the-token"
SAMPLES = ROOT / "tests/samples"
CLPS = ROOT / "examples/clp_s/events.clps"


class Requested:
    """An explorer without a network: requests are calls."""

    def __init__(self, shown: ExploredArchive, run: Run) -> None:
        self.shown = shown
        self.app = Explorer(shown, TOKEN, opener(run, shown))
        self.app.hosts = frozenset({HOST})

    def __call__(self, path: str, *, method: str = "GET", host: str = HOST, token: str = TOKEN, **more: str) -> Answer:
        path, _, query = path.partition("?")
        reported: list[Any] = []
        environ = {"REQUEST_METHOD": method, "PATH_INFO": f"/{token}/{path}", "QUERY_STRING": query, "HTTP_HOST": host}
        body = b"".join(self.app(environ | more, lambda *given: reported.extend(given)))
        return Answer(int(reported[0].split()[0]), dict(reported[1]), body)

    def json(self, path: str, **parameters: Any) -> Any:
        answer = self(f"api/{path}?{urlencode(parameters)}")
        assert answer.status == 200, answer.body
        return json.loads(answer.body)

    def until(self, what: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The state once it is as wanted."""
        for _ in range(2000):
            state: dict[str, Any] = self.json("contents")
            if what(state):
                return state
            time.sleep(0.01)
        raise AssertionError(state)

    def checked(self) -> dict[str, Any]:
        """The contents of a page when all was verified."""
        self.json("state", check=1)
        return self.until(lambda state: state["state"] == "done")


class Answer:
    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body


@contextmanager
def asking(target: Path | str, **how: Any) -> Iterator[Requested]:
    run = Run(quiet=True, color="never")
    options = {"verifies": False, "image": False, "ksy": None, "imports": ()} | how
    shown = explored(run, str(target), **options)
    try:
        requested = Requested(shown, run)
        requested.until(lambda state: state["mapped"])
        yield requested
    finally:
        shown.close()


@pytest.fixture
def words() -> Iterator[Requested]:
    with asking(SAMPLES / "zs/words-deflate.zs") as requested:
        yield requested


REFUSED = {
    "another host": ({"host": "evil.example:1234"}, 421),
    "no host": ({"host": ""}, 421),
    "another port": ({"host": "127.0.0.1:1235"}, 421),
    "no token": ({"token": ""}, 403),
    "another token": ({"token": "the-tokem"}, 403),
    "a token that is no ASCII": ({"token": "thé-token"}, 403),
    "another origin": ({"HTTP_ORIGIN": "http://evil.example"}, 403),
    "an origin without a name": ({"HTTP_ORIGIN": "null"}, 403),
    "another port of this machine": ({"HTTP_ORIGIN": "http://127.0.0.1:9"}, 403),
    "another site": ({"HTTP_SEC_FETCH_SITE": "cross-site"}, 403),
    "a neighbor": ({"HTTP_SEC_FETCH_SITE": "same-site"}, 403),
    "writing": ({"method": "POST"}, 405),
    "deleting": ({"method": "DELETE"}, 405),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_request_that_is_not_the_pages_own_is_refused(name: str, words: Requested) -> None:
    options, status = REFUSED[name]
    for path in ("", "api/contents", "download", "page.js"):
        answer = words(path, **options)
        assert answer.status == status
        assert b"words" not in answer.body
        assert dict(HEADERS).items() <= answer.headers.items()


def test_the_pages_own_requests_are_answered(words: Requested) -> None:
    for more in ({}, {"HTTP_SEC_FETCH_SITE": "same-origin"}, {"HTTP_SEC_FETCH_SITE": "none"},
                 {"HTTP_ORIGIN": f"http://{HOST}"}):  # fmt: skip
        assert words("api/contents", **more).status == 200
    assert words("", method="HEAD").body == b""


@pytest.mark.parametrize(
    "path", ["../../etc/passwd", "..%2f..%2fetc/passwd", "page.css/..", "api", "api/", "api/../contents",
             "//etc/passwd", "page.py", "api/nothing", "download/x"])  # fmt: skip
def test_a_path_outside_is_not_found(path: str, words: Requested) -> None:
    answer = words(path)
    assert (answer.status, answer.body) == (404, b"nothing is here\n")


def test_the_token_alone_is_not_an_address(words: Requested) -> None:
    reported: list[Any] = []
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": f"/{TOKEN}", "HTTP_HOST": HOST}
    words.app(environ, lambda *given: reported.extend(given))
    assert reported[0] == "404 Not Found"


@pytest.mark.parametrize(
    ("query", "status"),
    [("api/sections?first=-1", 400), ("api/sections?first=x", 400), ("api/fields", 400), ("api/fields?section=99", 404),
     ("api/fields?section=" + "9" * 30, 400), ("api/bytes?space=7&start=0&size=1", 404),
     ("api/bytes?section=0&start=0&size=1", 404), ("api/contents?archive=zs@0+1", 404),
     ("api/contents?" + "&".join(f"a{n}=1" for n in range(30)), 400), ("download?section=99", 404)],
)  # fmt: skip
def test_a_wrong_question_is_refused(query: str, status: int, words: Requested) -> None:
    assert words(query).status == status


def test_the_page_loads_nothing_from_elsewhere(words: Requested) -> None:
    page = words("")
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert b"http" not in page.body
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert "unsafe" not in page.headers["Content-Security-Policy"]
    assert words("page.js").body.decode().count('"use strict"') == 1
    assert len(SCRIPTS) > 3
    assert b"--gap" in words("page.css").body


def test_sections_fields_and_bytes(words: Requested) -> None:
    data = (SAMPLES / "zs/words-deflate.zs").read_bytes()
    with exhume.open(data) as archive:
        known = list(archive.sections())
    contents = words.json("contents")
    assert (contents["count"], contents["kind"], contents["format"]) == (len(known), "archive", "zs")
    assert contents["spaces"][0]["size"] == len(data)
    sections = words.json("sections", first=1, count=3)
    assert [(one["name"], one["start"], one["end"]) for one in sections] == [
        (one.name, one.span.start, one.span.end) for one in known[1:4]
    ]
    number = next(number for number, one in enumerate(known) if one.name == "data-1")
    fields = words.json("fields", section=number)
    assert fields["tree"]["k"]
    assert fields["payload_size"] == len(known[number].load())  # type: ignore[misc]
    assert words(f"api/bytes?section={number}&start=1&size=9").body == known[number].load()[1:10]  # type: ignore[misc]
    assert words("api/bytes?space=0&start=5&size=20").body == data[5:25]
    assert words(f"api/bytes?space=0&start={len(data) - 3}&size=20").body == data[-3:]
    assert len(words("api/bytes?space=0&start=0&size=999999999").body) == len(data)
    assert words.json("holding", space=0, at=known[number].span.start) == [number]
    assert words.json("named", name="data-1") == {"section": number}
    assert words.json("named", name="data", after=number) == {"section": number + 1}
    assert words.json("named", name="nothing like it") == {"section": None}
    assert words.json("bands", space=0, start=0, end=len(data))[0][0] == 0
    assert words.json("bands", space=3, start=0, end=9) == []


def test_any_element_of_a_large_payload(tmp_path: Path) -> None:
    path = tmp_path / "large.zs"
    with ZsWriter(path, codec="deflate", block_size=12 << 20, metadata={}) as out:
        out.add_records(b"%09999d" % number for number in range(1000))
    with asking(path) as requested:
        requested.checked()
        number = requested.json("named", name="data-0")["section"]
        fields = requested.json("fields", section=number)
        array = fields["payload"]["k"][0]
        assert fields["payload_size"] > PARSED_SIZE
        assert (array["v"], len(array["k"]), array["k"][-1]["g"]) == ("1000 elements", 65, 64)
        asked_for = {"section": number, "part": "payload", "array": array["a"]}
        page = requested.json("elements", **asked_for, first=500)["k"]
        assert [one["n"] for one in page[:2]] == ["… 500 before", "[500]"]
        assert (page[-2]["n"], page[-1]) == ("[563]", {"n": "… 436 more", "t": "", "g": 564})
        assert (page[0]["g"], page[1]["e"] - page[1]["s"]) == (436, 10001)
        last = requested.json("elements", **asked_for, at=fields["payload_size"] - 1)["k"]
        assert (last[-1]["n"], last[-1]["e"]) == ("[999]", fields["payload_size"])
        near = requested.json("fields", section=number, at=5_000_000, part="payload")["payload"]["k"][0]["k"][-2]
        assert near["s"] <= 5_000_000 < near["e"]
        assert [one["n"] for one in requested.json("elements", **asked_for, first=5000)["k"]] == ["… 1000 before"]
        assert requested(f"api/elements?section={number}&array=other").status == 404
        assert requested(f"api/elements?section={number}&array=other&part=else").status == 400


@pytest.fixture
def tight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have what is larger than 10 bytes read in windows of a few bytes."""
    for module in (payloads, explained_engine, kaitai):
        monkeypatch.setattr(module, "HELD", 10)
    for module in (elements, kaitai):
        monkeypatch.setattr(module, "WINDOW", 64)
    monkeypatch.setattr(elements, "MARGIN", 8)
    monkeypatch.setattr(elements, "STEP", 1)
    monkeypatch.setattr(payloads, "COUNTED", 0)
    monkeypatch.setattr(payloads, "WINDOW", 7)
    monkeypatch.setattr(payloads, "WINDOWS", 2)


@pytest.mark.parametrize(
    "name",
    ["zs/words-deflate.zs", "clp_s/demo.clps", "kv_ir/small.clp.zst", "clp_ir/small.clp.zst", "data_bundle/zlib"],
)
def test_a_large_payload_is_read_in_windows(name: str, tight: None) -> None:
    with exhume.open(SAMPLES / name) as archive, asking(SAMPLES / name) as requested:
        sections = enumerate(archive.outline())
        known = {number: one.load() for number, one in sections if one.load is not None and one.pieces is not None}
        large = {number: data for number, data in known.items() if len(data) > 10}
        assert large
        for number, data in list(large.items())[:6]:
            fields = requested.json("fields", section=number)
            assert fields["payload_size"] == len(data)
            end = len(data)
            for start, size in ((3, 20), (end - 5, 50), (0, 9), (end, 5), (end // 2, 1), (2, end)):
                assert (
                    requested(f"api/bytes?section={number}&start={start}&size={size}").body
                    == data[start : start + size]
                )
            saved = requested(f"download?section={number}&what=payload")
            assert (saved.body, saved.headers["Content-Length"]) == (data, str(end))
            part = requested(f"download?section={number}&what=payload&start=3&end=11&name=field")
            assert (part.body, "field.payload" in part.headers["Content-Disposition"]) == (data[3:11], True)


@pytest.mark.parametrize("name", ["zs/words-deflate.zs", "kv_ir/small.clp", "kv_ir/small.clp.zst", "clp_s/demo.clps"])
def test_sections_of_any_size_have_the_fields_of_small_ones(name: str, request: pytest.FixtureRequest) -> None:
    def fields() -> list[Any]:
        with asking(SAMPLES / name) as requested:
            requested.checked()
            return [requested.json("fields", section=number) for number in range(requested.json("contents")["count"])]

    whole = fields()
    request.getfixturevalue("tight")
    assert fields() == whole


def test_a_byte_far_into_a_large_section_takes_several_requests(
    tmp_path: Path, tight: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, count = tmp_path / "a.clp", 200
    tokens = b"".join(build_text(b"%03d" % number) for number in range(count)) + END
    path.write_bytes(HEAD + tokens)
    monkeypatch.setattr(explored_module, "PATIENCE", 0.0)
    with asking(path) as requested:
        begun = requested.json("fields", section=2)
        assert begun["reading"] < len(tokens) / 2
        array = begun["tree"]["k"][0]
        last = len(HEAD + tokens) - 3
        reached = []
        while "reading" in (found := requested.json("elements", section=2, part="tree", array=array["a"], at=last)):
            reached.append(found["reading"])
        assert reached == sorted(set(reached))
        assert [(one["n"], one["e"]) for one in found["k"][-2:]] == [("[199]", last + 2), ("[200]", last + 3)]
        assert len(reached) > 40
        near = requested.json("fields", section=2, at=last)["tree"]["k"][0]
        assert (near["v"], near["k"][-2]["n"]) == ("201 elements", "[199]")


def test_a_payload_that_may_not_be_held_is_read_in_windows() -> None:
    path = SAMPLES / "kv_ir/small.clp.zst"
    with exhume.open(path) as whole, exhume.open(path, limits=exhume.Limits(payload_size=10)) as archive:
        data, section = whole.sections()[0].load(), archive.sections()[0]._replace(payload_size=None)
        with pytest.raises(LimitExceededError):
            section.load()
        kept = payloads.Payloads()
        assert kept.read(0, section, 5, 20) == data[5:25]
        assert (kept.size(0, section), kept.failure(0)) == (len(data), "")

        def broken() -> Iterator[bytes]:
            yield data[:7]
            raise exhume.ExhumeError("damaged here")

        assert kept.size(1, section._replace(pieces=broken)) == 7
        assert kept.failure(1) == "decompressed up to byte 7: damaged here [EX-000]"
        assert kept.read(1, section._replace(pieces=broken), 5, 20) == data[5:7]


def test_a_field_is_saved(words: Requested) -> None:
    number = words.json("named", name="data-1")["section"]
    field = words.json("fields", section=number)["tree"]["k"][0]
    data = (SAMPLES / "zs/words-deflate.zs").read_bytes()
    found = words(f"download?section={number}&start={field['s']}&end={field['e']}&name={field['n']}")
    assert found.body == data[field["s"] : field["e"]]
    assert found.headers["Content-Disposition"].endswith(f"{field['n']}.bin")
    assert words(f"download?section={number}&start=99999999").body == b""


@pytest.mark.parametrize("name", ["kv_ir/small.clp", "kv_ir/small.clp.zst", "data_bundle/zlib", "zs/words-none.zs"])
def test_the_first_view_reads_no_content(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sections are shown before they are walked, and are the same for an archive without damage."""
    monkeypatch.setattr(kv_ir_sections, "_walk", None)
    monkeypatch.setattr(kv_ir_sections, "_stored", None)
    monkeypatch.setattr(Shard, "measure", None)
    with asking(SAMPLES / name) as requested:
        contents, sections = requested.json("contents"), requested.json("sections", count=1000)
    assert (contents["failure"], len(sections)) == ("", contents["count"])
    monkeypatch.undo()
    with exhume.open(SAMPLES / name) as archive:
        known = [(one.name, str(one.kind), one.span.start) for one in archive.sections() if "/padding@" not in one.name]
    assert [(one["name"], one["kind"], one["start"]) for one in sections] == known


def test_damage_replaces_the_outline(tmp_path: Path) -> None:
    data = (SAMPLES / "kv_ir/small.clp").read_bytes()
    (tmp_path / "bad.clp").write_bytes(data[:-40] + b"\x99" + data[-39:])
    with asking(tmp_path / "bad.clp") as requested:
        assert "unread" not in {one["kind"] for one in requested.json("sections")}
        assert requested.checked()["verdict"] == "damaged"
        assert "unread" in {one["kind"] for one in requested.json("sections")}


def test_a_checksum_of_the_whole_file_is_left_to_verifying(words: Requested, monkeypatch: pytest.MonkeyPatch) -> None:
    def outcomes(section: int) -> dict[str, tuple[str, str]]:
        pending = [words.json("fields", section=section)["tree"]]
        found: dict[str, tuple[str, str]] = {}
        for node in pending:
            pending += node.get("k", ())
            found |= {node["n"]: (node["w"], node["c"])} if "w" in node else {}
        return found

    assert outcomes(0)["sha256_data"][0] == "matches"
    monkeypatch.setattr(explained_engine, "NEARBY", 100)
    near = outcomes(0)
    assert sorted(outcome for outcome, _ in near.values()) == ["matches", "not_checked"]
    assert "bytes elsewhere: only `exhume verify` compares it" in near["sha256_data"][1]


def test_verdicts_are_reported_as_they_are_computed(tmp_path: Path) -> None:
    data = (SAMPLES / "zs/words-none.zs").read_bytes()
    with exhume.open(data) as archive:
        span = archive.sections().named("data-4").span
    (tmp_path / "bad.zs").write_bytes(flip(data, span.start + 16, 1))
    with asking(tmp_path / "bad.zs") as requested:
        before = requested.json("contents")
        assert (before["state"], before["summary"], before["findings"]) == ("waiting", "not checked yet", [])
        after = requested.checked()
        assert (after["verdict"], after["problems"]) == ("damaged", 1)
        assert after["generation"] > before["generation"]
        (finding,) = after["findings"]
        assert (finding["code"], finding["space"], finding["start"]) == ("ZS-202", 0, span.start)
        (number,) = requested.json("holding", space=0, at=span.start)
        assert requested.json("sections", first=number, count=1)[0]["bad"] is True
        assert requested.json("fields", section=number)["bad"] is True


@pytest.mark.parametrize(
    ("name", "query", "first"),
    [("clp_s/tiny.clps", "*", None), ("zs/words-deflate.zs", "a", "record"),
     ("leveldb/small", "k", "key"), ("caf/sorted.caf", "*", "name"), ("ark/log", "*", "time_ns"),
     ("kv_ir/small.clp", "*", None), ("clp_ir/small.clp", "*", None), ("data_bundle/zlib", "*", "name")],
)  # fmt: skip
def test_records_are_a_table(name: str, query: str, first: str | None) -> None:
    with asking(SAMPLES / name) as requested:
        all_ = requested.json("records", count=3)
        assert 0 < len(all_["rows"]) <= 3
        assert first is None or first in all_["columns"]
        assert all(len(row) == len(all_["columns"]) for row in all_["rows"])
        assert all_["hint"]
        second = requested.json("records", first=1, count=2)
        assert second["first"] == 1
        found = requested.json("records", query=query, count=5)
        assert len(found["rows"]) <= 5


def test_a_query_that_matches_and_one_that_is_wrong() -> None:
    with asking(CLPS) as requested:
        found = requested.json("records", query="level: ERROR", count=4)
        level = found["columns"].index("level")
        assert [row[level] for row in found["rows"]] == ["ERROR"] * 4
        assert found["more"] is True
        assert requested.json("records", query="level: ERROR", first=8, count=4)["more"] is False
        wrong = requested("api/records?query=((")
        assert wrong.status == 400
        assert json.loads(wrong.body)["message"]


def test_a_record_whose_only_key_is_text_is_no_bytes(tmp_path: Path) -> None:
    with exhume.clps.create(tmp_path / "a.clps") as writer:
        writer.add_file(io.BytesIO(b'{"text": "one"} {} {"text": "two", "user": {"text": "me"}}'))
    with asking(str(tmp_path / "a.clps")) as requested:
        found = requested.json("records", count=5)
    rows = [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]
    assert found["columns"] == ["text", "user"]
    assert sorted(str(row["text"]) for row in rows) == ["None", "one", "two"]
    assert [row["user"] for row in rows if row["text"] == "two"] == ["me"]


def test_the_next_page_continues_where_the_last_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    search = exploring.Records._search

    def counted(self: Any, archive: Any, query: str, put: Any) -> None:
        begun.append(query)
        search(self, archive, query, put)

    monkeypatch.setattr(exploring.Records, "_search", counted)
    with asking(CLPS) as requested:
        all_ = [row for at in range(0, 20, 5) for row in requested.json("records", first=at, count=5)["rows"]]
        assert begun == [""]
        assert requested.json("records", count=20)["rows"] == all_, "a page that was passed begins again"
        assert begun == ["", ""]
        assert requested.json("records", first=20, count=5)["rows"]
        assert requested.json("records", count=20)["rows"] == all_, "a page that is kept does not"
        assert begun == ["", ""]
        assert requested.json("records", query="level: ERROR", first=6, count=2)["rows"]
        assert begun == ["", "", "level: ERROR"]
        cursor = requested.shown._rows._cursor  # type: ignore[union-attr]
    assert not cursor.thread.is_alive()


def test_a_search_reads_only_as_far_as_requested() -> None:
    put: list[int] = []

    def search(take: Callable[[Any], None]) -> None:
        for number in range(100):
            put.append(number)
            take(number)
            if number == 20:
                raise exhume.ExhumeError("damaged here")

    cursor = exploring._Cursor(search)
    assert cursor.page(0, 5) == ([0, 1, 2, 3, 4], True)
    assert len(put) <= 7, "one more than the page, and one that waits"
    assert cursor.page(4, 5) is None
    assert cursor.page(18, 5) == ([18, 19, 20], True), "what was found before the damage is shown"
    with pytest.raises(exhume.ExhumeError, match="damaged here"):
        cursor.page(21, 5)
    cursor.close()
    cursor.thread.join(5)
    assert not cursor.thread.is_alive()


class Endless:
    """Searches for `endless` read on and on; all others are real.  `sign`: a file that is there when one reads."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, sign: Path | None = None) -> None:
        self.threads: list[threading.Thread] = []
        self.reading = threading.Event()
        monkeypatch.setattr(exploring, "POLL", 0.01)
        search = exploring.Records._search

        def searched(rows: Any, archive: Any, query: str, put: Callable[[Any], None]) -> None:
            self.threads.append(threading.current_thread())
            while query == "endless":
                archive.source.read_at(0, 1)
                self.reading.set()
                if sign is not None:
                    sign.touch()
            search(rows, archive, query, put)

        monkeypatch.setattr(exploring.Records, "_search", searched)

    def begin(self, ask: Callable[[], object]) -> threading.Thread:
        """Ask in a thread, and wait until the search reads."""
        self.reading.clear()
        thread = threading.Thread(target=ask)
        thread.start()
        assert self.reading.wait(10)
        return thread

    def assert_ended(self, *asking: threading.Thread) -> None:
        for thread in (*asking, *self.threads):
            thread.join(10)
            assert not thread.is_alive()


def test_a_newer_search_and_closing_stop_the_older(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = Endless(monkeypatch)
    reported: list[Answer] = []
    gone = threading.Event()
    with asking(CLPS) as requested:

        def ask(**more: Any) -> None:
            reported.append(requested("api/records?query=endless", **more))

        older = endless.begin(ask)
        assert len(requested.json("records", query="level: ERROR")["rows"]) == 11
        endless.assert_ended(older)
        assert (reported[0].status, b"another search began" in reported[0].body) == (400, True)
        left = endless.begin(lambda: ask(**{"waitress.client_disconnected": gone.is_set}))
        other = threading.Thread(target=ask)  # another page with the same query
        other.start()
        while requested.shown._rows._cursor._asking < 2:  # type: ignore[union-attr]
            time.sleep(0.001)
        gone.set()
        left.join(10)
        assert endless.threads[-1].is_alive()
        assert other.is_alive()
        assert len(requested.json("records", query="level: ERROR")["rows"]) == 11
        endless.assert_ended(other)
        endless.begin(lambda: ask(**{"waitress.client_disconnected": gone.is_set})).join(10)
        endless.assert_ended()
        last = endless.begin(ask)
    endless.assert_ended(last)
    assert [one.status for one in reported] == [400] * 5


def test_a_browser_that_goes_away_stops_its_search(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = Endless(monkeypatch)
    with serving(CLPS) as url:
        _, _, host, path = url.split("/", 3)
        connection = http.client.HTTPConnection(host, timeout=10)
        endless.begin(lambda: connection.request("GET", f"/{path}api/records?query=endless")).join()
        connection.close()
        endless.assert_ended()


def test_files_of_a_directory_are_read_until_stopped() -> None:
    stop = threading.Event()
    tree = stoppable(MemoryTree({"a": b"abc", "d/b": b"de"}, "there"), stop.is_set)
    assert isinstance(tree, Tree)
    assert (tree.names(), tree.name, tree.exists("a"), tree.listing()) == (
        ["a", "d/b"], "there", True, [("a", "file"), ("d", "directory")],
    )  # fmt: skip
    inner = tree.subtree("d").source("b")
    assert (tree.source("a").read_at(1, 2), inner.read_many([(0, 1), (1, 2)])) == (b"bc", [b"d", b"e"])
    stop.set()
    for read in (tree.source("a").read_at, inner.is_zero, tree.alone("d", "d").source("b").will_read):
        with pytest.raises(StoppedError):
            read(0, 1)


def test_what_is_saved(words: Requested) -> None:
    data = (SAMPLES / "zs/words-deflate.zs").read_bytes()
    whole = words("download")
    assert whole.body == data
    assert whole.headers["Content-Disposition"] == "attachment; filename*=UTF-8''words-deflate.zs.zs"
    (number,) = (n["section"] for n in [words.json("named", name="data-0")])
    with exhume.open(data) as archive:
        section = archive.sections().named("data-0")
        assert words(f"download?section={number}").body == data[section.span.start : section.span.end]
        assert words(f"download?section={number}&what=payload").body == section.load()  # type: ignore[misc]


def test_an_image_and_the_archives_in_it(tmp_path: Path) -> None:
    inner = (SAMPLES / "zs/words-none.zs").read_bytes()
    (tmp_path / "image.dd").write_bytes(bytes(5000) + inner + bytes(3000) + CLPS.read_bytes() + bytes(10))
    with asking(tmp_path / "image.dd") as requested:
        assert isinstance(requested.shown, ExploredImage)
        assert requested.json("contents")["count"] == 1, "nothing is known yet"
        contents = requested.checked()
        assert (contents["kind"], contents["summary"]) == ("image", "archives found: 2")
        keys = [one["archive"] for one in requested.json("sections") if "archive" in one]
        assert keys[0] == f"zs@5000+{len(inner)}"
        opened = requested.json("contents", archive=keys[0])
        assert (opened["format"], opened["spaces"][0]["base"]) == ("zs", 5000)
        assert requested(f"download?{urlencode({'archive': keys[0]})}").body == inner
        assert requested.json("state", archive=keys[0], check=1)["state"] in ("running", "done")
        assert requested.json("records", archive=keys[1], query="level: ERROR", count=1)["rows"]
        assert requested.json("sections", archive=keys[0], count=1)[0]["start"] == 5000


def test_a_file_by_its_specification(tmp_path: Path) -> None:
    (tmp_path / "one.bin").write_bytes(bytes(range(64)))
    (tmp_path / "bytes.ksy").write_text("meta: {id: bytes64}\nseq: [{id: head, type: u1}, {id: rest, size: 63}]\n")
    with asking(tmp_path / "one.bin", ksy=str(tmp_path / "bytes.ksy")) as requested:
        contents = requested.json("contents")
        assert (contents["format"], contents["verifies"], contents["searchable"]) == ("ksy:bytes64", None, False)
        assert [one["n"] for one in requested.json("fields", section=0)["tree"]["k"]] == ["head", "rest"]
        assert requested("api/records?query=x").status == 400


def test_a_remote_archive_is_checked_on_request() -> None:
    import fsspec

    data = (SAMPLES / "zs/words-none.zs").read_bytes()
    fsspec.filesystem("memory").pipe("/explored/words.zs", data)
    with asking("memory://explored/words.zs", verifies=True) as requested:
        contents = requested.json("contents")
        assert (contents["verifies"], contents["state"]) == (False, "waiting")
        assert requested("api/bytes?space=0&start=3&size=5").body == data[3:8]
        assert requested.json("fields", section=0)["tree"]
        assert requested.json("records", count=2)["rows"]
        assert requested.checked()["verdict"] == "ok"


def test_what_cannot_be_read_is_reported(tmp_path: Path) -> None:
    (tmp_path / "cut.zs").write_bytes((SAMPLES / "zs/words-none.zs").read_bytes()[:-30])
    with asking(tmp_path / "cut.zs") as requested:
        assert requested.checked()["verdict"] == "damaged"
        for number in range(requested.json("contents")["count"]):
            assert requested(f"api/fields?section={number}").status == 200


# -- over a socket


@contextmanager
def serving(target: Path, **how: Any) -> Iterator[str]:
    pytest.importorskip("waitress")
    from exhume.view.server import Server

    run = Run(quiet=True, color="never")
    shown = explored(run, str(target), **{"verifies": True, "image": False, "ksy": None, "imports": ()} | how)
    try:
        with Server(shown, opener(run, shown)) as server:
            thread = threading.Thread(target=server.run)
            thread.start()
            try:
                yield server.url
            finally:
                server.stop()
                thread.join()
    finally:
        shown.close()


def test_over_a_socket() -> None:
    with serving(CLPS) as url:
        assert url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(url + "api/contents") as answer:
            assert json.load(answer)["format"] == "clp-s"
            assert answer.headers["Server"] is None
        for request, status in (
            (urllib.request.Request(url + "api/contents", headers={"Host": "evil.example"}), 421),
            (urllib.request.Request(url + "api/contents", headers={"Origin": "http://evil.example"}), 403),
            (urllib.request.Request(url.rsplit("/", 2)[0] + "/api/contents"), 403),
            (urllib.request.Request(url, method="PUT"), 405),
        ):
            with pytest.raises(urllib.error.HTTPError) as error:
                urllib.request.urlopen(request)
            with error.value:
                assert error.value.code == status


def test_the_verb_prints_the_address_and_ends(exhume_cli: Cli) -> None:
    pytest.importorskip("waitress")
    ran = exhume_cli("explore", CLPS, "--no-browser", "--idle", 0.05, "--json", "-q")
    assert ran.code == 0
    reported = json.loads(ran.text)
    assert (reported["schema"], reported["format"]) == ("exhume.explore/1", "clp-s")
    assert reported["url"].startswith("http://127.0.0.1:")
    assert exhume_cli("explore", CLPS, "--import", ".").code == 2
    assert exhume_cli("explore", CLPS, "--image", "--format", "zs").code == 2


def test_a_file_that_is_only_similar_to_an_archive_may_be_an_image(tmp_path: Path, exhume_cli: Cli) -> None:
    pytest.importorskip("waitress")
    (tmp_path / "disk.img").write_bytes(bytes(512) + (SAMPLES / "caf/sorted.caf").read_bytes() + bytes(7))
    for target, hinted in ((tmp_path / "disk.img", True), (CLPS, False)):
        ran = exhume_cli("explore", target, "--no-browser", "--idle", 0.05)
        assert ran.code == 0
        assert ("--image searches it for archives" in ran.err) is hinted, ran.err


@pytest.mark.node
@pytest.mark.slow
def test_a_person_can_explore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In light, dark and on a telephone: an archive with records, an image of archives, a file by a specification."""
    endless = Endless(monkeypatch, tmp_path / "reading")
    data = (SAMPLES / "zs/words-none.zs").read_bytes()
    (tmp_path / "image.dd").write_bytes(bytes(5000) + flip(data, 400, 1) + bytes(3000) + CLPS.read_bytes())
    (tmp_path / "one.bin").write_bytes(bytes(64))
    spec = tmp_path / "bytes.ksy"
    spec.write_text("meta: {id: bytes64}\nseq: [{id: head, type: u1}, {id: rest, size: 63}]\n")
    with (
        serving(CLPS) as archive,
        serving(tmp_path / "image.dd") as image,
        serving(tmp_path / "one.bin", verifies=False, ksy=str(spec)) as specified,
    ):
        reported = run_browser("page_explore.mjs", archive, image, str(tmp_path), "level: ERROR", specified)
        assert endless.reading.is_set()
        endless.assert_ended()
    for mode in ("light", "dark", "telephone"):
        seen = reported[mode]
        assert (seen["errors"], seen["elsewhere"], seen["overflow"]) == ([], [], 0), mode
        assert seen["verdict"].startswith("ok")
        assert (seen["all"], seen["matching"], seen["said"]) == (50, 11, "0 to 10, the last")
        assert seen["closed"]
    use = reported["use"]
    assert use["given_up"] == "net::ERR_ABORTED"
    assert (use["errors"], use["named"]["selected"], use["named"]["cursor"]) == ([], "metadata", 64)
    assert use["saves"] == ["download?section=1", "download?section=1&what=payload"]
    assert use["field_saves"] == [f"download?section=1&start=64&end=284&name={use['field']}"]
    assert use["spaces"][1] == "payload of metadata (285 bytes)"
    with exhume.open(CLPS) as opened:
        assert use["payload"] == opened.sections().named("metadata").load()[:8].hex()  # type: ignore[misc]
    assert use["linked"]["selected"] == "/schema_tree"
    assert use["zoomed"].startswith("0x")
    assert reported["image"]["errors"] == []
    assert reported["image"]["inside"]["url"].startswith("archive=zs%405000")
    names = [next(word for word in ("head", "rest", "bytes64") if word in row) for row in reported["specified"]["rows"]]
    assert (names, reported["specified"]["errors"]) == (
        ["bytes64", "bytes64", "head", "rest"],
        [],
    )  # the only section is open
    if reported["axe"] is not None:
        assert {name: found for name, found in reported["axe"].items() if found} == {}
