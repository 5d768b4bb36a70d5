"""What is due, how it is found again, and doing it by hand."""

import asyncio
import json
import os
import subprocess
import sys

import msgspec
import pytest

from service.db.embedded import EmbeddedServer
from service.db.owner import OwnerDatabase
from service.db.pools import Database
from service.db.queries import load
from service.db.scope import ProjectRef
from service.embed.backfill import Backfill
from service.embed.by_hand import ByHand
from service.embed.provider import EmbeddingUnavailable
from service.embed.spaces import BackfillLimits
from service.memory.forget import Forgetting
from service.memory.lookup import read_status
from service.memory.sessions import end_session
from service.tenants.owner import owner_connection
from tests.conftest import Memory, Projects
from tests.integration.spaces.conftest import LIMITS, Model, drain


async def prepared(memory: Memory, projects: Projects, owner: OwnerDatabase, count: int = 5) -> ProjectRef:
    project = projects.make(dim=8)
    await memory.save(project, [{"summary": f"{project.schema} event {n}"} for n in range(count)])
    await drain(Backfill(owner, Model("vectors", 8), LIMITS), owner)
    return project


async def asked_again(owner: OwnerDatabase, project: ProjectRef, limits: BackfillLimits) -> int:
    model = Model("vectors", 8)
    await drain(Backfill(owner, model, limits), owner)
    return len([text for text in model.asked if text.startswith(f"{project.schema} ")])


async def days_pass(owner: OwnerDatabase, days: int) -> None:
    await owner.fetch("UPDATE control.project SET swept_at = swept_at - make_interval(days => $1)", days)


async def test_old_vectors_are_made_again_only_where_that_is_set(memory: Memory, projects: Projects, owner: OwnerDatabase) -> None:
    project = await prepared(memory, projects, owner)
    sql = "UPDATE m_0.vector_0 SET created_at = now() - interval '40 days' WHERE owner_id <= 3"
    await owner.fetch(sql, project=project.project_id, space=(await memory.rows(project, "SELECT id FROM m_0.space"))[0]["id"])
    await days_pass(owner, 2)
    assert await asked_again(owner, project, LIMITS) == 0
    await days_pass(owner, 2)
    assert await asked_again(owner, project, BackfillLimits(stale_days=30)) == 3
    await days_pass(owner, 2)
    assert await asked_again(owner, project, BackfillLimits(stale_days=30)) == 0


async def test_a_vector_that_was_lost_is_made_again_by_the_daily_sweep(memory: Memory, projects: Projects, owner: OwnerDatabase) -> None:
    project = await prepared(memory, projects, owner)
    async with memory.database.write(project) as tx:
        await tx.execute("DELETE FROM m_0.vector_0 WHERE owner_id IN (2, 4)")
    assert await asked_again(owner, project, LIMITS) == 0
    await days_pass(owner, 2)
    assert await asked_again(owner, project, LIMITS) == 2


async def test_the_sweep_is_the_worker_s_start_where_it_is_due(memory: Memory, projects: Projects, owner: OwnerDatabase) -> None:
    project = await prepared(memory, projects, owner)
    assert await owner.fetch("SELECT FROM control.due WHERE project_id = $1", project.project_id) == []
    await Backfill(owner, Model("vectors", 8), LIMITS).run_round()
    (before,) = await owner.fetch("SELECT swept_at FROM control.project WHERE id = $1", project.project_id)
    await days_pass(owner, 1)
    await drain(Backfill(owner, Model("vectors", 8), LIMITS), owner)
    (after,) = await owner.fetch("SELECT swept_at FROM control.project WHERE id = $1", project.project_id)
    assert after["swept_at"] > before["swept_at"]


async def test_a_project_that_is_being_deleted_holds_up_no_sweep(
    server: EmbeddedServer, memory: Memory, projects: Projects, owner: OwnerDatabase
) -> None:
    going, stays = await prepared(memory, projects, owner), await prepared(memory, projects, owner)
    await days_pass(owner, 2)
    with owner_connection(server.owner_url) as other, other.transaction():
        other.execute("DELETE FROM control.project WHERE id = $1", (going.project_id,))
        async with asyncio.timeout(60):
            await owner.fetch(load("control", "worker")["mark_unswept"].sql, LIMITS.sweep_s)
        due = await owner.fetch("SELECT project_id FROM control.due WHERE project_id = ANY($1)", [going.project_id, stays.project_id])
        assert [row["project_id"] for row in due] == [stays.project_id]
    await drain(Backfill(owner, Model("vectors", 8), LIMITS), owner)


