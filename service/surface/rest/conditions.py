"""Headers that stand for arguments: versions of pages as ETags, and keys under which a write counts once.

In: a request's headers and an operation's fields. Out: arguments, or the answer's ETag and whether the client has it already.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from service.errors import InvalidRequest
from service.surface.incoming import header
from service.surface.reply import Scope

_VERSION: Final = re.compile(r'(?:W/)?"v?([0-9]{1,9})"')


def arguments_in_headers(scope: Scope, fields: Mapping[str, Any]) -> dict[str, Any]:
    """`If-Match: "v3"` (or `"3"`) is expected_version 3, `If-None-Match: *` on a write is 0, `Idempotency-Key` is ingest_key."""
    found: dict[str, Any] = {}
    if "expected_version" in fields:
        wanted = header(scope, b"if-match")
        if wanted is not None:
            match = _VERSION.fullmatch(wanted.strip())
            if match is None:
                raise InvalidRequest("If-Match: not the ETag of a page.", hint='Send one ETag as it was given, such as "v3".')
            found["expected_version"] = int(match[1])
        elif (header(scope, b"if-none-match") or "").strip() == "*":
            found["expected_version"] = 0
    key = header(scope, b"idempotency-key")
    if key is not None and "ingest_key" in fields:
        found["ingest_key"] = key
    return found


def etag_of(answer: Any) -> str | None:
    """The ETag of an answer that has a version and is whole."""
    if getattr(answer, "truncated", False) or getattr(answer, "start", 0):
        return None
    version = getattr(answer, "version", None)
    return f'"v{version}"' if isinstance(version, int) else None


def client_has(scope: Scope, etag: str) -> bool:
    """Whether If-None-Match names this ETag."""
    given = header(scope, b"if-none-match")
    if given is None:
        return False
    tags = [tag.strip().removeprefix("W/") for tag in given.split(",")]
    return etag in tags or "*" in tags
