"""Wheels and sdists as files: read, written the same every time, and what they must and must not hold."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import tarfile
import time
import zipfile
from pathlib import Path

Files = dict[str, bytes]


def read_wheel(path: Path) -> Files:
    """The files of a wheel by name."""
    with zipfile.ZipFile(path) as wheel:
        return {name: wheel.read(name) for name in wheel.namelist() if not name.endswith("/")}


def info_folder(files: Files) -> str:
    """The name of the `.dist-info` folder, with a slash."""
    return next(name for name in files if name.endswith(".dist-info/METADATA")).removesuffix("METADATA")


def record_of(files: Files) -> bytes:
    """`RECORD`: every file with its digest and size."""
    own = f"{info_folder(files)}RECORD"
    lines = []
    for name in sorted(files.keys() - {own}):
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(files[name])}\n")
    return "".join([*lines, f"{own},,\n"]).encode()


def write_wheel(path: Path, files: Files, epoch: int) -> None:
    """Write a wheel whose bytes follow from the files and the time; `RECORD` is made here."""
    files = files | {f"{info_folder(files)}RECORD": record_of(files)}
    moment = time.gmtime(max(epoch, 315532800))[:6]  # 1980, where time begins for zip
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name in sorted(files, key=lambda name: (".dist-info/" in name, name)):  # metadata last, as the format asks
            entry = zipfile.ZipInfo(name, moment)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
            wheel.writestr(entry, files[name])


def settle_sdist(path: Path, epoch: int) -> None:
    """Write an sdist again, so that its bytes follow from its files and the time."""
    with tarfile.open(path) as old:
        found = [
            (entry, file.read() if (file := old.extractfile(entry)) else b"") for entry in old if not entry.isdir()
        ]
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as new:
        for entry, data in sorted(found, key=lambda pair: pair[0].name):
            made = tarfile.TarInfo(entry.name)
            made.size, made.mtime, made.mode = len(data), epoch, 0o755 if entry.mode & 0o100 else 0o644
            if entry.issym():
                made.type, made.linkname, made.size = tarfile.SYMTYPE, entry.linkname, 0
            new.addfile(made, io.BytesIO(data))
    path.write_bytes(gzip.compress(out.getvalue(), mtime=epoch))


def faults(files: Files) -> list[str]:
    """The problem with the contents of a wheel; nothing where all is as it should be."""
    info = info_folder(files)
    data = info.replace(".dist-info", ".data")
    found = [
        f"holds {name}"
        for name in files
        if name.endswith((".c", ".pyx", ".pxi", ".pyc")) or name.split("/")[0] in ("tests", "tools", "benchmarks")
    ]
    wanted = {
        "specifications": ("exhume_ksy/ksy/", ".ksy"),
        "specifications as JSON": ("exhume_ksy/specs/", ".json"),
        "JSON schemas": ("exhume/schemas/", ".json"),
        "manual pages": (f"{data}data/share/man/man1/", ".1"),
        "licenses": (f"{info}licenses/", "LICENSE"),
        "marks of typed packages": ("exhume", "/py.typed"),
        "bill of materials": (f"{info}sboms/", ".cdx.json"),
        "the page's scripts": ("exhume/view/", ".js"),
    }
    for what, (start, end) in wanted.items():
        if not any(name.startswith(start) and name.endswith(end) for name in files):
            found.append(f"has no {what}")
    if files.get(f"{info}RECORD") != record_of(files):
        found.append("RECORD does not say what is there")
    compiled = any(name.endswith(".so") for name in files)
    if compiled == (b"Root-Is-Purelib: true" in files[f"{info}WHEEL"]):
        found.append("WHEEL is wrong about compiled code")
    return found
