"""A real dask cluster of two processes: the same answers as here, also when a worker is killed on the way."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.distributed import carve, partitions, run, to_bag, to_dataframe
from exhume.errors import SourceError
from tests.many.test_many import files_below, zs

Cli = Callable[..., Any]

# dask's own habits, not ours: sockets and loops of workers that die, forks of its nannies.
pytestmark = [
    pytest.mark.xdist_group("dask"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:distributed.*"),
]


def slow_double(unit: int) -> int:
    time.sleep(0.02)
    return 2 * unit


def die_at(folder: str, unit: int) -> int:
    """Kills its worker at the first attempt at one unit, and at every attempt at another."""
    mark = Path(folder) / str(unit)
    if unit == 5 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if unit == 2:
        raise SourceError("the storage is away")
    return 2 * unit


def count_records(unit: Any) -> int:
    return sum(1 for _ in unit.records())


def verify_slowly(target: str) -> list[Any]:
    time.sleep(0.05)
    return [finding.to_dict() for finding in exhume.verify(target)]


@pytest.mark.slow
def test_a_killed_worker_changes_nothing(cluster: Any, archives: Path) -> None:
    """The same units here and there; one of the two worker processes is killed while they run."""
    targets = [str(path) for path in zs(archives)] * 5
    here = [(one.unit, one.value) for one in run(verify_slowly, targets)]
    there = []
    victims = [worker.pid for worker in cluster.workers.values()]
    assert len(victims) == 2
    for number, one in enumerate(run(verify_slowly, targets, cluster=cluster.scheduler_address, batch=1)):
        if number == 3:
            os.kill(victims[0], signal.SIGKILL)
        there.append((one.unit, one.value))
    assert there == here
    assert any(value for _, value in here)  # two archives have findings
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and len(cluster.scheduler_info["workers"]) < 2:
        time.sleep(0.1)
    assert {worker.pid for worker in cluster.workers.values()} != set(victims)


@pytest.mark.slow
def test_failures_and_deaths_are_reported(cluster: Any, tmp_path: Path) -> None:
    units = run(partial(die_at, str(tmp_path)), range(9), cluster=cluster.scheduler_address, retry_delay=0.01, batch=3)
    results = list(units)
    assert [one.unit for one in results] == list(range(9))
    assert [one.value for one in results if one.ok] == [2 * n for n in range(9) if n != 2]
    assert results[2].error is not None
    assert (results[2].error.code, results[2].attempts) == ("EX-601", 3)


@pytest.mark.slow
def test_a_client_of_the_caller_stays_open(cluster: Any) -> None:
    distributed: Any = pytest.importorskip("distributed")

    with distributed.Client(cluster, set_as_default=False) as client:
        progress: list[int] = []
        results = run(slow_double, range(20), cluster=client, progress=lambda done, total, unit: progress.append(done))
        assert [one.value for one in results] == [2 * n for n in range(20)]
        assert progress == list(range(1, 21))
        assert client.status == "running"


def test_a_cluster_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exhume_cli: Cli) -> None:
    monkeypatch.setattr("exhume.distributed.workers.CONNECT_TIMEOUT", 0.3)
    for address in ("tcp://127.0.0.1:9", str(tmp_path / "none.json")):
        with pytest.raises(SourceError) as caught:
            list(run(slow_double, [1], cluster=address))
        assert caught.value.code == "EX-608"
    assert exhume_cli("verify", "--cluster", "tcp://127.0.0.1:9", tmp_path).code == 1


@pytest.mark.slow
def test_scheduler_file(cluster: Any, tmp_path: Path) -> None:
    import json

    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"address": cluster.scheduler_address, "type": "Scheduler", "id": "x", "workers": {}}))
    assert [one.value for one in run(slow_double, [1, 2], cluster=str(file))] == [2, 4]


@pytest.mark.slow
def test_every_verb_answers_as_here(cluster: Any, archives: Path, exhume_cli: Cli, tmp_path: Path) -> None:
    address = ["--cluster", cluster.scheduler_address]
    chunks, logs = sorted(archives.glob("c*.caf")), sorted(archives.glob("l*.clps"))
    everything = [*zs(archives), *chunks, *logs, archives / "none.zs"]
    image = tmp_path / "disk.img"
    image.write_bytes(b"\0" * 3000 + b"".join(path.read_bytes() for path in zs(archives)) + b"\0" * 5000)
    calls: list[list[Any]] = [
        ["verify", *everything],
        ["verify", "--json", *everything],
        ["search", "--json", *logs, archives / "none.clps", "n > 2"],
        ["search", "--count", *logs, "n > 2"],
        ["search", *[path for path in zs(archives) if path.stem not in ("z03", "z07")], "key0"],
        ["carve", "--json", "--chunk-size", "3K", image],
        ["carve", image, zs(archives)[0]],
    ]
    for call in calls:
        here, there = exhume_cli(*call), exhume_cli(call[0], *address, *call[1:])
        assert (here.code, here.out) == (there.code, there.out), call
    writing: list[list[Any]] = [
        ["salvage", "--json", *zs(archives), archives / "none.zs"],
        ["export", "--json", "--to", "tar", *chunks],
    ]
    for call in writing:
        here = exhume_cli(*call, "-o", tmp_path / "here" / call[0])
        there = exhume_cli(*call, "-o", tmp_path / "thar" / call[0], *address)
        assert here.code == there.code
        assert here.text.replace("/here/", "/thar/") == there.text
    assert files_below(tmp_path / "here") == files_below(tmp_path / "thar") != {}
    here = exhume_cli("catalog", "build", "--json", tmp_path / "a.db", *chunks)
    there = exhume_cli("catalog", "build", "--json", tmp_path / "b.db", *chunks, *address)
    assert (here.code, here.text.replace("a.db", "b.db")) == (there.code, there.text)
    one = exhume_cli("verify", *address, archives / "none.zs")
    assert one.code == 1


def test_carving_in_spans(cluster: Any, archives: Path, tmp_path: Path) -> None:
    image = tmp_path / "disk.img"
    image.write_bytes(b"\1" * 777 + b"".join(path.read_bytes() for path in sorted(archives.iterdir())))
    assert list(carve(str(image), span=4099, cluster=cluster.scheduler_address)) == list(exhume.carve(image))


@pytest.mark.slow
def test_partitions_bags_and_frames(cluster: Any, archives: Path) -> None:
    distributed: Any = pytest.importorskip("distributed")

    targets = sorted(archives.glob("l*.clps"))
    results = run(count_records, partitions(targets), cluster=cluster.scheduler_address)
    assert [one.value for one in results] == [6] * 6
    with distributed.Client(cluster, set_as_default=False) as client:
        total = client.compute(to_bag(targets).pluck("n").sum()).result()
        assert total == 6 * 15
        frame = client.compute(to_dataframe(targets)).result()
        assert sorted(set(frame["seed"])) == list(range(6))
