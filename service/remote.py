"""Calls of model providers over HTTP: one JSON body out, one back.

In: an address, a key, a body and the seconds that the caller has. Out: the answer's bytes, or a `RemoteError` in our own words: neither
the key nor anything that the provider said is in it, nor in an exception that it hangs on.
"""

import asyncio
import logging
import math
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final, Literal, TypeAlias
from urllib.parse import parse_qsl, urlsplit

import httpx2
import msgspec
import stamina

from service.errors import InvalidSetting

_CONNECTIONS: Final = 16
_CONNECT_S: Final = 5.0
MAY_CONCERN_THE_TEXT: Final = (400, 413, 422, 500)
"""What providers answer when they do not take a text, rather than when they take none."""

MOST_BYTES: Final = 64 * 1024 * 1024
"""Of one answer; the longest vectors in the largest batch take less than a fifth of it."""

Reason: TypeAlias = Literal["timeout", "unreachable", "key_refused", "payment_required", "not_found", "rate_limited", "unavailable"]
_REASONS: Final[Mapping[int, Reason]] = {
    401: "key_refused",
    402: "payment_required",
    403: "key_refused",
    404: "not_found",
    429: "rate_limited",
}
_KEYS: Final = re.compile(r"(api|subscription|access|auth)?[-_]?(key|token|secret|password|sig|signature)", re.IGNORECASE)
_READ: Final = 4_000  # bytes of a refusal in which we look for its reason

_TOO_LONG = re.compile(
    r"too (long|large|many tokens)|max\w*.{0,20} (context|length|tokens|sequence)|context (length|window|size)"
    r"|exceed\w*.{0,60}(length|tokens|context|limit|size)|(length|tokens|input).{0,60}exceed|must have less than",
    re.IGNORECASE | re.DOTALL,
)

