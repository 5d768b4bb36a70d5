"""What tells a client without a token where to get one (RFC 9728): the server's address as clients know it, and its description.

In: settings and a request. Out: the `WWW-Authenticate` of a refusal, and handlers for the well-known address; without an issuer there is
nothing to tell, and the address is not there.
"""

import re
from typing import Final
from urllib.parse import urlsplit

from litestar.handlers import HTTPRouteHandler

from service.access.tokens import protected_resource
from service.errors import InvalidSetting
from service.settings import Settings
from service.surface.incoming import header
from service.surface.reply import Receive, Reply, Scope, json_reply
from service.surface.rest.endpoint import serve

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
_MCP: Final = "/mcp"
_ADDRESS: Final = re.compile(r"https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~-]+)*/?")


class ProtectedResource:
    """The server as something that tokens are for: as a whole, and as MCP."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._origin, self._prefix = _public_address(settings)

    @property
    def host(self) -> str | None:
        """The host of the address that was set, with its port if it has one."""
        return urlsplit(self._origin).netloc.lower() if self._origin else None

    def challenge(self, scope: Scope) -> str:
        """The `WWW-Authenticate` of a 401 on this request, whose host has been checked."""
        realm = 'Bearer realm="muniment"'
        if self._settings.oidc_issuer is None:
            return realm
        part = _MCP if scope["path"].rstrip("/") == _MCP else ""
        return f'{realm}, resource_metadata="{self._origin_of(scope)}{WELL_KNOWN}{self._prefix}{part}"'

    def handlers(self) -> list[HTTPRouteHandler]:
        """The well-known address alone and with the path of each resource behind it."""
        if self._settings.oidc_issuer is None:
            return []
        parts = {f"{prefix}{part}": part for prefix in ("", self._prefix) for part in ("", _MCP)}
        return [self._handler(path, part) for path, part in parts.items()]

    def _handler(self, path: str, part: str) -> HTTPRouteHandler:
        async def describe(scope: Scope, receive: Receive) -> Reply:
            described = protected_resource(self._settings, f"{self._origin_of(scope)}{self._prefix}{part}")
            return json_reply(described, headers={"cache-control": "no-cache"})

        return serve(WELL_KNOWN + path, describe)

    def _origin_of(self, scope: Scope) -> str:
        return self._origin or f"{scope['scheme']}://{header(scope, b'host')}"


def _public_address(settings: Settings) -> tuple[str | None, str]:
    """Origin and path of the address that was set."""
    if settings.public_url is None:
        return None, ""
    if _ADDRESS.fullmatch(settings.public_url) is None:
        raise InvalidSetting("MUNIMENT_PUBLIC_URL: not an address such as https://memory.example.")
    parts = urlsplit(settings.public_url)
    return f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
