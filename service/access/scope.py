"""Which projects a call may touch: decided here and nowhere else.

In: a `Caller` and the workspace and project that the call names. Out: `ProjectRef`s. What the key cannot read is refused exactly
like what does not exist.
"""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from service.access.keys import Caller
from service.access.memo import Memo
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import ScopeMissing, no_project, no_workspace

ResolvedBy = Literal["named", "key_default", "workspace", "scopes", "global"]
_MOST: Final = 2_000
_NAMED_IN_HINT: Final = 20


class ScopeNames(msgspec.Struct, frozen=True):
    """One workspace and project as a caller names them."""

    project: str
    workspace: str | None = None


class ResolvedScope(msgspec.Struct, frozen=True):
    """The projects that a call touches, and how they were found."""

    workspace: str
    projects: tuple[ProjectRef, ...]
    resolved_by: ResolvedBy


class Scopes:
    """Finds projects for callers; remembers a workspace's list for two seconds."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lists: Memo[int, dict[str, int]] = Memo(_MOST)

    async def one(self, caller: Caller, workspace: str | None, project: str | None) -> ProjectRef:
        """The named project, else the key's default; raises `NotFound`, or `ScopeMissing` that lists what the key can read."""
        found = await self._named(caller, workspace, project) or await self._default(caller, workspace)
        if found is None:
            readable = [ref.project for ref in await self._readable(caller)][:_NAMED_IN_HINT]
            raise ScopeMissing(hint=f"Give `project`; this key can read: {', '.join(readable) or 'none yet'}.", allowed_projects=readable)
        return found

    async def many(
        self, caller: Caller, workspace: str | None, project: str | None, scopes: Sequence[ScopeNames] = (), everywhere: bool = False
    ) -> ResolvedScope:
        """The projects that a search covers: the named ones, else the key's default, else all that the key can read."""
        if scopes:
            refs = [await self._named(caller, each.workspace or workspace, each.project) for each in scopes]
            return ResolvedScope(caller.workspace, tuple(dict.fromkeys(ref for ref in refs if ref)), "scopes")
        named = await self._named(caller, workspace, project)
        if named is not None:
            return ResolvedScope(caller.workspace, (named,), "named")
        if everywhere:
            return ResolvedScope(caller.workspace, tuple(await self._readable(caller)), "global")
        default = await self._default(caller, workspace)
        if default is not None:
            return ResolvedScope(caller.workspace, (default,), "key_default")
        return ResolvedScope(caller.workspace, tuple(await self._readable(caller)), "workspace")

    def require_workspace(self, caller: Caller, workspace: str | None) -> None:
        """Raises `NotFound` for every workspace but the key's own."""
        if workspace is not None and workspace != caller.workspace:
            raise no_workspace(workspace)

    async def readable(self, caller: Caller, workspace: str | None) -> list[ProjectRef]:
        """Every project of the workspace that the key can read."""
        self.require_workspace(caller, workspace)
        return await self._readable(caller)

    def forget(self, workspace_id: int | None = None) -> None:
        """Makes the next call look at the workspace's projects afresh, or at those of all."""
        self._lists.forget(workspace_id)

    async def _named(self, caller: Caller, workspace: str | None, project: str | None) -> ProjectRef | None:
        self.require_workspace(caller, workspace)
        if project is None:
            return None
        project_id = (await self._list(caller)).get(project)
        if project_id is None:
            self.forget(caller.workspace_id)  # it may have been made a moment ago
            project_id = (await self._list(caller)).get(project)
        if project_id is None or not _may_read(caller, project_id):
            raise no_project(project)
        return _ref(caller, project_id, project)

    async def _default(self, caller: Caller, workspace: str | None) -> ProjectRef | None:
        self.require_workspace(caller, workspace)
        if caller.default_project is None or not _may_read(caller, caller.default_project):
            return None
        slugs = {number: slug for slug, number in (await self._list(caller)).items()}
        slug = slugs.get(caller.default_project)
        return None if slug is None else _ref(caller, caller.default_project, slug)

    async def _readable(self, caller: Caller) -> list[ProjectRef]:
        found = await self._list(caller)
        return [_ref(caller, number, slug) for slug, number in found.items() if _may_read(caller, number)]

    async def _list(self, caller: Caller) -> dict[str, int]:
        async def look_up() -> dict[str, int]:
            rows = await self._database.control("find_projects", caller.workspace_id)
            return {row["slug"]: row["id"] for row in rows}

        return await self._lists.find(caller.workspace_id, look_up) or {}


def _may_read(caller: Caller, project_id: int) -> bool:
    return caller.projects is None or project_id in caller.projects


def _ref(caller: Caller, project_id: int, slug: str) -> ProjectRef:
    return ProjectRef(caller.workspace_id, caller.workspace, caller.role, project_id, slug)
