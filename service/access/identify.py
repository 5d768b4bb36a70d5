"""Who asks: the one door for every bearer token, whichever kind it is.

In: a bearer token. Out: a `Caller`, or `Unauthenticated`.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx2

from service.access.jwks import KeySet
from service.access.keys import Caller, KeyRing
from service.access.tokens import Tokens, token_rules
from service.db.pools import Database
from service.errors import Unauthenticated
from service.settings import Settings


class Identify:
    """Tells API keys from an issuer's tokens by their shape."""

    def __init__(self, keys: KeyRing, tokens: Tokens | None = None) -> None:
        self._keys = keys
        self._tokens = tokens

    async def identify(self, token: str) -> Caller:
        """Who holds this token; raises `Unauthenticated`, or `IssuerUnavailable` while a token's key cannot be looked up."""
        if token.startswith("mun_"):
            return await self._keys.identify(token)
        if self._tokens is not None and token.count(".") == 2:
            return await self._tokens.identify(token)
        raise Unauthenticated


@asynccontextmanager
async def open_identify(settings: Settings, database: Database, pepper: str) -> AsyncGenerator[Identify]:
    """The door as the settings have it; raises `InvalidSetting`. The issuer is asked for nothing before the first token comes."""
    rules = token_rules(settings)
    keys = KeyRing(database, pepper)
    if rules is None:
        yield Identify(keys)
        return
    async with httpx2.AsyncClient(follow_redirects=False) as client:
        issued = KeySet(client, rules.issuer, settings.oidc_jwks_url)
        try:
            yield Identify(keys, Tokens(database, issued, rules))
        finally:
            await issued.close()
