"""Every writer writes the same bytes everywhere: those of `tests/digests.json`."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from tests.reproduce import PROCESSORS, TABLE, archives, elsewhere, isal_digest, libraries, played, report
from tests.sizes import size

RECORDED: dict[str, Any] = json.loads(TABLE.read_text(encoding="utf-8"))

# Switches off what libraries choose by processor: glibc's string functions, numpy, Arrow, OpenSSL's hashes.
PLAIN_PROCESSOR = {
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX2,-AVX,-ERMS,-BMI2",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "ARROW_USER_SIMD_LEVEL": "NONE",
    "OPENSSL_ia32cap": "~0x200000200000000:~0x20000128",
}
ENVIRONMENTS: dict[str, tuple[int, dict[str, str]]] = {
    "other jobs, hash seed, locale, time zone, processor": (
        3,
        {"PYTHONHASHSEED": "77", "LC_ALL": "tr_TR.UTF-8", "TZ": "Pacific/Kiritimati", **PLAIN_PROCESSOR},
    ),
    "interpreted kernel": (2, {"EXHUME_PURE": "1", "PYTHONHASHSEED": "0", "LC_ALL": "C", "TZ": "America/St_Johns"}),
}


def unlike(found: dict[str, str], what: str) -> list[str]:
    """The archives that differ from the record.  If a library's version is not the one that made the digest, bytes
    cannot be compared: the test that reads the archive compares its content.
    """
    here = libraries()
    known = RECORDED["archives"]
    same = [name for name in known if all(here[by] == RECORDED["libraries"][by] for by in known[name]["by"])]
    chosen = same if what == "sha256" else list(known)
    return [name for name in chosen if found[name] != known[name][what]]


@pytest.fixture(scope="module")
def here() -> dict[str, Any]:
    return report(1, contents=True)


def test_the_table_has_every_writer_and_codec() -> None:
    from exhume.formats.ark.layout import CODEC_NUMBERS
    from exhume.formats.clp_s.write.options import VERSIONS
    from exhume.formats.data_bundle.writer import METHODS
    from exhume.formats.kv_ir.writer import CODECS
    from exhume.formats.zs.encode import LEVELS

    assert {name: tuple(row["by"]) for name, row in RECORDED["archives"].items()} == archives()
    wanted = {f"zs {codec}" for codec in LEVELS} | {f"databundle {codec}" for codec in METHODS}
    wanted |= {f"ark {codec}" for codec in CODEC_NUMBERS} | {f"clp-s {version}" for version in VERSIONS}
    wanted |= {f"{format} {codec}" for codec in CODECS for format in ("kv-ir", "clp-ir")}
    assert wanted - set(archives()) == set()


@pytest.mark.slow
def test_what_is_written_here_is_what_was_recorded(here: dict[str, Any]) -> None:
    assert unlike(here["bytes"], "sha256") == []
    assert unlike(here["contents"], "content") == []


@pytest.mark.parametrize("name", ENVIRONMENTS)
@pytest.mark.slow
def test_the_environment_changes_nothing(here: dict[str, Any], name: str) -> None:
    jobs, environment = ENVIRONMENTS[name]
    found = elsewhere(jobs, **environment)
    assert found["bytes"] == here["bytes"]
    assert found["isal"] == here["isal"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(PROCESSORS)[: size(1, 2)])
def test_the_processor_changes_nothing(here: dict[str, Any], kind: str) -> None:
    if shutil.which("qemu-x86_64") is None:
        pytest.skip("plays another processor with qemu-x86_64 (the package qemu-user)")
    found = played(kind)
    assert found["bytes"] == here["bytes"]
    if libraries()["isal"] == RECORDED["libraries"]["isal"]:
        assert found["isal"] == RECORDED["isal"][kind]


def test_the_one_level_that_depends_on_the_processor() -> None:
    """Its bytes are those of one of the kinds of processors that were recorded."""
    if libraries()["isal"] == RECORDED["libraries"]["isal"]:
        assert isal_digest() in RECORDED["isal"].values()
    assert len(set(RECORDED["isal"].values())) == 3
