"""Fetches a Debian package and what it needs into a folder of our own: nothing is installed, no rights are needed.

`python -m tools.debian PACKAGE FOLDER` asks apt what an installation would add, fetches these packages and unpacks
them.  Without apt, a list of packages or a network, it prints a line and ends without an error: the tests that need the
program are then skipped, with the reason.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def fetch(package: str, folder: Path) -> str:
    """Unpack a package and its missing dependencies into a folder; return what prevented that, if anything did."""
    if shutil.which(package):
        return ""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        return "there is no apt"
    plan = subprocess.run(
        ["apt-get", "install", "--simulate", "--no-install-recommends", package],
        capture_output=True,
        text=True,
        check=False,
    )
    names = re.findall(r"^Inst (\S+)", plan.stdout, re.M)
    if plan.returncode or not names:
        return (plan.stderr.strip().splitlines() or ["apt does not know it"])[-1]
    with tempfile.TemporaryDirectory() as scratch:
        got = subprocess.run(["apt-get", "download", *names], cwd=scratch, capture_output=True, text=True, check=False)
        if got.returncode:
            return (got.stderr.strip().splitlines() or ["apt cannot fetch it"])[-1]
        for file in sorted(Path(scratch).glob("*.deb")):
            subprocess.run(["dpkg-deb", "--extract", file, folder], check=True)
    return ""


def main() -> int:
    """Fetch the package that the command line names; a failure is printed, and the exit code is 0."""
    package, folder = sys.argv[1], Path(sys.argv[2])
    if hindrance := fetch(package, folder):
        print(f"without {package}: {hindrance}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
