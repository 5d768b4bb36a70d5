"""Who asks: the one door for every bearer token, whichever kind it is.

In: a bearer token. Out: a `Caller`, or `Unauthenticated`.
"""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import httpx2

from service.access.changes import Changes
from service.access.jwks import KeySet
from service.access.keys import Caller, KeyRing
from service.access.limits import RateLimiter, make_limiter
from service.access.tokens import Tokens, token_rules
from service.db.pools import Database
from service.errors import Unauthenticated
from service.settings import Settings


class Identify:
    """Tells API keys from an issuer's tokens by their shape, and counts the calls of whoever holds one."""

    def __init__(self, keys: KeyRing, tokens: Tokens | None = None, limiter: RateLimiter | None = None) -> None:
        self._keys = keys
        self._tokens = tokens
        self._limiter = limiter

    async def identify(self, token: str) -> Caller:
        """Who holds this token; raises `Unauthenticated`, `RateLimited`, or `IssuerUnavailable` while a token's key cannot be looked up."""
        caller = await self._find(token)
        if self._limiter is not None:
            await self._limiter.take(caller)
        return caller

    async def _find(self, token: str) -> Caller:
        if token.startswith("mun_"):
            return await self._keys.identify(token)
        if self._tokens is not None and token.count(".") == 2:
            return await self._tokens.identify(token)
        raise Unauthenticated


@asynccontextmanager
async def open_identify(settings: Settings, database: Database, pepper: str, changes: Changes | None = None) -> AsyncGenerator[Identify]:
    """The door as the settings have it; raises `InvalidSetting`. The issuer is asked for nothing before the first token comes."""
    rules = token_rules(settings)
    keys = KeyRing(database, pepper)
    changes = changes or Changes()
    changes.on_change(keys.forget)
    limiter = make_limiter(settings)
    async with AsyncExitStack() as closing:
        closing.push_async_callback(limiter.close)
        if rules is None:
            yield Identify(keys, limiter=limiter)
            return
        client = await closing.enter_async_context(httpx2.AsyncClient(follow_redirects=False))
        issued = KeySet(client, rules.issuer, settings.oidc_jwks_url)
        closing.push_async_callback(issued.close)
        tokens = Tokens(database, issued, rules)
        changes.on_change(tokens.forget)
        yield Identify(keys, tokens, limiter)
