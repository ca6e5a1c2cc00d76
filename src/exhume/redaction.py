"""Secrets removed from text: `redact` for every message, name and record, `redact_all` for records made of values.

A message may quote URLs, options and responses of other libraries, and with them a password, a token or a signature.
Each is replaced with `***`; the rest of the text stays readable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "***"

# Patterns are strings, which `re` compiles on first use: every command imports this module.

_WORDS = frozenset({"auth", "jwt", "key", "pass", "pw", "pwd", "sas", "sig", "sign"})
"""Names of secrets, in lower case and without separators, as whole names."""

_ORDINARY = frozenset({"key", "pass", "sign"})
"""Names in `_WORDS` that are ordinary words outside of a URL."""

_PARTS = (
    "accesskey|accountkey|apikey|assertion|authorization|bearer|connectionstring|connstr|cookie|credential|hmac|"
    "odbcconnect|passphrase|passw|privatekey|secret|sessionkey|sharedkey|signature|token"
)
"""Parts of such names: `X-Amz-Signature` contains `signature`."""

# Places of secrets in text.  Groups are described in order, as the functions at the end of this module use them.
_USER = r"(?i)(?<![a-z0-9+.-])([a-z][a-z0-9+.-]{0,31}:)?//([^/\s?#\"'<>]*)@"
"""`s3://USER:PASSWORD@host`: scheme, user with password."""
_QUERY = r"([?&#])([^=&?#\s\"'<>]+)=([^&#\s\"'<>]+)"
"""`?NAME=VALUE` in a URL: separator, name, value."""
_SEMICOLON = r"(;)([^=&?#;\s\"'<>]+)=([^&#;\s\"'<>]+)"
"""`;NAME=VALUE` in a connection string; groups as in `_QUERY`."""
_ASSIGNED = r"(?i)(?<![\w.%-])()([a-z][\w.%-]{0,99})=((?:(?:basic|bearer|digest)\s+)?[^&#;,\s\"'<>()*]+)"
"""`NAME=VALUE` anywhere; an empty group in place of the separator, so that groups are as in `_QUERY`."""
_QUOTED = r"(?s)([\"'])([\w.-]+)\1(\s*[:=]\s*b?)([\"'])((?:\\.|(?!\4)[^\\])*)\4"
"""`"NAME": "VALUE"` in JSON or Python: quote, name, separator, quote, value."""
_ELEMENT = r"<([A-Za-z][\w:.-]*)>([^<]+)</\1>"
"""`<NAME>VALUE</NAME>` in XML."""
_HEADER = r"(?i)\b((?:proxy-)?authorization|x-api-key|cookie)(\s*:\s*)[^\r\n\"'>]+"
"""An HTTP header whose whole value is a secret: name, colon."""
_NAMED_BEFORE_AT = frozenset({"abfs", "abfss", "wasb", "wasbs", "ftp", "sftp", "ssh", "smb", "hdfs"})
"""Schemes whose URLs name a container or a user before the `@`, which is not a secret by itself."""

_OPTIONS = frozenset(
    {
        "anon", "block_size", "bucket", "default_block_size", "endpoint_url", "profile", "project", "protocol",
        "region", "region_name", "timeout", "use_ssl", "verify", "version_aware",
    }
)  # fmt: skip
"""Options of file systems whose text values are not secrets; numbers, `true`, `false` and `null` never are."""


def is_secret(name: str) -> bool:
    """Whether a query parameter, option, header or element of that name contains a secret."""
    from urllib.parse import unquote_plus

    plain = re.sub(r"[^a-z0-9]", "", unquote_plus(name).lower())
    return plain in _WORDS or re.search(_PARTS, plain) is not None


def redact(text: str) -> str:
    """Return text without passwords, tokens and signatures: of URLs, queries, `KEY=VALUE`, JSON, XML, headers."""
    # Most strings have no secret: test for a character of each pattern before it is compiled and searched.
    if "=" in text:
        text = re.sub(_QUERY, _pair, text)
        text = re.sub(_SEMICOLON, _pair, text)
        text = re.sub(_ASSIGNED, _assigned, text)
    if "@" in text:
        text = re.sub(_USER, _user, text)
    if '"' in text or "'" in text:
        text = re.sub(_QUOTED, _quoted, text)
    if ":" in text:
        text = re.sub(_HEADER, rf"\1\2{HIDDEN}", text)
    if "</" in text:
        text = re.sub(_ELEMENT, _element, text)
    return text


def redact_option(text: str) -> str:
    """Return `KEY=VALUE` of `--storage` without its value, unless the value is known not to be a secret."""
    key, equals, value = text.partition("=")
    if not equals:
        return redact(text)
    harmless = re.fullmatch(r"true|false|null|-?[0-9.]+", value) or key in _OPTIONS
    return f"{key}={redact(value) if harmless and not is_secret(key) else HIDDEN}"


def redact_all(value: Any) -> Any:
    """Return a JSON value with each text redacted, and the value of each key that names a secret hidden."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {
            key: HIDDEN if isinstance(one, str) and key not in _ORDINARY and is_secret(str(key)) else redact_all(one)
            for key, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [redact_all(one) for one in value]
    return value


def _pair(found: re.Match[str]) -> str:
    """Return a match of `_QUERY` or a similar pattern, its value hidden if the name is that of a secret."""
    return f"{found[1]}{found[2]}={HIDDEN}" if is_secret(found[2]) else found[0]


def _assigned(found: re.Match[str]) -> str:
    """Do as `_pair`, except for names that are ordinary words outside of a URL."""
    return found[0] if found[2].lower() in _ORDINARY else _pair(found)


def _user(found: re.Match[str]) -> str:
    """Return a match of `_USER` with the user hidden, unless it is a name that the scheme allows, without password."""
    scheme = (found[1] or "")[:-1].lower()
    shown = found[2] if ":" not in found[2] and scheme in _NAMED_BEFORE_AT else HIDDEN
    return f"{found[1] or ''}//{shown}@"


def _quoted(found: re.Match[str]) -> str:
    """Return a match of `_QUOTED`, its value hidden if the name is that of a secret."""
    if found[2].lower() in _ORDINARY or not is_secret(found[2]):
        return found[0]
    return f"{found[1]}{found[2]}{found[1]}{found[3]}{found[4]}{HIDDEN}{found[4]}"


def _element(found: re.Match[str]) -> str:
    """Return a match of `_ELEMENT`, its value hidden if the name is that of a secret."""
    return f"<{found[1]}>{HIDDEN}</{found[1]}>" if is_secret(found[1]) else found[0]
