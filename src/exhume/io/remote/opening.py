"""Opening fsspec URLs: an object is a `RemoteSource`, a directory or key prefix a `FsspecTree`.

fsspec is imported by this module and those it imports only, so that local use never pays for it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from fsspec.core import url_to_fs

from exhume.errors import MissingDependencyError, SourceError, Span
from exhume.io.local import open_path
from exhume.io.remote.guard import Guard
from exhume.io.remote.retry import attempt, refusal
from exhume.io.remote.stores import FsspecSource, HttpSource, source_kind
from exhume.io.remote.tree import FsspecTree
from exhume.io.source import Source
from exhume.io.tree import Tree

OWN_OPTIONS = ("allow_full_download", "follow_redirects")
"""Storage options that are not for fsspec."""

for _logger in ("gcsfs", "s3fs", "aiobotocore", "botocore"):  # what they report is raised too: say it once
    logging.getLogger(_logger).addHandler(logging.NullHandler())


def open_url(
    url: str,
    storage_options: Mapping[str, Any] | None = None,
    size: int | None = None,
    tail_first: bool = False,
) -> Source | Tree:
    """The source or tree of an fsspec URL (chained URLs included).

    With `size`, an HTTP or S3 object is not asked for its size first: the first answer has to agree.  Otherwise
    one request returns the size and the head (with `tail_first`, the tail).  An HTTP URL that ends in `/` is a
    directory, read by the server's index pages.

    `storage_options` go to fsspec, except `allow_full_download` (see `RemoteSource`) and `follow_redirects`, which
    permits redirects to another scheme, host or port.  `file://` URLs become plain local sources; their path may be
    percent-encoded, as `Path.as_uri` writes it.  Raises `SourceError`, or `MissingDependencyError` when the package for
    this kind of URL is missing.
    """
    fs, path = _file_system(url, storage_options)
    allow_full_download = bool((storage_options or {}).get("allow_full_download"))
    protocols = (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)
    if "file" in protocols or "local" in protocols:
        return open_path(path if os.path.lexists(path) else unquote(path))
    kind = source_kind(fs)
    if size is not None and kind is not FsspecSource:
        return kind(fs, path, url, {"size": size}, allow_full_download=allow_full_download)
    fs.invalidate_cache(path)  # a listing from before must not stand for the object as it is now
    tree = FsspecTree(fs, path, url, allow_full_download=allow_full_download)
    if url.partition("::")[0].endswith("/") and (kind is HttpSource or tree.names()):
        return tree
    if kind.has_keys and "." not in path.rpartition("/")[2] and tree.names():
        return tree  # directories are called so, as a rule
    info = kind.first(fs, path, url, tail_first)
    if info is None and kind.has_keys and tree.names():
        return tree
    if info is None:
        info = attempt(lambda: fs.info(path), url, again=not kind.tries_again)
    if info.get("type") == "directory":
        return tree
    return kind(fs, path, url, info, allow_full_download=allow_full_download)


def _file_system(url: str, storage_options: Mapping[str, Any] | None) -> tuple[Any, str]:
    """The fsspec file system of a URL, whose answers are guarded, and the path in it."""
    options = dict(storage_options or {})
    own = {name: bool(options.pop(name, False)) for name in OWN_OPTIONS}
    guard = Guard(own["follow_redirects"], own["allow_full_download"])
    try:
        fs, path = url_to_fs(url, **guard.options(url, options))
    except ImportError as error:
        raise MissingDependencyError(
            f"no support for this kind of URL is installed ({error}); http, s3 and gs: pip install 'exhume[cloud]'",
            span=Span(url, 0, 0),
        ) from error
    except Exception as error:  # a chained file system reads while it is made, and raises whatever its library does
        if (ours := refusal(error)) is not None:
            raise ours from error
        raise SourceError("cannot open the URL", span=Span(url, 0, 0), actual=error) from error
    return fs, path


def glob_url(url: str, storage_options: Mapping[str, Any] | None = None) -> list[str]:
    """The URLs that match a pattern (`s3://bucket/*.zs`), sorted; of a chain, the first link may have one.

    Raises `SourceError` when nothing matches, and as `open_url` does.
    """
    head, link, rest = url.partition("::")
    fs, path = _file_system(url, storage_options)
    found = attempt(lambda: sorted(fs.glob(path)), url, again=not source_kind(fs).tries_again)
    if not found:
        raise SourceError("no file or object matches", span=Span(url, 0, 0))
    scheme = head.partition("://")[0]
    return [name if "://" in name else f"{scheme}://{name}{link}{rest}" for name in found]
