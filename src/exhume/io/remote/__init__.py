"""Remote sources: stores addressed by URLs, their objects, and read-ahead.

This module is what they share: when a request to a store is tried again, and the errors that its failures become.  A
backend is the library of one kind of store (aiohttp, botocore, gcsfs).  Its errors are recognized by the names of their
classes, so that it need not be imported or installed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from exhume.counts import counted
from exhume.errors import ExhumeError, SourceAccessError, SourceNotFoundError, Span, source_error_type

RETRIES = 3
"""Attempts after the first for errors that may pass (time-outs, dropped connections, 429 and 5xx answers)."""

RETRY_DELAY = 0.2
"""Seconds before the first retry; doubled each time."""

T = TypeVar("T")


class TransientError(Exception):
    """An answer that another try may better."""


def attempt(call: Callable[[], T], name: str, start: int = 0, end: int = 0, *, again: bool = True) -> T:
    """Return the result of `call`, repeated after errors that may pass (not `again`: the backend does that itself).

    `name` and the bytes `[start, end)` are the place in errors.  Raises `SourceNotFoundError` if there is no such
    object, and `SourceError` for whatever else the backend raises.
    """
    delay = RETRY_DELAY
    span = Span(name, start, end)
    retries = RETRIES if again else 0
    for tried in range(retries + 1):
        try:
            return call()
        except ExhumeError:
            raise
        except FileNotFoundError as error:
            raise SourceNotFoundError("no such file or object", span=span) from error
        except Exception as error:  # backends raise their own types; all of them mean "the read failed"
            if (ours := refusal(error)) is not None:
                raise ours from error
            if tried == retries or not is_transient(error):
                times = f" after {counted(tried + 1, 'attempts')}" if tried else ""
                found = f"{type(error).__name__}: {error}"
                kind = SourceAccessError if is_refused(error) else source_error_type(error)
                raise kind(f"{_what_failed(error)}{times}", span=span, actual=found) from error
            time.sleep(delay)
            delay *= 2
    raise AssertionError("unreachable")


def refusal(error: BaseException) -> ExhumeError | None:
    """Return our own error, which a library wraps in one of its own; None if there is none."""
    for _ in range(8):  # far more levels than libraries wrap
        inner = getattr(error, "kwargs", {}).get("error") or error.__cause__ or error.__context__
        if isinstance(inner, ExhumeError) or inner is None:
            return inner
        error = inner
    return None


def _what_failed(error: BaseException) -> str:
    """The cause in words if a user can act on it; otherwise the message of the backend."""
    names = {type(each).__name__ for each in (error, error.__cause__, error.__context__) if each is not None}
    if isinstance(error, (IsADirectoryError, NotADirectoryError)):
        return "not a file" if isinstance(error, IsADirectoryError) else "not a directory"
    if is_refused(error):
        return "access denied (the store may need credentials or options)"
    if names & {"NoCredentialsError", "PartialCredentialsError", "DefaultCredentialsError"}:
        return "no credentials (give them as the store's tools take them, or the option anon)"
    if names & {"ClientConnectorCertificateError", "SSLCertVerificationError"}:
        return "the server's certificate is not trusted (name its authority in SSL_CERT_FILE)"
    if "TooManyRedirects" in names:
        return "too many redirects"
    if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
        return "no answer in time"
    return "reading failed"


def is_refused(error: BaseException) -> bool:
    """Whether access was denied: by the operating system, or by a 401 or 403 answer."""
    return isinstance(error, PermissionError) or _status(error) in (401, 403)


def _status(error: BaseException) -> Any:
    """The HTTP status of an error: `status` of aiohttp (whose `code` is deprecated), `code` of others."""
    return getattr(error, "status", None) or (None if hasattr(error, "status") else getattr(error, "code", None))


def is_transient(error: BaseException) -> bool:
    """Whether trying again may help: time-outs, dropped connections, 429 and 5xx answers."""
    status = _status(error)
    if isinstance(status, int):
        return status == 429 or status >= 500
    if isinstance(error, (TransientError, TimeoutError, ConnectionError)):
        return True
    return type(error).__name__ in {
        "ClientConnectionError",
        "ClientConnectorError",
        "ClientOSError",
        "ClientPayloadError",
        "ServerDisconnectedError",
        "ServerTimeoutError",
        "FSTimeoutError",
        "IncompleteRead",
    }  # not those of botocore, which has tried again itself
