"""An `exhume` for PATH whose runs are forks of one process: shells start many, and Python takes longer than most work.

The program on PATH sends its arguments, folder, environment and standard streams to the process of the server, and ends
as the fork does that runs them. What a process of its own shows (imports, terminals, signals) is tested elsewhere.
"""

from __future__ import annotations

import contextlib
import gc
import marshal
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.forks import leave, load_all
from tests.real import ROOT

CLIENT = """#!{python} -IS
import _socket, array, marshal, os, sys
server = _socket.socket(_socket.AF_UNIX)
server.connect({address!r})
words = marshal.dumps((sys.argv[1:], os.getcwd(), dict(os.environ)))
streams = _socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [0, 1, 2])
server.sendmsg([len(words).to_bytes(4, "little")], [streams])
os.write(server.fileno(), words)
code = int(server.recv(9))
if code < 0:
    os.kill(os.getpid(), -code)
os._exit(code)
"""


@contextlib.contextmanager
def on_path() -> Iterator[str]:
    """The value of PATH with such an `exhume` first, and this Python's other programs next."""
    with tempfile.TemporaryDirectory(prefix="exhume-served-") as folder:
        client, address = Path(folder) / "exhume", str(Path(folder) / "socket")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(address)
            listening.listen(64)
            server = subprocess.Popen(
                [sys.executable, "-m", "tests.served", str(listening.fileno())], cwd=ROOT,
                pass_fds=[listening.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            )  # fmt: skip
        client.write_text(CLIENT.format(python=sys.executable, address=address), encoding="utf-8")
        client.chmod(0o755)
        try:
            yield os.pathsep.join([folder, str(Path(sys.executable).parent), os.environ["PATH"]])
        finally:
            server.terminate()
            server.wait()


def serve(listening: socket.socket) -> None:
    """Fork for each run, and report to its program how it ended; return in the forks only."""
    running: dict[int, socket.socket] = {}
    ended, ends = socket.socketpair()  # a signal at the end of each fork writes a byte
    ends.setblocking(False)
    signal.set_wakeup_fd(ends.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([listening, ended], [], [])
        if ended in ready:
            ended.recv(1000)
            while running and (child := os.waitpid(-1, os.WNOHANG))[0]:
                with running.pop(child[0]) as one:
                    one.sendall(b"%d" % os.waitstatus_to_exitcode(child[1]))
        if listening in ready:
            one, _ = listening.accept()
            if not (process := os.fork()):
                break
            running[process] = one
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for other in (listening, ended, ends, *running.values()):
        other.close()
    size, streams, _, _ = socket.recv_fds(one, 4, 3)
    with one.makefile("rb") as file:
        words, folder, environment = marshal.loads(file.read(int.from_bytes(size, "little")))
    one.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["exhume", *words]
    tempfile.tempdir = None  # as in any process that begins


if __name__ == "__main__":
    from exhume.cli.main import run

    load_all()
    gc.collect()
    gc.freeze()
    serve(socket.socket(fileno=int(sys.argv[1])))
    try:
        run()
    except SystemExit as ended:
        assert isinstance(ended.code, int)
        leave(ended.code)
