"""The back-fill: gives every passage a vector in the server's space, while writing and searching go on.

In: the owner's side of the database and a provider. Out: rows in the projects' vector tables. Work is derived from the rows, so a crash
loses nothing and repeats at most one batch. One worker at a time has a project (an advisory lock); several share the projects.
No transaction is open while the provider works.
"""

from collections.abc import Sequence
from typing import Any, Final

import asyncpg
import msgspec
import structlog

from service.db.owner import OwnerDatabase, ProjectGone
from service.db.queries import load
from service.embed.provider import EmbeddingProvider, EmbeddingUnavailable, Failed, checked, vector_text

BATCH: Final = 64
ATTEMPTS: Final = 5
PROJECTS_A_ROUND: Final = 20
BATCHES_A_TURN: Final = 50  # then the next project has its turn
VACUUM_FROM: Final = 2_000  # vectors written in one turn
UNAVAILABLE_WAIT_S: Final = 10.0
VACUUMED: Final = ("event", "participation", "membership", "passage", "entity", "lexeme", "page", "next_link")

log = structlog.get_logger("muniment.backfill")


class Round(msgspec.Struct):
    """What one round did: projects looked at, vectors stored, passages that failed; whether more can be done at once."""

    projects: int = 0
    stored: int = 0
    failed: int = 0
    more: bool = False


class Backfill:
    """Fills one space, the provider's."""

    def __init__(self, owner: OwnerDatabase, provider: EmbeddingProvider) -> None:
        self._owner = owner
        self._provider = provider
        self._space: int | None = None
        self._control = load("control", "worker")
        self._project = load("project", "embed")

    async def run_round(self) -> Round:
        """Gives each project that is due its turn; raises `DatabaseUnavailable` when the database is away."""
        done = Round()
        space = await self._space_id()
        due = await self._owner.fetch(self._control["due_projects"].sql, PROJECTS_A_ROUND)
        for row in due:
            done.projects += 1
            try:
                await self._take_turn(row["project_id"], row["saves"], space, done)
            except ProjectGone:
                await self._owner.fetch(self._control["clear_due"].sql, row["project_id"], row["saves"])
            except EmbeddingUnavailable as error:
                log.warning("embedding unavailable", provider=error.space.provider, model=error.space.model, reason=error.reason)
                await self._owner.fetch(self._control["postpone"].sql, row["project_id"], UNAVAILABLE_WAIT_S, row["saves"])
        done.more = done.more or len(due) == PROJECTS_A_ROUND
        return done

    async def _space_id(self) -> int:
        """The provider's space; when no project can have it yet, all of them have work."""
        if self._space is None:
            triple = (self._provider.space.provider, self._provider.space.model, self._provider.space.dim)
            known = await self._owner.fetch(self._control["find_space"].sql, *triple)
            made = known or await self._owner.fetch(self._control["add_space"].sql, *triple)
            if not known:
                await self._owner.fetch(self._control["mark_all_due"].sql)
            self._space = int(made[0]["id"])
        return self._space

    async def _take_turn(self, project: int, saves: int, space: int, done: Round) -> None:
        key = str(project)
        if not (await self._owner.fetch(self._control["try_lock_project"].sql, key))[0]["taken"]:
            return
        try:
            finished = await self._fill(project, space, done)
            if not finished:
                done.more = True
                return
            waiting = (await self._owner.fetch(self._project["next_retry"].sql, space, project=project))[0]["seconds"]
            if waiting is None:
                await self._owner.fetch(self._control["clear_due"].sql, project, saves)
            else:
                await self._owner.fetch(self._control["postpone"].sql, project, max(1.0, waiting), saves)
        finally:
            await self._owner.fetch(self._control["unlock_project"].sql, key)

    async def _fill(self, project: int, space: int, done: Round) -> bool:
        """Embeds what is due, for a bounded time; True when nothing is left that can be done now."""
        state = await self._ensure_space(project, space)
        last = (await self._owner.fetch(self._project["last_passage"].sql, project=project))[0]["passages"]
        after, before = state["done_through"], done.stored
        for _ in range(BATCHES_A_TURN):
            rows = await self._owner.fetch(self._project["due_passages"].sql, after, space, BATCH, project=project, space=space)
            retried = rows or await self._owner.fetch(self._project["retry_passages"].sql, space, BATCH, project=project)
            if not retried:
                break
            await self._embed(project, space, retried, done)
            if rows:
                after = rows[-1]["id"]
        else:
            await self._owner.fetch(self._project["note_done"].sql, space, after, project=project)
            return False
        await self._owner.fetch(self._project["note_done"].sql, space, last, project=project)
        if not state["current"]:
            await self._owner.fetch(self._project["switch_space"].sql, space, project=project)
        if done.stored - before >= VACUUM_FROM or state["done_through"] == 0 < done.stored - before:
            await self._owner.vacuum(project, (*VACUUMED, f"vector_{space:d}"))
        return True

    async def _ensure_space(self, project: int, space: int) -> Any:
        found = await self._owner.fetch(self._project["find_space"].sql, space, project=project)
        if not found:
            first = not (await self._owner.fetch(self._project["has_current"].sql, project=project))[0]["found"]
            await self._owner.fetch(self._control["add_project_space"].sql, f"m_{project:d}", space, first)
            found = await self._owner.fetch(self._project["find_space"].sql, space, project=project)
        return found[0]

    async def _embed(self, project: int, space: int, rows: Sequence[Any], done: Round) -> None:
        dim = self._provider.space.dim
        answers = [checked(answer, dim) for answer in await self._provider.embed_documents([_text(row) for row in rows])]
        good = [(row, answer) for row, answer in zip(rows, answers, strict=True) if not isinstance(answer, Failed)]
        bad = [(row, answer) for row, answer in zip(rows, answers, strict=True) if isinstance(answer, Failed)]
        stored = ([r["id"] for r, _ in good], [r["text_hash"] for r, _ in good], [vector_text(v) for _, v in good])
        for _ in range(3):
            try:
                await self._owner.fetch(self._project["store_vectors"].sql, *stored, space, project=project, space=space)
                break
            except asyncpg.ForeignKeyViolationError:
                continue  # a passage was deleted in between; the next try does not see it any more
        if bad:
            failures = ([r["id"] for r, _ in bad], [f.reason for _, f in bad], [f.lasting for _, f in bad])
            await self._owner.fetch(self._project["note_failures"].sql, space, *failures, ATTEMPTS, project=project)
        done.stored += len(good)
        done.failed += len(bad)


def _text(row: Any) -> str:
    """What is embedded: a later piece of a page stands below its headings."""
    return f"{row['title_path']}\n{row['text']}" if row["title_path"] and row["number"] else row["text"]
