"""API keys: `mun_<id>_<secret>`, shown once, stored as a keyed hash, found by id, compared in constant time.

In: a bearer token. Out: `Caller`, who asks and what they may do; anything else is `Unauthenticated`, the same for all causes.
"""

import hmac
import re
import secrets
import time
from collections import OrderedDict
from datetime import UTC, datetime
from typing import Any, Final, Literal

import msgspec

from service.access.memo import Memo
from service.db.pools import Database
from service.errors import Forbidden, Unauthenticated

Scope = Literal["read", "write", "admin"]
FIRST_KEY: Final = "serve"  # the name of the keys that the starts of a server make
ALL_SCOPES: Final[tuple[Scope, ...]] = ("read", "write", "admin")

_KEY: Final = re.compile(r"mun_([a-z0-9]{12})_([A-Za-z0-9_-]{43})")
_MOST: Final = 10_000
PERSON: Final = "oidc:"
"""What the id of a caller begins with who came with a token; the person's subject follows."""
_TOUCH_S: Final = 60.0


class Granted(msgspec.Struct, frozen=True):
    """Another workspace that lets a key read these of its projects (None: all)."""

    workspace_id: int
    workspace: str
    role: str
    projects: frozenset[int] | None


class Caller(msgspec.Struct, frozen=True):
    """Who asks: a key, its workspace, its scopes, the projects it is bound to (None: all) and the one it defaults to.

    `expires_at` is the key's end; None for one without, and for a person, whose issuer renews tokens.
    `granted` is what other workspaces let the key read.
    """

    key_id: str
    workspace_id: int
    workspace: str
    role: str
    scopes: frozenset[str]
    projects: frozenset[int] | None
    default_project: int | None
    expires_at: datetime | None = None
    granted: tuple[Granted, ...] = ()

    def acting(self, scope: Scope) -> "Caller":
        """The caller as operations of this scope see it: what was granted to it is there for reading alone."""
        return self if scope == "read" else msgspec.structs.replace(self, granted=())

    @property
    def noun(self) -> str:
        """What it asks with, in words."""
        return "token" if self.key_id.startswith(PERSON) else "key"

    def require(self, scope: Scope) -> None:
        """Raises `Forbidden` unless the key has the scope."""
        if scope in self.scopes:
            return
        hint = "Use a key that has it; `muniment key create` makes one."
        if self.noun == "token":
            hint = "An admin of the workspace can give you a role that has it: reader, writer or admin."
        raise Forbidden(f"This {self.noun} does not have the scope `{scope}`.", hint=hint)


class _Grant(msgspec.Struct, frozen=True):
    """A row of `find_granted`."""

    workspace_id: int
    workspace: str
    role: str
    project_id: int | None
    expires_at: datetime | None


class NewKey(msgspec.Struct, frozen=True):
    """A key as it is made: `text` is for its owner alone, `hash` for the database."""

    id: str
    text: str
    hash: bytes


def make_key(pepper: str) -> NewKey:
    """A fresh key with 256 random bits."""
    key_id = "".join(secrets.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(12))
    secret = secrets.token_urlsafe(32)
    return NewKey(key_id, f"mun_{key_id}_{secret}", hash_secret(secret, pepper))


def hash_secret(secret: str, pepper: str) -> bytes:
    return hmac.digest(pepper.encode(), secret.encode(), "sha256")


class KeyRing:
    """Checks keys; remembers those it found for two seconds, so that a revoked one ends within that time on every replica."""

    def __init__(self, database: Database, pepper: str) -> None:
        self._database = database
        self._pepper = pepper
        self._found: Memo[str, Any] = Memo(_MOST)
        self._touched: OrderedDict[str, float] = OrderedDict()

    async def identify(self, token: str) -> Caller:
        """Who holds this token; raises `Unauthenticated`."""
        match = _KEY.fullmatch(token)
        if match is None:
            raise Unauthenticated
        row = await self._find(match[1])
        given = hash_secret(match[2], self._pepper)
        known = hmac.compare_digest(given, row["hash"] if row else bytes(32))
        now = datetime.now(UTC)
        if row is None or not known or row["revoked_at"] is not None or (row["expires_at"] is not None and row["expires_at"] <= now):
            raise Unauthenticated
        await self._touch(match[1])
        return Caller(
            key_id=match[1],
            workspace_id=row["workspace_id"],
            workspace=row["workspace"],
            role=row["role"],
            scopes=frozenset(row["scopes"]),
            projects=None if row["projects"] is None else frozenset(row["projects"]),
            default_project=row["default_project"],
            expires_at=row["expires_at"],
            granted=read_granted(row["granted"], now) if row["granted"] else (),
        )

    def forget(self) -> None:
        """Looks up every key afresh from now on."""
        self._found.forget()

    async def _find(self, key_id: str) -> Any:
        async def look_up() -> Any:
            rows = await self._database.control("find_key", key_id)
            return rows[0] if rows else None

        return await self._found.find(key_id, look_up)

    async def _touch(self, key_id: str) -> None:
        now = time.monotonic()
        if self._touched.get(key_id, 0.0) > now - _TOUCH_S:
            return
        self._touched[key_id] = now
        if len(self._touched) > _MOST:
            self._touched.popitem(last=False)
        await self._database.control("touch_key", key_id)


def read_granted(text: str, now: datetime) -> tuple[Granted, ...]:
    """What is granted at this moment, by workspace."""
    grants = [grant for grant in msgspec.json.decode(text, type=list[_Grant]) if grant.expires_at is None or grant.expires_at > now]
    places = {grant.workspace_id: grant for grant in grants}
    return tuple(
        Granted(number, place.workspace, place.role, _projects_of([each.project_id for each in grants if each.workspace_id == number]))
        for number, place in places.items()
    )


def _projects_of(numbers: list[int | None]) -> frozenset[int] | None:
    """None, all of them, when one grant is for all."""
    found = frozenset(number for number in numbers if number is not None)
    return found if len(found) == len(numbers) else None
