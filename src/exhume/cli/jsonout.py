"""Kept for imports in flight."""

from exhume.jsonout import bytes_value, dumps, jsonable

__all__ = ["bytes_value", "dumps", "jsonable"]
