"""Bearer tokens of an OIDC issuer: JWTs, checked by its public keys, mapped to a workspace and scopes by their claims.

A member of the workspace has the scopes of the role that was given there, whatever the claims say of scopes.

In: a token. Out: the same `Caller` as an API key gives; anything else is `Unauthenticated`, the same for all causes.
"""

import re
from typing import Any, Final, get_args

import jwt
import msgspec
import structlog

from service.access.jwks import KeySet, is_safe
from service.access.keys import ALL_SCOPES, PERSON, Caller, Scope
from service.access.memo import Memo
from service.db.pools import Database
from service.errors import InvalidSetting, Unauthenticated
from service.settings import Settings

_LONGEST: Final = 16 * 1024
_LONGEST_SUBJECT: Final = 255
_SLUG: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_TYPES: Final = ("jwt", "at+jwt", "application/at+jwt")
_MOST: Final = 2_000

_LOG: Final = structlog.stdlib.get_logger("muniment.access")

# What a member's role stands for.
ROLES: Final[dict[str, frozenset[str]]] = {
    "none": frozenset(),
    "reader": frozenset({"read"}),
    "writer": frozenset({"read", "write"}),
    "admin": frozenset(ALL_SCOPES),
}


class TokenRules(msgspec.Struct, frozen=True):
    """What a token must say, and how its claims are read. `scopes` maps what the issuer calls a scope to ours."""

    issuer: str
    audience: tuple[str, ...]
    algorithms: tuple[str, ...]
    workspace_claim: str
    scope_claim: str
    scopes: dict[str, frozenset[str]]
    leeway_s: int


def token_rules(settings: Settings) -> TokenRules | None:
    """The rules as they are set, None without an issuer; raises `InvalidSetting`."""
    if settings.oidc_issuer is None:
        return None
    for name, url in (("OIDC_ISSUER", settings.oidc_issuer), ("OIDC_JWKS_URL", settings.oidc_jwks_url)):
        if url is not None and not is_safe(url):
            raise InvalidSetting(f"MUNIMENT_{name}: not an https address.")
    if not settings.oidc_audience:
        raise InvalidSetting("MUNIMENT_OIDC_AUDIENCE is not set.", hint="Without it a token for any other service would be let in.")
    if not settings.oidc_algorithms:
        raise InvalidSetting("MUNIMENT_OIDC_ALGORITHMS is empty.")
    return TokenRules(
        settings.oidc_issuer,
        tuple(settings.oidc_audience),
        tuple(settings.oidc_algorithms),
        settings.oidc_workspace_claim,
        settings.oidc_scope_claim,
        _scope_map(settings.oidc_scope_map),
        settings.oidc_leeway_s,
    )


def protected_resource(settings: Settings, url: str) -> dict[str, Any]:
    """What `/.well-known/oauth-protected-resource` answers (RFC 9728) for the resource at `url`, such as the address of MCP."""
    described: dict[str, Any] = {"resource": url, "resource_name": "Muniment", "bearer_methods_supported": ["header"]}
    if settings.oidc_issuer is not None:
        described["authorization_servers"] = [settings.oidc_issuer]
        described["scopes_supported"] = list(_scope_map(settings.oidc_scope_map))
    return described


class Tokens:
    """Checks tokens by their issuer's keys; remembers for two seconds what a subject is in a workspace."""

    def __init__(self, database: Database, keys: KeySet, rules: TokenRules) -> None:
        self._database = database
        self._keys = keys
        self._rules = rules
        self._subjects: Memo[tuple[str, str], Any] = Memo(_MOST)

    async def identify(self, token: str) -> Caller:
        """Who holds this token; raises `Unauthenticated`, or `IssuerUnavailable` while its key cannot be looked up."""
        claims = await self._claims(token)
        subject, slug = claims["sub"], claim_of(claims, self._rules.workspace_claim)
        if not isinstance(slug, str) or not _SLUG.fullmatch(slug):
            raise _refused("no workspace in its claims")
        if not is_subject(subject):
            raise _refused("no usable subject")
        row = await self._subject(slug, subject)
        if row is None:
            raise _refused("unknown workspace")
        return Caller(
            key_id=f"{PERSON}{subject}",
            workspace_id=row["id"],
            workspace=row["slug"],
            role=row["role"],
            scopes=self._scopes(claims) if row["member_role"] is None else ROLES[row["member_role"]],
            projects=None,
            default_project=None,
        )

    async def _claims(self, token: str) -> dict[str, Any]:
        """The claims of a token that is what it says it is. The algorithm is chosen by us, and the key must be one for it."""
        if len(token) > _LONGEST:
            raise _refused("too long")
        try:
            header = jwt.get_unverified_header(token)
            algorithm, kind = header.get("alg"), header.get("typ", "jwt")
            if algorithm not in self._rules.algorithms or not isinstance(kind, str) or kind.lower() not in _TYPES:
                raise _refused("its algorithm or type is not taken")
            key = await self._keys.find(header.get("kid"), algorithm)
            if key is None:
                raise _refused("unknown key")
            return jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=self._rules.audience,
                issuer=self._rules.issuer,
                leeway=self._rules.leeway_s,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        # Claims are the issuer's, but a header is anybody's: nested a thousand deep, or with numbers beyond all bounds.
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError) as error:
            raise _refused(type(error).__name__) from None

    def _scopes(self, claims: dict[str, Any]) -> frozenset[str]:
        given = claim_of(claims, self._rules.scope_claim)
        names: list[Any] = given.split() if isinstance(given, str) else given if isinstance(given, list) else []
        return frozenset().union(*(self._rules.scopes.get(name, frozenset()) for name in names if isinstance(name, str)))

    def forget(self) -> None:
        """Looks up every subject afresh from now on."""
        self._subjects.forget()

    async def _subject(self, slug: str, subject: str) -> Any:
        async def look_up() -> Any:
            rows = await self._database.control("find_subject", slug, subject)
            return rows[0] if rows else None

        return await self._subjects.find((slug, subject), look_up)


def is_subject(text: str) -> bool:
    """Whether a subject can be kept: printable, and not too long."""
    return 0 < len(text) <= _LONGEST_SUBJECT and text.isprintable()


def claim_of(claims: dict[str, Any], name: str) -> Any:
    """The claim of this name; else, for a name with dots, what lies on that path (`realm_access.roles`)."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _refused(reason: str) -> Unauthenticated:
    """The reason is for the log alone."""
    _LOG.info("a token was refused", reason=reason)
    return Unauthenticated()


def _scope_map(entries: list[str]) -> dict[str, frozenset[str]]:
    """From `theirs=ours` entries; without any, scopes go by our own names."""
    if not entries:
        return {scope: frozenset({scope}) for scope in ALL_SCOPES}
    found: dict[str, frozenset[str]] = {}
    for entry in entries:
        theirs, _, ours = entry.rpartition("=")
        if not theirs or ours not in get_args(Scope):
            raise InvalidSetting(f"MUNIMENT_OIDC_SCOPE_MAP: {entry!r} is not `theirs=read`, `theirs=write` or `theirs=admin`.")
        found[theirs] = found.get(theirs, frozenset()) | {ours}
    return found
