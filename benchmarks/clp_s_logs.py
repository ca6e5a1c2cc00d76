"""Service logs made up for the clp-s benchmarks: two shapes, always the same bytes for the same seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LEVELS = ("INFO", "INFO", "INFO", "INFO", "DEBUG", "DEBUG", "WARN", "ERROR")
SERVICES = tuple(f"svc-{name}" for name in ("auth", "billing", "cart", "catalog", "gateway", "mail", "search", "stock"))
PATHS = ("/api/v1/users/{}", "/api/v1/orders/{}", "/api/v2/items/{}/stock", "/healthz", "/static/app.{}.js")


def flat(rng: random.Random) -> Iterator[dict[str, Any]]:
    """One wide, flat record per request: mostly text with numbers in it, two dozen log types."""
    at = 1_700_000_000_000
    while True:
        at += rng.randrange(1, 40)
        user, order, took = rng.randrange(100_000), rng.randrange(10_000_000), round(rng.expovariate(0.05), 3)
        service, level = rng.choice(SERVICES), rng.choice(LEVELS)
        text = rng.choice(
            (
                f"request finished user={user} status=200 took {took} ms",
                f"cache miss for key user:{user}:profile, loading from db shard {user % 16}",
                f"connection from 10.{user % 256}.{order % 256}.{at % 256} port {1024 + at % 60000} accepted",
                f'retrying order {order} after timeout, attempt {user % 5} of 5, reason "deadline exceeded"',
                f"wrote {order} bytes to /var/data/{service}/segment-{order % 997}.log in {took} ms",
                "heartbeat",
                f"gc pause {took} ms, heap {order % 4096} MiB of 4096 MiB",
            )
        )
        yield {
            "timestamp": at,
            "level": level,
            "service": service,
            "host": f"node-{user % 40}",
            "thread": f"worker-{order % 64}",
            "trace_id": f"{rng.getrandbits(64):016x}",
            "path": rng.choice(PATHS).format(order),
            "status": rng.choice((200, 200, 200, 201, 204, 301, 400, 404, 500)),
            "duration_ms": took,
            "message": text,
        }


def nested(rng: random.Random) -> Iterator[dict[str, Any]]:
    """Nested objects, arrays, nulls and optional parts: some two hundred schemas."""
    for number, record in enumerate(flat(rng)):
        out: dict[str, Any] = {
            "timestamp": record["timestamp"],
            "log": {"level": record["level"], "logger": f"com.example.{record['service']}"},
            "message": record["message"],
            "kubernetes": {
                "pod": {"name": f"{record['service']}-{number % 300}", "uid": f"{rng.getrandbits(48):012x}"},
                "node": record["host"],
                "labels": {"app": record["service"], "tier": rng.choice(("web", "data"))},
            },
        }
        if rng.random() < 0.6:
            out["http"] = {"status": record["status"], "path": record["path"], "duration": record["duration_ms"]}
        if rng.random() < 0.3:
            out["tags"] = [record["level"].lower(), record["service"], f"shard-{number % 7}"]
        if rng.random() < 0.2:
            out["user"] = {"id": number % 5000, "admin": rng.random() < 0.1, "team": rng.choice((None, "a", "b"))}
        if rng.random() < 0.1:
            out["metrics"] = {f"m{number % 6}": round(rng.random() * 100, 2), "ok": True}
        if record["level"] == "ERROR":
            out["error"] = {
                "type": rng.choice(("TimeoutError", "IOError")),
                "stack": "at handle (app.py:10)\n\tat run (main.py:3)",
            }
        yield out


SHAPES: dict[str, Callable[[random.Random], Iterator[dict[str, Any]]]] = {"flat": flat, "nested": nested}


def write_logs(path: Path, shape: str, size: int, seed: int = 7) -> int:
    """Write JSON lines of a shape until `size` bytes are reached; the number of records."""
    records = written = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for record in SHAPES[shape](random.Random(seed)):
            written += file.write(json.dumps(record, separators=(",", ":"), ensure_ascii=False)) + 1
            file.write("\n")
            records += 1
            if written >= size:
                break
    return records
