"""Which projects a call may touch: decided here and nowhere else.

In: a `Caller` and the workspace and project that the call names. Out: `ProjectRef`s, each with the role of its own workspace. What the
key cannot read is refused exactly like what does not exist. What other workspaces let a key read is found where it is named and by
`global`, never by default; callers of operations that do more than read come without it (`Caller.acting`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

import msgspec

from service.access.keys import Caller, Granted
from service.access.memo import Memo
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import InvalidRequest, ScopeMissing, no_project, no_workspace

ResolvedBy = Literal["named", "key_default", "workspace", "scopes", "global"]
_MOST: Final = 2_000
_NAMED_IN_HINT: Final = 20
MOST_SEARCHED: Final = 25
"""Projects that one search covers."""


class ScopeNames(msgspec.Struct, frozen=True):
    """One workspace and project as a caller names them; `workspace/project` in the place of both."""

    project: str
    workspace: str | None = None


class ResolvedScope(msgspec.Struct, frozen=True):
    """The projects that a call touches, and how they were found."""

    workspace: str
    projects: tuple[ProjectRef, ...]
    resolved_by: ResolvedBy
    left_out: tuple[ProjectRef, ...] = ()


class _Place(Granted, frozen=True):
    """A workspace in which a caller can read these projects (None: all); its own, or one that `granted` it."""

    granted: bool = False

    def holds(self, project_id: int) -> bool:
        return self.projects is None or project_id in self.projects

    def ref(self, project_id: int, slug: str) -> ProjectRef:
        return ProjectRef(self.workspace_id, self.workspace, self.role, project_id, slug, self.granted)


class Scopes:
    """Finds projects for callers; remembers a workspace's list for two seconds."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lists: Memo[int, dict[str, int]] = Memo(_MOST)

    async def one(self, caller: Caller, workspace: str | None, project: str | None) -> ProjectRef:
        """The named project, else the key's default; raises `NotFound`, or `ScopeMissing` that lists what the key can read."""
        found = await self._named(caller, workspace, project) or await self._default(caller, workspace)
        if found is None:
            readable = [ref.name for ref in await self.readable(caller, workspace)][:_NAMED_IN_HINT]
            raise ScopeMissing(hint=f"Give `project`; this key can read: {', '.join(readable) or 'none yet'}.", allowed_projects=readable)
        return found

    async def many(
        self, caller: Caller, workspace: str | None, project: str | None, scopes: Sequence[ScopeNames] = (), everywhere: bool = False
    ) -> ResolvedScope:
        """The projects that a search covers: the named ones, else the key's default, else all of the workspace that the key can read."""
        if scopes:
            if workspace is not None or project is not None or everywhere:
                raise InvalidRequest("`scopes` excludes `workspace`, `project` and `global`.", hint="Name each project in `scopes` alone.")
            if len(scopes) > MOST_SEARCHED:
                raise InvalidRequest(f"scopes: {len(scopes)} projects; at most {MOST_SEARCHED} are searched at once.")
            refs = [await self._named(caller, each.workspace, each.project) for each in scopes]
            return ResolvedScope(caller.workspace, tuple(dict.fromkeys(ref for ref in refs if ref)), "scopes")
        if everywhere and project is not None:
            raise InvalidRequest(
                "`global` excludes `project`.",
                hint="Leave `project` out to search all that the key can read, or `global` for that one alone.",
            )
        named = await self._named(caller, workspace, project)
        if named is not None:
            return ResolvedScope(caller.workspace, (named,), "named")
        if everywhere:
            return await self._bounded(caller.workspace, await self.readable(caller, None), "global")
        default = await self._default(caller, workspace)
        if default is not None:
            return ResolvedScope(caller.workspace, (default,), "key_default")
        return await self._bounded(caller.workspace, await self._readable(self._place(caller, workspace)), "workspace")

    async def _bounded(self, workspace: str, found: Sequence[ProjectRef], resolved_by: ResolvedBy) -> ResolvedScope:
        """As many projects as one call may name, those that were written last; the others are left out."""
        if len(found) <= MOST_SEARCHED:
            return ResolvedScope(workspace, tuple(found), resolved_by)
        own, granted = ([ref.project_id for ref in found if ref.granted is granted] for granted in (False, True))
        active: set[int] = set()
        for numbers in (own, granted):  # what other workspaces let it read never takes the place of its own
            if numbers and len(active) < MOST_SEARCHED:
                rows = await self._database.control("find_active", numbers, MOST_SEARCHED - len(active))
                active.update(row["id"] for row in rows)
        searched = tuple(ref for ref in found if ref.project_id in active)
        return ResolvedScope(workspace, searched, resolved_by, tuple(ref for ref in found if ref.project_id not in active))

    def require_workspace(self, caller: Caller, workspace: str | None) -> None:
        """Raises `NotFound` for every workspace but the key's own."""
        if workspace is not None and workspace != caller.workspace:
            raise no_workspace(workspace)

    async def readable(self, caller: Caller, workspace: str | None) -> list[ProjectRef]:
        """Every project of the workspace that the key can read; of all workspaces, its own first, where none is named."""
        places = _places(caller) if workspace is None else (self._place(caller, workspace),)
        return [ref for place in places for ref in await self._readable(place)]

    def forget(self, workspace_id: int | None = None) -> None:
        """Makes the next call look at the workspace's projects afresh, or at those of all."""
        self._lists.forget(workspace_id)

    async def _named(self, caller: Caller, workspace: str | None, project: str | None) -> ProjectRef | None:
        place: _Place | None = self._place(caller, workspace)
        if project is None:
            return None
        named, slash, slug = project.partition("/")
        if slash:  # answers say so beside the key's own workspace
            place = _find_place(caller, named) if workspace in (None, caller.workspace, named) else None
        wanted = slug if slash else project
        found = await self._find(place, lambda known: wanted) if place else None
        if found is None:
            raise no_project(project)
        return found

    async def _find(self, place: _Place, slug_in: Callable[[Mapping[str, int]], str | None]) -> ProjectRef | None:
        """A project that the key can read; looked for once more when it is not there, since it may have been made a moment ago."""
        for looked in (False, True):
            if looked:
                self.forget(place.workspace_id)
            known = await self._list(place)
            slug = slug_in(known)
            if slug is not None and (number := known.get(slug)) is not None and place.holds(number):
                return place.ref(number, slug)
        return None

    async def _default(self, caller: Caller, workspace: str | None) -> ProjectRef | None:
        """The key's default project, which is one of its own workspace."""
        place = self._place(caller, workspace)
        if place.granted or caller.default_project is None or not place.holds(caller.default_project):
            return None
        wanted = caller.default_project
        return await self._find(place, lambda known: next((slug for slug, number in known.items() if number == wanted), None))

    async def _readable(self, place: _Place) -> list[ProjectRef]:
        return [place.ref(number, slug) for slug, number in (await self._list(place)).items() if place.holds(number)]

    def _place(self, caller: Caller, workspace: str | None) -> _Place:
        """The workspace of this name, the key's own without one; raises `NotFound`."""
        place = _find_place(caller, caller.workspace if workspace is None else workspace)
        if place is None:
            raise no_workspace(workspace or "")
        return place

    async def _list(self, place: _Place) -> dict[str, int]:
        async def look_up() -> dict[str, int]:
            rows = await self._database.control("find_projects", place.workspace_id)
            return {row["slug"]: row["id"] for row in rows}

        return await self._lists.find(place.workspace_id, look_up) or {}


def _places(caller: Caller) -> tuple[_Place, ...]:
    """The workspaces in which the caller can read, its own first."""
    own = _Place(caller.workspace_id, caller.workspace, caller.role, caller.projects)
    return (own, *(_Place(each.workspace_id, each.workspace, each.role, each.projects, granted=True) for each in caller.granted))


def _find_place(caller: Caller, workspace: str) -> _Place | None:
    return next((place for place in _places(caller) if place.workspace == workspace), None)
