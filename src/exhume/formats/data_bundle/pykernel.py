"""Pure-Python form of the DataBundle part of `exhume.native._kernel`: the rows of an index, one at a time.

It reads none of them, and leaves all to the functions of `index`, which the compiled kernel is compared with: None
always means that these have to be called.
"""

from __future__ import annotations

from typing import Any


def bundle_file_row(key: bytes, value: bytes, row_type: type, key_type: type, metadata_type: type) -> Any:
    """Return the row of a file or directory, of these types, as `index.parse_file_row` does.

    None for one that has to be read there, since it breaks a rule or is unusual: its value contains more than known
    numbers, or its key has a zero byte in a name.
    """


def bundle_record_row(key: bytes, value: bytes, row_type: type, metadata_type: type) -> Any:
    """Return the row of a record as `index.parse_record_row` does; None as for `bundle_file_row`."""
