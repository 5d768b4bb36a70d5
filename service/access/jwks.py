"""The public keys that an OIDC issuer signs its tokens with, fetched when they are needed and kept.

In: the issuer's address, or that of its key set. Out: the key that a token names. A key id that is not known makes one fetch an interval,
however many tokens bear it; keys that were fetched go on being used while the issuer is down, for a day.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final

import httpx2
import jwt
import msgspec
import structlog

from service.errors import MunimentError

_FRESH_S: Final = 300.0
_RETRY_S: Final = 30.0
_RETRY_FAILED_S: Final = 5.0
_KEEP_S: Final = 86_400.0
_TIMEOUT_S: Final = 3.0
_LARGEST: Final = 512 * 1024
# What a key must be for an algorithm: its type, and its curve where it has one. There is no HMAC and no `none` here.
KEY_TYPES: Final[dict[str, tuple[str, str | None]]] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), ("RSA", None)),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}

_LOG: Final = structlog.stdlib.get_logger("muniment.access")


class IssuerUnavailable(MunimentError):
    """The token's issuer cannot be asked for its keys."""

    code = "issuer_unavailable"
    status = 503
    hint = "Try again in a minute; the server's log says what the issuer answered."


class _Jwk(msgspec.Struct, frozen=True):
    kty: str
    kid: str | None = None
    use: str | None = None
    alg: str | None = None
    crv: str | None = None
    key_ops: list[str] | None = None
    d: Any = None

    @property
    def is_for_us(self) -> bool:
        """A public key to check signatures with."""
        return self.kty != "oct" and self.d is None and self.use in (None, "sig") and (self.key_ops is None or "verify" in self.key_ops)

    def fits(self, algorithm: str) -> bool:
        kind, curve = KEY_TYPES[algorithm]
        return self.kty == kind and (curve is None or self.crv == curve) and self.alg in (None, algorithm)


class _Document(msgspec.Struct, frozen=True):
    keys: list[dict[str, Any]]


class _Discovery(msgspec.Struct, frozen=True):
    issuer: str
    jwks_uri: str


class KeySet:
    """One issuer's keys. `jwks_url` None: found by discovery. Ended by `close`."""

    def __init__(self, client: httpx2.AsyncClient, issuer: str, jwks_url: str | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._issuer = issuer
        self._jwks_url = jwks_url
        self._clock = clock
        self._keys: list[tuple[_Jwk, Any]] = []
        self._fetched = self._tried = float("-inf")
        self._failed = False
        self._renewal: asyncio.Task[None] | None = None

    async def find(self, kid: str | None, algorithm: str) -> Any:
        """The public key under this id that fits the algorithm, None when the issuer has none; raises `IssuerUnavailable`."""
        found = self._pick(kid, algorithm)
        if found is None:
            self._start_renewal(0.0)
            if self._renewal is not None:
                # A task of its own, since a caller may leave while others wait for the same fetch.
                await asyncio.shield(self._renewal)
            found = self._pick(kid, algorithm)
        else:
            self._start_renewal(_FRESH_S)
        if found is None and self._failed:
            raise IssuerUnavailable
        return found

    async def close(self) -> None:
        """Ends a fetch that is under way."""
        if self._renewal is not None:
            self._renewal.cancel()
            await asyncio.gather(self._renewal, return_exceptions=True)

    def _pick(self, kid: str | None, algorithm: str) -> Any:
        """A token without a key id is read only where there is but one key for its algorithm."""
        if self._clock() - self._fetched > _KEEP_S:
            return None
        fitting = [key for jwk, key in self._keys if jwk.fits(algorithm) and (kid is None or jwk.kid == kid)]
        return fitting[0] if len(fitting) == 1 else None

    def _start_renewal(self, fresh_s: float) -> None:
        """Begins a fetch when the keys are older than that, unless one is under way or was within the interval."""
        now = self._clock()
        interval = _RETRY_FAILED_S if self._failed else _RETRY_S
        if now - self._fetched >= fresh_s and now - self._tried >= interval and (self._renewal is None or self._renewal.done()):
            self._tried = now
            self._renewal = asyncio.create_task(self._renew())

    async def _renew(self) -> None:
        try:
            self._keys = await self._fetch()
        except (httpx2.HTTPError, httpx2.InvalidURL, msgspec.MsgspecError, ValueError, TimeoutError) as error:
            self._failed = True
            _LOG.warning("the issuer's keys cannot be fetched", issuer=self._issuer, reason=f"{type(error).__name__}: {error!s:.200}")
        else:
            self._failed = False
            self._fetched = self._clock()

    async def _fetch(self) -> list[tuple[_Jwk, Any]]:
        url = self._jwks_url or await self._discover()
        document = msgspec.json.decode(await self._read(url), type=_Document)
        found = [(msgspec.convert(raw, _Jwk), raw) for raw in document.keys if isinstance(raw.get("kty"), str)]
        keys = [(jwk, key) for jwk, raw in found if jwk.is_for_us and (key := _read_key(raw)) is not None]
        if not keys:
            raise ValueError("the key set holds no key that can be used")
        return keys

    async def _discover(self) -> str:
        found = msgspec.json.decode(await self._read(self._issuer.rstrip("/") + "/.well-known/openid-configuration"), type=_Discovery)
        if found.issuer != self._issuer:
            raise ValueError(f"the discovery document is that of {found.issuer[:200]!r}")
        if not is_safe(found.jwks_uri):
            raise ValueError("the discovery document names keys that are not served over https")
        return found.jwks_uri

    async def _read(self, url: str) -> bytes:
        async with asyncio.timeout(_TIMEOUT_S), self._client.stream("GET", url, headers={"accept": "application/json"}) as response:
            if response.status_code != 200:
                raise ValueError(f"{url} answered {response.status_code}")
            body = bytearray()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _LARGEST:
                    raise ValueError(f"{url} answered more than {_LARGEST} bytes")
            return bytes(body)


def is_safe(url: str) -> bool:
    """Whether nobody between can change what the address answers: https, or this machine."""
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL:
        return False
    return bool(parsed.host) and (
        parsed.scheme == "https" or (parsed.scheme == "http" and parsed.host in ("localhost", "127.0.0.1", "::1"))
    )


def _read_key(raw: dict[str, Any]) -> Any:
    """The key; None for one of a kind that is not known, which is no reason to do without the others."""
    try:
        return jwt.PyJWK(raw).key
    except (jwt.PyJWTError, ValueError, TypeError):
        return None
