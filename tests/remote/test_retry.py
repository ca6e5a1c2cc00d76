"""Which failed requests are tried again, how often and when, and what their failures are called."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from exhume.errors import LimitExceededError, SourceAccessError, SourceError, SourceNotFoundError, Span
from exhume.io import remote


def error(name: str, **attributes: object) -> Exception:
    """An error of a backend: a class of that name with such attributes."""
    made: Exception = type(name, (Exception,), attributes)("text")
    return made


@pytest.fixture(name="slept")
def slept_(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long a request waited before each further attempt."""
    found: list[float] = []
    monkeypatch.setattr(remote, "time", SimpleNamespace(sleep=found.append))
    return found


@pytest.mark.parametrize(
    ("status", "again"),
    [(400, False), (404, False), (428, False), (429, True), (430, False), (499, False), (500, True), (503, True)],
)
def test_answers_that_may_pass_are_requested_again(status: int, again: bool, slept: list[float]) -> None:
    asked = []

    def call() -> int:
        asked.append(status)
        if len(asked) < 3:
            raise error("ClientResponseError", status=status)
        return 7

    if again:
        assert remote.attempt(call, "name") == 7
        assert slept == [remote.RETRY_DELAY, 2 * remote.RETRY_DELAY]
    else:
        with pytest.raises(SourceError):
            remote.attempt(call, "name")
        assert (len(asked), slept) == (1, [])


@pytest.mark.parametrize(("again", "attempts"), [(True, 4), (False, 1)])
def test_the_last_failure_is_reported(again: bool, attempts: int, slept: list[float]) -> None:
    asked = []

    def call() -> None:
        asked.append(1)
        raise TimeoutError("silence")

    with pytest.raises(SourceError) as caught:
        remote.attempt(call, "name", 3, 9, again=again)
    assert str(caught.value).startswith(f"name: no answer in time{' after 4 attempts' if again else ''} at 3")
    assert (caught.value.span, caught.value.actual) == (Span("name", 3, 9), "TimeoutError: silence")
    assert (len(asked), slept) == (attempts, [remote.RETRY_DELAY * (1 << n) for n in range(attempts - 1)])


def test_places_are_empty_unless_they_are_given() -> None:
    with pytest.raises(SourceNotFoundError) as caught:
        remote.attempt(Path("/nonexistent/file").read_bytes, "name")
    assert caught.value.span == Span("name", 0, 0)


def test_our_own_errors_come_out_of_those_of_libraries() -> None:
    ours = LimitExceededError("too large")
    within, around = error("Other"), error("Around")
    within.__cause__, around.__cause__ = ours, within

    def call() -> None:
        raise around

    with pytest.raises(LimitExceededError, match="too large") as caught:
        remote.attempt(call, "name")
    assert caught.value is ours
    round_about = error("Circle")
    round_about.__cause__ = round_about
    assert remote.refusal(round_about) is None


@pytest.mark.parametrize(
    ("found", "stated", "kind"),
    [
        (IsADirectoryError(), "not a file", SourceError),
        (NotADirectoryError(), "not a directory", SourceError),
        (PermissionError(), "access denied", SourceAccessError),
        (error("Refused", status=401), "access denied", SourceAccessError),
        (error("NoCredentialsError"), "no credentials", SourceError),
        (error("SSLCertVerificationError"), "the server's certificate is not trusted", SourceError),
        (error("TooManyRedirects"), "too many redirects", SourceError),
        (error("ReadTimeoutError"), "no answer in time", SourceError),
        (error("Another"), "reading failed", SourceError),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_failures_are_in_words_that_a_user_can_act_on(found: Exception, stated: str, kind: type[SourceError]) -> None:
    def call() -> None:
        raise found

    with pytest.raises(kind) as caught:
        remote.attempt(call, "name", again=False)
    assert str(caught.value).startswith(f"name: {stated}")