# The client and its transport log addresses, headers and the provider's words at these levels.
for _name in ("httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)


class Secret:
    """A text that is shown to nobody who does not ask for it by `reveal`."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(…)"


class Endpoint(msgspec.Struct, frozen=True):
    """Where a provider answers: the address below which its paths are, or the full address; the key, where one is needed."""

    url: str
    key: Secret | None = None


class Retries(msgspec.Struct, frozen=True):
    """How often a call is made at most, and the seconds before the second; each further pause is twice as long."""

    attempts: int = 3
    pause_s: float = 0.25


class RemoteError(Exception):
    """A model provider gave no answer; whoever asked says what that means to a caller."""

    def __init__(
        self,
        kind: Literal["timeout", "unreachable", "status", "oversized", "closed"],
        answered: int | None = None,
        *,
        retry_after_s: float | None = None,
        too_long: bool = False,
    ) -> None:
        super().__init__(f"The provider gave no answer: {kind if answered is None else f'status {answered}'}.")
        self.kind = kind
        self.answered = answered
        self.retry_after_s = retry_after_s
        self.too_long = too_long

    @property
    def reason(self) -> Reason:
        """What whoever set the provider up has to look at."""
        if self.answered is not None:
            return _REASONS.get(self.answered, "unavailable")
        return self.kind if self.kind == "timeout" or self.kind == "unreachable" else "unavailable"

    @property
    def passing(self) -> bool:
        """True when the same call may succeed a little later."""
        if self.answered is None:
            return self.kind == "unreachable"
        return not self.too_long and (self.answered in (408, 425, 429) or self.answered >= 500)


class Remote:
    """One provider's connections."""

    def __init__(self, endpoint: Endpoint, retries: Retries | None = None) -> None:
        """Raises `InvalidSetting` for an address or a key that cannot be sent."""
        self._url = check_url(endpoint.url)
        self._retries = retries or Retries()
        self._client = httpx2.AsyncClient(
            headers={"content-type": "application/json", "accept": "application/json", **_authorisation(self._url, endpoint.key)},
            timeout=httpx2.Timeout(None, connect=_CONNECT_S),  # the caller's time ends all the rest
            limits=httpx2.Limits(max_connections=_CONNECTIONS),
        )

    async def post(self, path: str, body: object, time_s: float) -> bytes:
        """Sends a body and gives the answer's, retries included within `time_s` seconds. Raises `RemoteError`.

        A provider that asks for a pause (`Retry-After`) gets it, when it ends within the time; else the call fails at once.
        """
        if self._client.is_closed:
            raise RemoteError("closed")
        address, content = address_below(self._url, path), msgspec.json.encode(body)
        ends = time.monotonic() + time_s

        def pause(error: Exception) -> bool | float:
            if not isinstance(error, RemoteError) or not error.passing:
                return False
            if error.retry_after_s is None:
                return True
            return error.retry_after_s if time.monotonic() + error.retry_after_s < ends else False

        first = self._retries.pause_s
        late = False
        try:
            async with asyncio.timeout(time_s):
                async for attempt in stamina.retry_context(
                    pause, attempts=self._retries.attempts, timeout=None, wait_initial=first, wait_max=20 * first, wait_jitter=first
                ):
                    with attempt:
                        return await self._send(address, content)
        except TimeoutError:
            late = True
        raise RemoteError("timeout" if late else "unreachable")

    async def close(self) -> None:
        """Ends the connections."""
        await self._client.aclose()

    async def _send(self, address: str, content: bytes) -> bytes:
        """One try. Errors are raised outside the handlers: linked to none of the client's own, which name address and headers."""
        try:
            async with self._client.stream("POST", address, content=content) as response:
                body = await _read(response)
        except (httpx2.HTTPError, httpx2.InvalidURL):
            failure = RemoteError("unreachable")
        else:
            if body is None:
                failure = RemoteError("oversized")
            elif response.is_success:
                return body
            else:
                failure = RemoteError(
                    "status",
                    response.status_code,
                    retry_after_s=retry_after_s(response.headers, datetime.now(UTC)),
                    too_long=_says_too_long(response.status_code, body),
                )
        raise failure


async def _read(response: httpx2.Response) -> bytes | None:
    """The body as it is when unpacked; None where it is larger than any answer."""
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > MOST_BYTES:
            return None
    return bytes(body)


def _says_too_long(status: int, body: bytes) -> bool:
    if status not in MAY_CONCERN_THE_TEXT:
        return False
    return status == 413 or _TOO_LONG.search(body[:_READ].decode("utf-8", "replace")) is not None


def check_url(url: str) -> str:
    """The address as it is; raises `InvalidSetting`, which does not repeat it, for one that is not http(s) or holds a password."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable, parts = False, urlsplit("")
    if not usable:
        raise InvalidSetting("The provider's address is not one.", hint="Give an address that begins with http:// or https://.")
    if parts.username is not None or parts.password is not None:
        raise InvalidSetting("The provider's address holds a user or password.", hint="Give the key in its own setting.")
    if any(_KEYS.fullmatch(name) for name, _ in parse_qsl(parts.query, keep_blank_values=True)):
        raise InvalidSetting("The provider's address holds a key in its query.", hint="Give the key in its own setting.")
    return url


def address_below(url: str, path: str) -> str:
    """The address of `path`: below the given one, or that one where it ends so already; its query stays."""
    parts = urlsplit(url)
    base = parts.path.rstrip("/")
    return parts._replace(path=base if base.endswith(f"/{path}") else f"{base}/{path}", fragment="").geturl()


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """The pause that a provider asks for, in seconds: given in milliseconds, seconds or as a date. None when it asks for none."""
    text = headers.get("retry-after-ms")
    if text is not None and (milliseconds := _number(text)) is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    if text is None:
        return None
    if (seconds := _number(text)) is not None:
        return seconds
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - now).total_seconds())


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return max(0.0, value) if math.isfinite(value) else None


def _authorisation(url: str, key: Secret | None) -> dict[str, str]:
    """The header that carries the key: Azure's deployments want their own."""
    text = key.reveal().strip() if key else ""
    if not text:
        return {}
    if not (text.isascii() and text.isprintable()):
        raise InvalidSetting("The provider's key holds characters that no header can carry.")
    parts = urlsplit(url)
    azure = (parts.hostname or "").endswith(".azure.com") or "/openai/deployments/" in parts.path
    return {"api-key": text} if azure else {"authorization": f"Bearer {text}"}
