"""Rerun: an importer of Ark logs (`rerun-importer-exhume` on PATH), which Rerun runs for every path that it is given.

    rerun robot/manifests/00000000-0000-4000-8000-000000000001
    rerun-importer-exhume robot > robot.rrd

Numbers and booleans of each channel become scalars over the log's steady clock (timeline `steady_time`), at
`/channel/field`; a field of a type without such a form has none, and is named on standard error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from exhume.engines.identify import identify, open_archive
from exhume.errors import ExhumeError
from exhume.tabular.arrow import import_pyarrow

INCOMPATIBLE = 66
"""The exit code by which an importer says that a path is for others."""

TIMELINE = "steady_time"  # name of the clock in Rerun
TIME = "time_ns"  # column of the time, nanoseconds of the log's clock


def main(arguments: list[str] | None = None) -> int:
    """Print a recording; the exit code is Rerun's own for a path that is not an Ark log, and 1 for a damaged log."""
    parser = argparse.ArgumentParser(description="Print an Ark log as a recording of Rerun.")
    parser.add_argument("path", type=Path, help="directory or manifest of a log")
    parser.add_argument("--application-id", "--opened-application-id", default="exhume")
    parser.add_argument("--recording-id", "--opened-recording-id")
    parser.add_argument("--entity-path-prefix", default="")
    given, _ = parser.parse_known_args(arguments)  # Rerun passes further arguments, and adds some over time
    try:
        found = identify(given.path)
        if not found or found[0].format != "ark":
            return INCOMPATIBLE
        import rerun

        with open_archive(given.path, format="ark") as log:
            recording = rerun.RecordingStream(given.application_id, recording_id=given.recording_id)
            recording.stdout()
            for name, make in log.arrow_tables().items():
                for field in send(recording, f"{given.entity_path_prefix}/{name.strip('/')}", make()):
                    sys.stderr.write(f"exhume: {name}: {field} has no form that Rerun shows\n")
            recording.flush()
    except ImportError:
        sys.stderr.write("exhume: the importer needs the Python package rerun-sdk next to exhume\n")
        return 1
    except (ExhumeError, OSError) as error:
        sys.stderr.write(f"exhume: {error}\n")
        return 1
    return 0


def send(recording: Any, path: str, reader: Any) -> list[str]:
    """Send the rows of a channel's table, batch by batch; return the fields that were left out."""
    import rerun

    omitted: dict[str, None] = {}
    for batch in reader:
        times = batch.column(batch.schema.get_field_index(TIME)).to_numpy().astype("timedelta64[ns]")
        for name, column in _leaves(batch):
            if name in (TIME, "latched"):  # columns of ours, not fields of the messages
                continue
            values = _numbers(column)
            if values is None:
                omitted[name] = None
                continue
            present = column.is_valid().to_numpy(zero_copy_only=False)
            rerun.send_columns(
                f"{path}/{name.replace('.', '/')}",
                indexes=[rerun.TimeColumn(TIMELINE, duration=times[present])],
                columns=rerun.Scalars.columns(scalars=values[present]),
                recording=recording,
            )
    return list(omitted)


def _leaves(batch: Any) -> Iterator[tuple[str, Any]]:
    """The columns of a batch by dotted name, those of structures in place of the structures."""
    types = import_pyarrow().types
    waiting = list(zip(batch.schema.names, batch.columns, strict=True))
    for name, column in waiting:  # also those that are appended on the way
        if types.is_struct(column.type):
            waiting += [(f"{name}.{field.name}", column.field(field.name)) for field in column.type]
        else:
            yield name, column


def _numbers(column: Any) -> Any:
    """The values as floats, arbitrary for null; None if they are not numbers."""
    pa = import_pyarrow()
    types, kind = pa.types, column.type
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        return column.cast(pa.uint8() if types.is_boolean(kind) else kind).to_numpy(zero_copy_only=False).astype(float)
    return None


if __name__ == "__main__":
    sys.exit(main())
