"""LevelDB and RocksDB at work: what the conformance tests and `make_real.py` write with them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.oracles import need

Rows = dict[bytes, bytes]


def random_writes(seed: int, count: int) -> Iterator[tuple[bytes, bytes | None]]:
    """Put, overwrite and delete (None) over a small key space, with values that compress and values that do not."""
    rng = random.Random(seed)
    for _ in range(count):
        key = b"key-%05d" % rng.randrange(count // 3) if rng.random() < 0.9 else rng.randbytes(rng.randrange(1, 30))
        if rng.random() < 0.2:
            yield key, None
        else:
            size = rng.choice((0, 1, 20, 100, 1000))
            yield key, (b"value %d " % size * size)[:size] if rng.random() < 0.7 else rng.randbytes(size)


def rocksdb_options(compression: str, format_version: int, **more: Any) -> Any:
    rocksdict = need("rocksdict")
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_compression_type(getattr(rocksdict.DBCompressionType, compression)())
    options.set_write_buffer_size(200_000)
    table = rocksdict.BlockBasedOptions()
    table.set_format_version(format_version)
    if "checksum" in more:
        table.set_checksum_type(getattr(rocksdict.ChecksumType, more["checksum"])())
    if more.get("two_level"):
        table.set_index_type(rocksdict.BlockBasedIndexType.two_level_index_search())
        table.set_bloom_filter(10, False)
        table.set_partition_filters(True)
        table.set_metadata_block_size(256)
    if more.get("hash_index"):
        table.set_data_block_index_type(rocksdict.DataBlockIndexType.binary_and_hash())
    options.set_block_based_table_factory(table)
    return options


def write_rocksdb(path: Path, options: Any, seed: int, count: int = 3000) -> Rows:
    rocksdict = need("rocksdict")
    database = rocksdict.Rdict(str(path), options)
    for number, (key, value) in enumerate(random_writes(seed, count)):
        if value is None:
            database.delete(key)
        else:
            database[key] = value
        if number == count // 2:
            database.flush()
            database.compact_range(None, None)
        elif number == count * 3 // 4:
            database.flush()
    rows = dict(database.items())
    database.close()
    return rows
