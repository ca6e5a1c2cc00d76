"""xarray opens a channel of an Ark log, by name of the engine and by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
import xarray

from exhume.errors import ExhumeError, QueryError
from exhume.formats.ark.writer import ArkWriter
from exhume.plugins.xarray import ExhumeBackend

SCHEMA = """
schema Wheel { double rpm; }
schema State {
    array<float, 3> force;
    array<array<int16, 2>, 2> grid;
    double heading;
    bool valid;
    string name;
    arraylist<uint8> bytes;
    Wheel left;
    [[optional]] double speed;
}
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    with ArkWriter(tmp_path / "log") as writer:
        channel = writer.channel("/state", "State", SCHEMA)
        for number in range(5):
            channel.write(
                number * 10,
                {
                    "force": [number, number + 0.5, -number],
                    "grid": [[number, 1], [2, 3]],
                    "heading": number / 4,
                    "valid": number % 2 == 0,
                    "name": f"n{number}",
                    "bytes": [1] * number,
                    "left": {"rpm": number * 2.0},
                    "speed": None if number else 1.0,
                },
            )
    return tmp_path / "log"


@pytest.mark.parametrize("options", [{"engine": ExhumeBackend}, {"engine": "exhume"}, {}])
def test_a_channel_is_a_dataset_over_time(log: Path, options: dict[str, Any]) -> None:
    found = xarray.open_dataset(log, **options)
    assert found["time_ns"].values.tolist() == [0, 10, 20, 30, 40]
    assert found["force"].dims == ("time_ns", "force_1")
    assert found["force"].dtype == numpy.float32
    assert found["force"].values.tolist() == [[number, number + 0.5, -number] for number in range(5)]
    assert found["grid"].shape == (5, 2, 2)
    assert found["grid"].sel(time_ns=30).values.tolist() == [[3, 1], [2, 3]]
    assert found["left.rpm"].values.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0]
    assert found["valid"].values.tolist() == [True, False, True, False, True]
    assert float(found["heading"].sel(time_ns=slice(10, 30)).mean()) == 0.5
    assert found.attrs["channel"] == "/state"
    assert found.attrs["omitted"] == ["name", "bytes", "speed"]


def test_times_and_variables_can_be_chosen(log: Path, samples: Path) -> None:
    some = xarray.open_dataset(log, engine=ExhumeBackend, start_ns=10, stop_ns=30, drop_variables=["grid", "latched"])
    assert some["time_ns"].values.tolist() == [10, 20]
    assert set(some.data_vars) == {"force", "heading", "valid", "left.rpm"}
    pose = xarray.open_dataset(samples / "ark/log", engine=ExhumeBackend, channel="/nav/pose")
    assert pose["at.x"].shape == (60,)


def test_mistakes_are_reported(log: Path, samples: Path) -> None:
    with pytest.raises(QueryError, match="choose one"):
        xarray.open_dataset(samples / "ark/log", engine=ExhumeBackend)
    with pytest.raises(QueryError, match="no arrays over time"):
        xarray.open_dataset(samples / "zs/words-none.zs", engine=ExhumeBackend)
    with pytest.raises(ExhumeError, match="no channel of that name"):
        xarray.open_dataset(log, engine=ExhumeBackend, channel="/stat")
    assert not ExhumeBackend().guess_can_open(samples / "zs/words-none.zs")
    assert not ExhumeBackend().guess_can_open("nowhere")
