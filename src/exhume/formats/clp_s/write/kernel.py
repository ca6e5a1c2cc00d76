"""Chooses the encoder: the compiled one when it was built, else the interpreted one."""

from __future__ import annotations

from typing import Any

from exhume.formats.clp_s.write.encoder import Encoder
from exhume.formats.clp_s.write.pykernel import PureEncoder, clps_count_lines
from exhume.native.compiled import KERNEL

count_lines = clps_count_lines if KERNEL is None else KERNEL.clps_count_lines


def make_encoder(**options: Any) -> Encoder:
    """An encoder: the compiled one when it was built, else the interpreted one."""
    encoder: Encoder = (PureEncoder if KERNEL is None else KERNEL.ClpsEncoder)(**options)
    return encoder