async def test_back_to_an_earlier_model_takes_in_projects_made_since(
    memory: Memory, projects: Projects, owner: OwnerDatabase, database: Database
) -> None:
    await prepared(memory, projects, owner)
    other = Model("other", 8)
    await drain(Backfill(owner, other, LIMITS), owner)
    late = projects.make(dim=16)
    await memory.save(late, [{"summary": "late"}])
    await drain(Backfill(owner, other, LIMITS), owner)
    assert await owner.fetch("SELECT FROM control.due WHERE project_id = $1 AND next_at <= now()", late.project_id) == []
    await drain(Backfill(owner, Model("vectors", 8), LIMITS), owner)
    spaces = {(space.model, space.dim): space.current for space in (await read_status(database, late)).embedding.spaces}
    assert spaces == {("vectors", 16): False, ("other", 8): False, ("vectors", 8): True}


async def test_a_poisoned_page_is_given_up_and_a_sweep_does_not_ask_for_it_again(
    memory: Memory, projects: Projects, owner: OwnerDatabase, database: Database
) -> None:
    project = projects.make(dim=8)
    await memory.save(project, [{"summary": f"{project.schema} poison"}, *({"summary": f"{project.schema} fine {n}"} for n in range(100))])
    for _ in range(5):
        await owner.fetch("UPDATE m_0.embed_failure SET retry_at = now()", project=project.project_id)
        await owner.fetch("UPDATE control.due SET next_at = now() WHERE project_id = $1", project.project_id)
        await drain(Backfill(owner, Model("vectors", 8), LIMITS), owner)
    state = (await read_status(database, project)).embedding
    assert (state.embedded, state.pending, state.failed) == (100, 0, 1)
    await days_pass(owner, 2)
    assert await asked_again(owner, project, LIMITS) == 0


async def test_a_deletion_is_due_and_the_counts_follow(
    memory: Memory, projects: Projects, owner: OwnerDatabase, database: Database
) -> None:
    project = projects.make(dim=8)
    events = [{"summary": f"{project.schema} event {n}", "session": f"run {n % 3}", "entities": ["Name"]} for n in range(9)]
    ids = await memory.save(project, events)
    await end_session(database, project, "run 1", "me")
    await memory.page(project, "notes.md", "Notes", f"{project.schema} notes")
    backfill = Backfill(owner, Model("vectors", 8), LIMITS)

    async def counts() -> tuple[int, int, int, int]:
        """What there is, what has a vector, what waits for one, and what the worker counted."""
        state = await read_status(database, project)
        return state.counts["passages"], state.embedding.embedded, state.embedding.pending, state.embedding.spaces[0].vectors

    async def is_due() -> bool:
        return await owner.fetch("SELECT FROM control.due WHERE project_id = $1", project.project_id) != []

    await drain(backfill, owner)
    before = await counts()
    assert before == (before[0], before[0], 0, before[0])
    steps = (
        Forgetting(database, project).events(ids[:1]),
        Forgetting(database, project).page("notes.md"),
        Forgetting(database, project).session("run 1"),
        Forgetting(database, project).author("test"),
    )
    for step in steps:
        assert not await is_due()
        receipt = await step
        assert await is_due()
        now = await counts()
        assert now[:3] == (now[0], now[0], 0)
        assert (now[0], receipt.counts["vector"]) == (before[0] - receipt.counts["passage"], receipt.counts["passage"])
        # It was counted long ago.
        await owner.fetch("UPDATE m_0.space SET counted_at = now() - interval '1 hour'", project=project.project_id)
        await drain(backfill, owner)
        before = await counts()
        assert before == (now[0], now[0], 0, now[0])
    assert before == (0, 0, 0, 0)


