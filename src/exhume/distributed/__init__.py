"""Many archives at once, on this machine or on a dask cluster (extra `dask`): planning, running, and dask collections.

- `partitions` plans small picklable units of reading, each of which touches only its own bytes
- `to_bag`, `to_dataframe` give them to dask
- `run` applies a function to any number of units: in order, retried, in bounded memory, surviving killed workers
- `carve` searches one large image in spans, with the result of `exhume.carve`

Nothing here imports dask before it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from exhume.distributed.carving import carve
    from exhume.distributed.collections import Partition, partitions, to_bag, to_dataframe
    from exhume.distributed.runner import Result, run

# Public name: the module that it is imported from when it is first used.
_NAMES = {
    "Partition": "collections",
    "Result": "runner",
    "carve": "carving",
    "partitions": "collections",
    "run": "runner",
    "to_bag": "collections",
    "to_dataframe": "collections",
}

__all__ = ["Partition", "Result", "carve", "partitions", "run", "to_bag", "to_dataframe"]


def __getattr__(name: str) -> Any:
    """Import a name of the package when it is first used.  Raises `AttributeError` for others."""
    module = _NAMES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value
