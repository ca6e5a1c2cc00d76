"""Recoding: the same bytes inside a zstd frame, or as they are; as of KV-IR."""

from __future__ import annotations

from exhume.formats.kv_ir.recode import recode

__all__ = ["recode"]