def run_embed(server: EmbeddedServer, *arguments: str, code: int = 0) -> str:
    """The command as a process, on the local model."""
    environment = {**os.environ, "MUNIMENT_OWNER_URL": server.owner_url, "DATABASE_URL": server.owner_url}
    command = [sys.executable, "-m", "service.surface.cli.main", "embed", "--json", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout


async def test_by_hand_it_says_what_is_due_moves_and_makes_all_again(
    memory: Memory, projects: Projects, owner: OwnerDatabase, server: EmbeddedServer, database: Database
) -> None:
    project = await prepared(memory, projects, owner, 3)
    only = ("--project", project.project)
    (row,) = json.loads(run_embed(server, *only, "--dry-run"))
    assert (row["missing"], row["due"], row["current"]) == (3, 3, False)
    assert json.loads(run_embed(server, *only, code=1))["code"] == "conflict"
    (row,) = json.loads(run_embed(server, *only, "--move"))
    assert (row["passages"], row["due"], row["current"]) == (3, 0, True)
    (space,) = await memory.rows(project, "SELECT id, model FROM m_0.space WHERE current")
    assert space["model"] == "all-MiniLM-L6-v2"
    made = "SELECT min(v.created_at) AS first, max(v.created_at) AS last FROM m_0.vector_0 AS v"
    (before,) = await owner.fetch(made, project=project.project_id, space=space["id"])
    run_embed(server, *only, "--reembed")
    (after,) = await owner.fetch(made, project=project.project_id, space=space["id"])
    assert after["first"] > before["last"]
    assert json.loads(run_embed(server, "--project", "nothing", "--dry-run", code=1))["code"] == "not_found"


async def test_by_hand_queries_can_move_before_the_vectors_are_there(
    memory: Memory, projects: Projects, owner: OwnerDatabase, server: EmbeddedServer, database: Database
) -> None:
    project = projects.make(dim=8)
    await memory.save(project, [{"summary": f"event {n}"} for n in range(3)])
    hand = ByHand(server.owner_url, Model("later", 8), LIMITS)
    found = await hand.find_due(project.workspace, None)
    await hand.prepare(list(found), reembed=False, switch=True)
    state = (await read_status(database, project)).embedding
    assert [(space.model, space.current) for space in state.spaces] == [("vectors", False), ("later", True)]
    assert {project: work.due for project, work in (await hand.find_due(project.workspace, None)).items()} == {project.project_id: 3}
    counted: list[int] = []
    await hand.fill(list(found), counted.append)
    await hand.close()
    assert counted == [3]
    assert [work.due for work in (await hand.find_due(project.workspace, None)).values()] == [0]
    await hand.close()


async def test_by_hand_a_provider_that_is_away_ends_it(
    memory: Memory, projects: Projects, owner: OwnerDatabase, server: EmbeddedServer
) -> None:
    project, model = projects.make(dim=8), Model("later", 8)
    await memory.save(project, [{"summary": "one"}])
    model.away = True
    hand = ByHand(server.owner_url, model, LIMITS)
    await hand.prepare([project.project_id], reembed=False, switch=False)
    with pytest.raises(EmbeddingUnavailable):
        await hand.fill([project.project_id], lambda _: None)
    await hand.close()


async def test_by_hand_a_dry_run_tells_what_would_be_made_anew(
    memory: Memory, projects: Projects, owner: OwnerDatabase, server: EmbeddedServer
) -> None:
    project = await prepared(memory, projects, owner, 3)
    hand = ByHand(server.owner_url, Model("vectors", 8), LIMITS)
    work = (await hand.find_due(project.workspace, project.project))[project.project_id]
    assert (work.due, work.current, await hand.differing_model()) == (0, True, None)
    assert (work.anew().due, work.anew().stale, work.anew().missing) == (3, 3, 0)
    given_up = msgspec.structs.replace(work, failed=1, waiting=1)
    assert (given_up.anew().due, given_up.anew().missing, given_up.anew().failed) == (3, 2, 0)
    await hand.close()
    (row,) = json.loads(run_embed(server, "--project", project.project, "--dry-run", "--reembed"))
    assert row["due"] == row["passages"] == 3
