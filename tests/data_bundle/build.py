"""Bundles of a few members, written in one call."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from exhume.formats.data_bundle.writer import DataBundleWriter


def pack_members(
    target: str | os.PathLike[str], members: Mapping[str, bytes], folders: Iterable[str] = (), **options: Any
) -> None:
    """Write a bundle of these files and directories in one call."""
    with DataBundleWriter(target, **options) as writer:
        for name in folders:
            writer.add_directory(name)
        for name, data in members.items():
            writer.add(name, data)
