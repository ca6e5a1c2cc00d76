"""The bill of materials of a wheel (PEP 770): CycloneDX 1.6, as JSON."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
import time
from collections.abc import Mapping
from email.parser import BytesParser
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def sbom(metadata: bytes, compiled: Mapping[str, bytes], epoch: int, headers: str = "") -> bytes:
    """The document for a wheel with that METADATA.

    It names what is in the wheel (exhume, the specifications, compiled modules with their digests, and the code that
    Cython puts into these), what made it with which version, and, as required but not contained, what it imports.
    `headers` is the version of Python whose headers the modules were compiled with.
    """
    parsed = BytesParser().parsebytes(metadata)
    version = parsed["Version"]
    whole = f"pkg:pypi/exhume@{version}"
    inside = [
        {"type": "data", "bom-ref": "ksy", "name": "exhume specifications", "version": version, **_license("CC0-1.0")},
        *(
            {
                "type": "file",
                "bom-ref": name,
                "name": name,
                "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(data).hexdigest()}],
                **_license("MIT"),
            }
            for name, data in sorted(compiled.items())
        ),
    ]
    if compiled:
        inside.append(_library("cython", importlib.metadata.version("cython"), "Apache-2.0"))
    required = [_requirement(line) for line in parsed.get_all("Requires-Dist", []) if "extra ==" not in line]
    tools = [{"type": "application", "name": "kaitai-struct-compiler", "version": _kaitai()}, _tool("setuptools")]
    if compiled:
        tools += [_tool("cython"), _tool("ziglang"), {"type": "library", "name": "CPython headers", "version": headers}]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)),
            "tools": {"components": tools},
            "component": {
                "type": "library",
                "bom-ref": whole,
                "name": "exhume",
                "version": version,
                "purl": whole,
                "licenses": [{"expression": parsed["License-Expression"]}],
            },
        },
        "components": [*inside, *required],
        "dependencies": [{"ref": whole, "dependsOn": [each["bom-ref"] for each in (*inside, *required)]}],
    }
    return json.dumps(document, indent=1, sort_keys=True).encode() + b"\n"


def _license(id: str) -> dict[str, Any]:
    """Return the part of an entry that names its license."""
    return {"licenses": [{"license": {"id": id}}]}


def _library(name: str, version: str, license: str) -> dict[str, Any]:
    """The entry of a library in the bill of materials."""
    purl = f"pkg:pypi/{name}@{version}"
    about = {"description": "The support code that the compiler puts into the modules it writes."}
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
        **about,
        **_license(license),
    }


def _requirement(line: str) -> dict[str, Any]:
    """Return the entry of a package that exhume requires, from a line of the metadata."""
    found = re.match(r"([A-Za-z0-9._-]+)(.*)", line)
    assert found is not None
    name = found[1].lower()
    purl = f"pkg:pypi/{name}"
    requested = [{"name": "exhume:requirement", "value": line}, {"name": "exhume:contained", "value": "no"}]
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "purl": purl,
        "scope": "required",
        "properties": requested,
    }


def _tool(name: str) -> dict[str, Any]:
    """Return the entry of a Python package that was used for the build."""
    return {"type": "application", "name": name, "version": importlib.metadata.version(name)}


def _kaitai() -> str:
    """Return the pinned version of Kaitai's compiler."""
    versions = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))["dependencies"]
    return str(versions["kaitai-struct-compiler"])
