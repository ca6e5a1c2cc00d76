"""Several targets: names before matches, counts with a total, one line at the end, and quiet where nothing matches."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.remote.server import serving

Cli = Callable[..., Any]

QUERIES = {
    "clp_s/demo.clps": ("name: *", 3),
    "zs/words-none.zs": ("late", 5),
    "ark/log": ("*", None),
    "kv_ir/small.clp": ("*", 4),
    "clp_ir/small.clp": ("*", 5),
    "leveldb/small": ("", 3),
}


@pytest.fixture(params=sorted(QUERIES))
def pair(request: Any, samples: Path, tmp_path: Path) -> tuple[list[Path], str, int]:
    """Two copies of an archive, a query, and how many matches it has in each."""
    sample = samples / request.param
    query, count = QUERIES[request.param]
    targets = [tmp_path / f"one-{sample.name}", tmp_path / f"two-{sample.name}"]
    for target in targets:
        (shutil.copytree if sample.is_dir() else shutil.copyfile)(sample, target)
    return targets, query, count or -1


def test_matches_follow_the_names_of_their_targets(pair: tuple[list[Path], str, int], exhume_cli: Cli) -> None:
    targets, query, _ = pair
    alone = [exhume_cli("search", target, query).text.splitlines() for target in targets]
    assert alone[0]
    assert alone[0] == alone[1]
    expected = [f"{target}:{line}" for target, lines in zip(targets, alone, strict=True) for line in lines]
    both = exhume_cli("search", *targets, query)
    assert both.text.splitlines() == expected
    assert both.err.endswith("2 of 2 targets with matches\n")
    assert exhume_cli("search", "-h", *targets, query).text.splitlines() == alone[0] * 2
    assert exhume_cli("search", "--with-filename", targets[1], query).text.splitlines() == expected[len(alone[0]) :]


def test_counts_are_for_each_target_with_a_total(pair: tuple[list[Path], str, int], exhume_cli: Cli) -> None:
    targets, query, count = pair
    alone = int(exhume_cli("search", targets[0], query, "--count").text)
    assert count in (-1, alone)
    lines = [f"{targets[0]}: {alone}", f"{targets[1]}: {alone}", f"total: {alone * 2}"]
    assert exhume_cli("search", *targets, query, "--count").text.splitlines() == lines
    document = json.loads(exhume_cli("search", *targets, query, "--count", "--json").out)
    assert document["count"] == alone * 2
    assert document["targets"] == [{"target": str(target), "count": alone} for target in targets]


def test_names_do_not_depend_on_the_number_of_jobs(samples: Path, exhume_cli: Cli) -> None:
    words = [samples / "zs/words-none.zs", samples / "zs/words-none.zs"]
    for more in ([], ["--count"]):
        alone, both = (exhume_cli("search", *words, "late", *more, "--jobs", jobs) for jobs in ("1", "2"))
        assert (alone.code, alone.out, alone.err) == (both.code, both.out, both.err)


def test_targets_without_a_match_are_silent(samples: Path, tmp_path: Path, exhume_cli: Cli) -> None:
    targets = [samples / "clp_s/demo.clps", samples / "clp_s/tiny.clps"]
    ran = exhume_cli("search", *targets, "nam: plain")
    assert ran.text == ""
    assert ran.err.count("\n") == 3
    assert "no record has a column nam" in ran.err
    assert "0 of 2 targets with matches" in ran.err
    assert exhume_cli("search", *targets, "a: 1").err == "exhume: 1 of 2 targets with matches\n"
    loud = exhume_cli("search", *targets, "a: 1", "-v").err
    assert f"{targets[0]}: no record has a column a" in loud
    assert exhume_cli("search", targets[0], "name: absent").err == ""
    assert "nothing to read" in exhume_cli("search", targets[0], "name: absent", "-v").err


def test_a_column_that_no_record_has_is_not_an_empty_object(samples: Path, exhume_cli: Cli) -> None:
    demo, tiny = samples / "clp_s/demo.clps", samples / "clp_s/tiny.clps"
    ran = exhume_cli("search", demo, "*", "--projection", "nam")
    assert (ran.code, ran.text) == (1, "")
    assert "no record has a column nam (did you mean 'name'?)" in ran.err
    ran = exhume_cli("search", demo, tiny, "*", "--projection", "a", "-q")
    assert ran.text == f'{tiny}:{{"a":1}}\n{tiny}:{{"a":2}}\n'
    assert "no record has a column nam" in exhume_cli("search", demo, "*", "--projection", "nam,name").err


def test_names_are_only_before_lines(samples: Path, exhume_cli: Cli) -> None:
    words = [samples / "zs/words-none.zs", samples / "zs/words-none.zs"]
    assert str(words[0]) not in exhume_cli("search", *words, "late", "--terminator", "\\0").text
    assert exhume_cli("search", "-H", *words, "late", "--terminator", "\\0").code == 2
    assert exhume_cli("search", "-H", *words, "late", "--json").code == 2
    assert len(exhume_cli("search", *words, "late", "--terminator", "\\n").text.splitlines()) == 10


@pytest.mark.parametrize("verb", ["info", "list"])
def test_info_and_list_take_several_targets(verb: str, samples: Path, exhume_cli: Cli) -> None:
    targets = [samples / "zs/words-none.zs", samples / "clp_s/tiny.clps"]
    alone = [exhume_cli(verb, target).text for target in targets]
    text = "".join(f"{target}:\n{one}\n" for target, one in zip(targets, alone, strict=True))
    ran = exhume_cli(verb, targets[0], "absent", targets[1])
    assert (ran.code, ran.text) == (1, text)
    assert "absent: No such file or directory [EX-601]\n" in ran.err
    assert "; use --recursive for the archives inside" not in ran.err
    ran = exhume_cli(verb, targets[0], samples / "zs")
    assert (ran.code, ran.err.split("; ")[1]) == (
        1,
        "use --format FORMAT to choose one, or use --recursive for the archives inside [EX-101]\n",
    )
    documents = exhume_cli(verb, *targets, "--json").text
    decoder, found = json.JSONDecoder(), []
    while documents.strip():
        document, end = decoder.raw_decode(documents)
        found.append(document["target"])
        documents = documents[end:].lstrip()
    assert found == list(map(str, targets))
    assert exhume_cli(verb).code == 2


def test_several_targets_are_not_exported_to_a_file(samples: Path, tmp_path: Path, exhume_cli: Cli) -> None:
    words = samples / "zs/words-none.zs"
    ran = exhume_cli("export", words, words, "--to", "csv", "-o", tmp_path / "one.csv")
    assert ran.code == 2
    assert f"-o {tmp_path}/one/" in ran.err.replace("\n", "")
    assert not (tmp_path / "one.csv").exists()
    ran = exhume_cli("export", words, words, "--to", "csv", "-o", tmp_path / "one")
    assert "2 of 2 targets exported" in ran.err
    assert len(list((tmp_path / "one").iterdir())) == 2


def test_the_ending_of_an_output_states_what_it_is(samples: Path, tmp_path: Path, exhume_cli: Cli) -> None:
    words = samples / "zs/words-none.zs"
    assert exhume_cli("export", words, "-o", tmp_path / "named.csv").code == 0
    assert exhume_cli("export", words, "--to", "csv", "-o", tmp_path / "told").code == 0
    assert (tmp_path / "named.csv").read_bytes() == (tmp_path / "told").read_bytes() != b""
    for output in ("-", tmp_path / "one.data", tmp_path / "csv"):
        ran = exhume_cli("export", words, "-o", output)
        assert (ran.code, "without --to, FILE has to end in one of arrow, csv, jsonl" in ran.err) == (2, True)
    ran = exhume_cli("export", words, words, "-o", f"{tmp_path}/all/")
    assert (ran.code, "Error: a directory needs --to: one of arrow, csv, " in ran.err) == (2, True)


def test_verify_ends_with_a_total(samples: Path, exhume_cli: Cli) -> None:
    words = samples / "zs/words-none.zs"
    assert exhume_cli("verify", words, words).text.splitlines()[-1] == "total: ok (2 ok)"


def test_a_query_that_names_a_file_is_reported(exhume_cli: Cli, samples: Path) -> None:
    archive = str(samples / "clp_s" / "tiny.clps")
    alone = exhume_cli("search", archive, "--count")
    assert alone.code == 2
    assert "no QUERY: it follows the targets" in alone.err
    both = exhume_cli("search", archive, archive, "--count")
    assert both.code == 0
    assert "is also the name of a file: the last argument is the query" in both.err


@pytest.mark.parametrize(
    "words",
    [
        ["list", "--jobs", "2", "ZS", "ZS"],
        ["list", "--all-versions", "LDB", "ZS"],
        ["list", "-r", "--sections", "--long", "ZS"],
        ["list", "--sections", "--long", "ZS", "ZS"],
        ["info", "--recovery", "best-efforts", "LDB", "ZS"],
        ["search", "--values", "LDB", "ZS", "a"],
        ["export", "--to", "jsonl", "--all-versions", "-o", "OUT", "LDB", "ZS"],
        ["export", "--to", "parquet", "-o", "OUT/one.parquet", "ZS", "ZS"],
        ["salvage", "--as-files", "--jsonl", "-o", "OUT", "ZS", "ZS"],
        ["salvage", "--report", "x.json", "-o", "OUT", "ZS", "ZS"],
        ["verify", "--jobs", "-1", "ZS", "ZS"],
        ["identify", "--stats", "ZS", "ZS"],
        ["cat", "-r", "--all-versions", "BOTH"],
    ],
    ids=" ".join,
)
def test_a_usage_error_comes_before_any_output(
    words: list[str], samples: Path, tmp_path: Path, exhume_cli: Cli
) -> None:
    """The first target may be one that the options apply to."""
    (tmp_path / "both").mkdir()
    shutil.copytree(samples / "leveldb/small", tmp_path / "both/a")
    shutil.copyfile(samples / "zs/words-none.zs", tmp_path / "both/b.zs")
    named = {
        "ZS": tmp_path / "both/b.zs",
        "LDB": tmp_path / "both/a",
        "BOTH": tmp_path / "both",
        "OUT": tmp_path / "out",
    }
    ran = exhume_cli(*[str(named.get(word, word)).replace("OUT", str(named["OUT"])) for word in words])
    assert (ran.code, ran.out) == (2, b"")
    assert not named["OUT"].exists()


def test_a_target_without_output_keeps_its_heading(samples: Path, exhume_cli: Cli) -> None:
    targets = [samples / "caf/empty.caf", samples / "zs/words-none.zs"]
    assert exhume_cli("list", targets[0]).text == ""
    assert exhume_cli("list", *targets).text.startswith(f"{targets[0]}:\n\n{targets[1]}:\n")


def test_urls_and_files_are_targets_together(samples: Path, tmp_path: Path, exhume_cli: Cli) -> None:
    words, other = samples / "zs/words-none.zs", samples / "clp_s/demo.clps"
    with serving({"a.zs": words.read_bytes(), "b.clps": other.read_bytes()}) as served:
        first, second = f"{served.url}/a.zs", f"{served.url}/b.clps"
        ran = exhume_cli("verify", first, second, words, f"{served.url}/absent")
        assert (ran.code, ran.text.splitlines()[-1]) == (1, "total: incomplete (3 ok, 1 incomplete)")
        alone = exhume_cli("search", words, "late").text.splitlines()
        expected = [f"{target}:{line}" for target in (first, words) for line in alone]
        assert exhume_cli("search", first, words, "late").text.splitlines() == expected
        assert exhume_cli("search", first, words, "late", "--count").text.splitlines()[-1] == "total: 10"
        assert exhume_cli("list", first, second).text.startswith(f"{first}:\n")
        assert exhume_cli("export", first, words, "--to", "jsonl", "-o", tmp_path / "out").code == 0
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.jsonl", "words-none.jsonl"]
        for wrong in (["search", first, second, "late"], ["list", "--all-versions", first, second]):
            ran = exhume_cli(*wrong)
            assert (ran.code, ran.out) == (2, b"")
