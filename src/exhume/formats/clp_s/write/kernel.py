"""Chooses the encoder: the compiled one when it was built, else its interpreted twin."""

from __future__ import annotations

from typing import Any

from exhume.formats.clp_s.write.encoder import Encoder
from exhume.formats.clp_s.write.pykernel import PureEncoder
from exhume.native.compiled import KERNEL


def make_encoder(**options: Any) -> Encoder:
    """An encoder: the compiled one when it was built, else its twin."""
    encoder: Encoder = (PureEncoder if KERNEL is None else KERNEL.ClpsEncoder)(**options)
    return encoder
