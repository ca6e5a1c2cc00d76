"""What reading costs, for code that plans its reads.  Nothing else distinguishes local files from remote ones."""

from __future__ import annotations

from typing import NamedTuple


class Cost(NamedTuple):
    """How to read from a source or directory; sizes are bytes.

    `wait`: how many bytes could be read in the time that one more read takes; 0 where a read waits for nothing.
    `piece`: how large the reads of a stream should be at least.
    `together`: how many reads are worth making at the same time.
    """

    wait: int
    piece: int
    together: int


AT_HAND = Cost(wait=0, piece=0, together=1)
"""Memory and local files."""

BEHIND_A_NETWORK = Cost(wait=64 << 10, piece=8 << 20, together=16)
"""Object stores and web servers: nearly everywhere a request costs more than 64 KiB do."""
