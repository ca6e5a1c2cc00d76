"""The installed kernel, and the versions of the libraries that decode, checksum and compress."""

from __future__ import annotations

import importlib.metadata
import platform
import zlib
from dataclasses import dataclass
from typing import Any

import zstandard

from exhume import __version__
from exhume.native import STATE

KERNELS = {
    "compiled": "compiled",
    "forced": "interpreted, because EXHUME_PURE is set",
    "stale": "interpreted, because the compiled module was built from an older source: rebuild it with `make kernel`",
    "broken": "interpreted, because the compiled module cannot be loaded: rebuild it with `make kernel`",
    "partial": "compiled, except for readers built from older specifications: rebuild them with `make kernel`",
    "absent": "interpreted, because there is no compiled module",
}
"""The description of each state of the kernel."""

# Libraries whose versions are reported, as named on PyPI.
PACKAGES = (
    "cramjam", "deflate", "fastcrc", "imagecodecs", "isal", "kaitaistruct", "msgpack", "numpy", "pyarrow", "pyperscan",
    "textual", "xxhash", "zstandard",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class About:
    """This installation: `kernel` is one of `KERNELS`; a library that is not installed has no version.

    `liblzma`, `libzstd` and `zlib` are the C libraries that run below `lzma`, `zstandard` and `zlib`.
    """

    version: str
    python: str
    platform: str
    kernel: str
    libraries: dict[str, str | None]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form documented for `exhume formats --json`."""
        return {name: getattr(self, name) for name in self.__slots__}

    def lines(self) -> list[str]:
        """Return this installation as lines of text for people."""
        installed = [f"{name} {version}" for name, version in self.libraries.items() if version is not None]
        missing = [name for name in PACKAGES if self.libraries[name] is None]
        found = [
            f"python: {self.python} ({self.platform})",
            f"kernel: {KERNELS[self.kernel]}",
            f"libraries: {', '.join(installed)}",
        ]
        return found + ([f"not installed: {', '.join(missing)}"] if missing else [])


def about() -> About:
    """Examine what is installed; imports only the libraries that decoding needs anyway."""
    libraries: dict[str, str | None] = {name: _installed(name) for name in PACKAGES}
    libraries["libzstd"] = ".".join(map(str, zstandard.ZSTD_VERSION))
    libraries["liblzma"] = _liblzma()
    libraries["zlib"] = zlib.ZLIB_RUNTIME_VERSION
    python = f"{platform.python_implementation()} {platform.python_version()}"
    machine = f"{platform.system()} {platform.machine()}"
    return About(__version__, python, machine, STATE, dict(sorted(libraries.items())))


def _installed(name: str) -> str | None:
    """Return the version of an installed package; None if it is not installed."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _liblzma() -> str | None:
    """The version of liblzma below the standard library's `lzma`, which Python does not expose; None if built in."""
    import _lzma
    import ctypes

    try:
        # The extension module, loaded by ctypes, provides access to the C library that it is linked with.
        version_string = ctypes.CDLL(_lzma.__file__).lzma_version_string
    except (AttributeError, OSError):
        return None
    version_string.restype = ctypes.c_char_p
    found: bytes = version_string()
    return found.decode("ascii")
