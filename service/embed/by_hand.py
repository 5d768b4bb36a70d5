"""The back-fill by hand: what is due, and doing it now for some projects, beside workers that may be at it too.

In: the owner's connection string, a provider, a workspace's and a project's name or none. Out: `DueWork` of each project, before and after.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from service.db.owner import OwnerDatabase, ProjectGone
from service.db.queries import load
from service.embed.backfill import Backfill, Reach
from service.embed.indexes import build_indexes
from service.embed.provider import EmbeddingProvider, Space
from service.embed.spaces import BackfillLimits, ProjectSpaces
from service.errors import Conflict, NotFound

_OTHERS_WAIT_S: Final = 0.5  # while another worker has a project


class DueWork(msgspec.Struct, frozen=True):
    """What one project's passages need in the provider's space; `current` when queries use it.

    Due: `missing` have no vector, `changed` one of an earlier text, `stale` one that is too old. `waiting` failed and are tried again
    later, `failed` were given up.
    """

    workspace: str
    project: str
    passages: int
    missing: int
    changed: int
    stale: int
    waiting: int
    failed: int
    current: bool

    @property
    def due(self) -> int:
        """Passages that can be embedded now."""
        return self.missing + self.changed + self.stale

    def anew(self) -> "DueWork":
        """What is due once all vectors are asked for again, those that were given up too."""
        missing = self.missing + self.waiting + self.failed
        return msgspec.structs.replace(self, missing=missing, stale=self.passages - missing - self.changed, waiting=0, failed=0)


class ByHand:
    """One use of the command; `close` it after."""

    def __init__(self, owner_url: str, provider: EmbeddingProvider, limits: BackfillLimits, reach: Reach | None = None) -> None:
        self._owner = OwnerDatabase(owner_url)
        self._reach = reach
        self._own: dict[int, int] = {}
        self._provider = provider
        self._limits = limits
        self._spaces = ProjectSpaces(self._owner, limits)
        self._control = load("control", "worker")

    async def close(self) -> None:
        await self._owner.close()

    async def find_due(self, workspace: str | None, project: str | None) -> dict[int, DueWork]:
        """What is due, by project, without any change; nothing of workspaces that want no vectors. Raises `NotFound`."""
        rows = await self._owner.fetch(self._control["find_projects"].sql, workspace, project)
        if not rows and (workspace or project):
            raise NotFound("There is no such project.", hint="`muniment project list` shows them.")
        space = self._provider.space
        known = await self._owner.fetch(self._control["find_space"].sql, space.provider, space.model, space.dim)
        number = known[0]["id"] if known else None
        found: dict[int, DueWork] = {}
        self._own = {row["id"]: row["space_id"] for row in rows if row["own"] and row["space_id"] is not None}
        for row in rows:
            if row["own"] and row["space_id"] is None:
                continue
            try:
                found[row["id"]] = await self._count(row["id"], self._own.get(row["id"], number), row["workspace"], row["project"])
            except ProjectGone:
                continue
        return found

    async def _count(self, project: int, space: int | None, workspace: str, name: str) -> DueWork:
        spaces, embed = load("project", "spaces"), load("project", "embed")
        state = []
        if space is not None:
            state = await self._owner.fetch(spaces["find_space"].sql, space, self._limits.stale_days, project=project)
        if not state:
            passages = (await self._owner.fetch(embed["count_passages"].sql, project=project))[0]["passages"]
            return DueWork(workspace, name, passages, passages, 0, 0, 0, 0, current=False)
        row = (await self._owner.fetch(embed["count_due"].sql, space, state[0]["fresh_from"], project=project, space=space))[0]
        return DueWork(workspace, name, **dict(row), current=state[0]["current"])

    async def differing_model(self) -> str | None:
        """What to say when the projects are to be in another space than the provider's."""
        chosen = await self._owner.fetch(self._control["chosen_space"].sql)
        wanted = self._provider.space
        theirs = Space(chosen[0]["provider"], chosen[0]["model"], chosen[0]["dim"]) if chosen else wanted
        if theirs == wanted:
            return None
        return f"The server embeds with {theirs.provider} {theirs.model}, these settings name {wanted.provider} {wanted.model}."

    async def check_model(self) -> None:
        """Raises `Conflict` when the projects are to be in another space than the provider's."""
        differing = await self.differing_model()
        if differing:
            raise Conflict(differing, hint="Give the settings of the server, or move all projects to this model with --move.")

    async def prepare(self, projects: Sequence[int], *, reembed: bool, switch: bool) -> None:
        """After `find_due`, before `fill`: `reembed` makes all vectors due, `switch` lets queries use the new space before it is full."""
        chosen = await self._spaces.choose(self._provider.space)
        for project in projects:
            space = self._own.get(project, chosen)
            if reembed:
                await self._spaces.make_stale(project, space)
            if switch:
                await self._spaces.take(project, space)
                await self._spaces.switch(project, space)

    async def fill(self, projects: Sequence[int], watch: Callable[[int], None]) -> None:
        """Embeds what is due in these projects and builds their indexes; raises `EmbeddingUnavailable` when the provider is away."""
        backfill = Backfill(self._owner, self._provider, self._limits, watch, self._reach)
        left = list(projects)
        while left:
            for project in left:
                await self._owner.fetch(self._control["mark_due"].sql, project)
            done = await backfill.run_round(left)
            if done.unavailable is not None:
                raise done.unavailable
            for wanted in done.unindexed:
                await build_indexes(self._owner, wanted)
            due = await self.find_due(None, None)
            left = [project for project in left if project in due and (due[project].due or not due[project].current)]
            if left and not done.stored and not done.failed:
                await asyncio.sleep(_OTHERS_WAIT_S)
