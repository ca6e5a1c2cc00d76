"""Install exhume with each extra into an empty environment, and run a command there that needs the extra.

    python -m tools.extras [EXTRA...] [--write]

The wheel is the pure one, built from this tree.  `--write` puts the table of all extras into `docs/packages.md`.  A
package index is needed, as `pip` is configured.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

from tools.blocks import write_block
from tools.dist import DistError, run
from tools.sbom import ROOT

STEPS = {
    "": "exhume verify zs/phrases.zs",
    "arrow": "exhume export clp_s/events.clps --to parquet -o events.parquet",
    "mcap": "exhume export robot --to mcap -o robot.mcap && exhume create ark robot.mcap -o again",
    "cloud": "python -c 'import s3fs, gcsfs, aiohttp, exhume.io.remote.stores'",
    "dask": "python -c 'import dask.bag, distributed, exhume.distributed.workers'",
    "carve": "exhume carve image -o found && exhume verify found/*.zs && python -c 'import pyperscan'",
    "catalog": "python -c 'import sqlalchemy' && exhume catalog build sqlite:///catalog.db files.caf",
    "picture": "exhume map clp_s/events.clps --png map.png",
    "lzma": "exhume recode zs/phrases.zs --codec lzma -o lzma.zs && exhume verify lzma.zs",
    "ksy": "exhume info --ksy ksy/readings.ksy readings",
    "native": "exhume compile ksy/readings.ksy --native -o readers",
    "ewf": "python -c 'import pyewf, exhume.io.images'",
    "mount": "python -c 'import ratarmount, exhume.filesystems'",
    "explore": "python -c 'import waitress, exhume.view.server'",
    "tui": "python -c 'import exhume.cli.terminal.browser'",
}
"""What is run with each extra; "" is exhume without one."""

ARK = "--schema ark/robot.idl --type /robot/pose=demo::Pose --type /robot/battery=demo::Battery"
PREPARE = (
    f"exhume create ark ark/robot.jsonl -o robot {ARK} && exhume create caf files -o files.caf && "
    "printf 'WX\\003abc\\000\\000' > readings && (head -c 4096 /dev/zero; cat zs/phrases.zs) > image"
)
"""Commands that need no extra, and make the inputs of the others."""


def declared() -> list[str]:
    """The extras of `pyproject.toml`, without those that only name others."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    return [name for name, wanted in extras.items() if not any(one.startswith("exhume[") for one in wanted)]


def install(extra: str, wheel: Path, folder: Path) -> str:
    """Install the wheel with an extra below `folder`, run its step, and return the packages that the extra brings.

    Raises:
        DistError: it cannot be installed, or the command fails.
    """
    venv, place = folder / "venv", folder / "place"
    shutil.copytree(ROOT / "examples", place)
    run([sys.executable, "-m", "venv", "--without-pip", str(venv)], folder)
    bin = venv / "bin"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(bin / "python")]
    run([*pip, "--quiet", "install", f"{wheel}[{extra}]" if extra else str(wheel)], folder)
    path = f"{bin}{os.pathsep}{os.environ['PATH']}"
    for step in (PREPARE, STEPS[extra]):
        run(["bash", "-ec", step], place, PATH=path, PYTHONPATH="")
    return run([*pip, "list", "--format", "freeze"], folder)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 1 if an extra does not work."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("extras", nargs="*", metavar="EXTRA")
    parser.add_argument("--write", action="store_true", help="put the table into docs/packages.md")
    given = parser.parse_args(arguments)
    rows, failed = ["| extra | packages | command |", "|---|---:|---|"], False
    with tempfile.TemporaryDirectory(prefix="exhume-extras-") as made:
        run(
            [sys.executable, "-m", "pip", "--quiet", "wheel", "--no-deps", "-w", made, str(ROOT)], ROOT, EXHUME_PURE="1"
        )
        [wheel] = Path(made).glob("*.whl")
        for extra in given.extras or ["", *declared()]:
            with tempfile.TemporaryDirectory(dir=made) as folder:
                try:
                    packages = len(install(extra, wheel, Path(folder)).splitlines())
                except DistError as error:
                    failed = True
                    print(f"{extra or 'none'}: {error}", flush=True)
                else:
                    print(f"{extra or 'none'}: {packages} packages, works", flush=True)
                    rows.append(f"| {f'`{extra}`' if extra else 'none'} | {packages} | `{STEPS[extra]}` |")
    if given.write and not failed and not given.extras:
        write_block("packages.md", "extras", "\n".join(rows) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
