"""Text logs as ten systems write them, made by rule: the spelling of their lines, with odd ones among them."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Line = Callable[[random.Random, datetime, int], str]

_LEVELS = ("INFO", "INFO", "INFO", "DEBUG", "WARN", "ERROR")
_START = datetime(2015, 2, 1, 1, 2, 3, 4000, UTC)


def _ip(rng: random.Random) -> str:
    return f"10.{rng.randrange(4)}.{rng.randrange(16)}.{rng.randrange(256)}"


def _ms(at: datetime) -> str:
    return f"{at.microsecond // 1000:03}"


def _syslog(rng: random.Random, at: datetime, n: int) -> str:
    what = rng.choice(
        (
            f"sshd[{rng.randrange(999, 32768)}]: Failed password for root from {_ip(rng)} port {rng.randrange(9999)}",
            f"CRON[{rng.randrange(32768)}]: (root) CMD (   cd / && run-parts --report /etc/cron.hourly)",
            f"kernel: [{n}.{rng.randrange(10**6):06}] TCP: request_sock_TCP: Possible SYN flooding on port 80.",
        )
    )
    return f"{at:%b} {at.day:2} {at:%H:%M:%S} combo {what}"


def _nginx(rng: random.Random, at: datetime, n: int) -> str:
    return (
        f"{at:%Y/%m/%d %H:%M:%S} [error] {rng.randrange(99)}#{rng.randrange(99)}: *{n} open() "
        f'"/var/www/x{n % 50}.png" failed (2: No such file or directory), client: {_ip(rng)}, server: a.example'
    )


def _apache(rng: random.Random, at: datetime, n: int) -> str:
    path = f"/a/{n % 100}.html"
    return (
        f'{_ip(rng)} - - [{at:%d/%b/%Y:%H:%M:%S} +0000] "GET {path} HTTP/1.1" 200 {rng.randrange(99999)} "-" "curl/7"'
    )


def _apache_error(rng: random.Random, at: datetime, n: int) -> str:
    return (
        f"[{at:%a %b} {at.day:2} {at:%H:%M:%S.%f %Y}] [core:error] [pid {n % 64}] [client {_ip(rng)}] AH00126: Invalid"
    )


def _hadoop(rng: random.Random, at: datetime, n: int) -> str:
    level = rng.choice(_LEVELS)
    line = (
        f"{at:%Y-%m-%d %H:%M:%S},{_ms(at)} {level} [IPC Server handler {n % 30} on 62270] "
        f"org.apache.hadoop.mapred.TaskAttemptListenerImpl: Progress of attempt_1445144423722_0020_m_{n % 64:06}_0"
        f" is : {rng.random():.7f}"
    )
    if level == "ERROR":
        line += "\njava.io.IOException: Broken pipe\n\tat sun.nio.ch.FileDispatcherImpl.write0(Native Method)"
        line += f"\n\tat org.apache.hadoop.ipc.Server.channelIO(Server.java:{n % 3000})\n\t... {n % 20} more"
    return line


def _spark(rng: random.Random, at: datetime, n: int) -> str:
    size = rng.randrange(9999) / 10
    return f"{at:%y/%m/%d %H:%M:%S} INFO storage.BlockManager: Found block rdd_{n % 40}_{n % 7} locally, {size} KB"


def _android(rng: random.Random, at: datetime, n: int) -> str:
    return (
        f"{at:%m-%d %H:%M:%S}.{_ms(at)}  {1700 + n % 9}  {2600 + n % 30} D PowerManagerService: "
        f'acquire lock={rng.randrange(1 << 28)}, flags=0x1, tag="RILJ_{n % 99}", name=com.android.phone, ws=null'
    )


def _windows(rng: random.Random, at: datetime, n: int) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}, Info                  CBS    Loaded Stack v6.1.7601.{n % 30000} with Core: C:\\x\r"


def _java(rng: random.Random, at: datetime, n: int) -> str:
    took = f"request {n} took {rng.random() * 99:.2f} ms"
    line = f"{at:%d %b %Y %H:%M:%S},{_ms(at)} [main] {rng.choice(_LEVELS)} a.b.C - {took}"
    if n % 9 == 0:
        depth = rng.randrange(1, 12)
        frames = "".join(f"\n    at a.b.C{k}.run(C{k}.java:{n % 500 + k})" for k in range(depth))
        line += f'\nException in thread "main" java.lang.IllegalStateException: caf\u00e9 {n}{frames}\n'
    return line


def _postgres(rng: random.Random, at: datetime, n: int) -> str:
    line = f"{at:%Y-%m-%d %H:%M:%S}.{_ms(at)} UTC [{rng.randrange(32768)}] LOG:  duration: {rng.random() * 99:.3f} ms"
    return f"{line}  statement: SELECT *\n\tFROM t WHERE id = {n}\n\tLIMIT 10;" if n % 5 == 0 else line


def _containerd(rng: random.Random, at: datetime, n: int) -> str:
    nanoseconds = f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond * 1000 + n % 1000:09}Z"
    return f'{nanoseconds} std{rng.choice(("out", "err"))} F {{"level":"info","n":{n},"pod":"web-{n % 40}"}}'


SYSTEMS: dict[str, Line] = {
    "syslog": _syslog,
    "nginx": _nginx,
    "apache": _apache,
    "apache-error": _apache_error,
    "hadoop": _hadoop,
    "spark": _spark,
    "android": _android,
    "windows": _windows,
    "java": _java,
    "postgres": _postgres,
    "containerd": _containerd,
}

WITHOUT_STAMPS = frozenset(("apache",))
"""Systems whose lines do not begin with a timestamp."""


def text_log(system: str, events: int, seed: int = 1) -> bytes:
    """This many events of a system."""
    rng = random.Random(f"{system}/{seed}")
    at = _START
    lines = []
    for number in range(events):
        at += timedelta(microseconds=rng.randrange(1, 3_000_000))
        lines.append(SYSTEMS[system](rng, at, number) + "\n")
    return "".join(lines).encode()
