"""After every kind of forgetting a word that stood in all that was forgotten is looked for everywhere: database, Redis, export, answers."""

import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from redis.asyncio import Redis

from service.access.changes import Changes, open_changes
from service.access.keys import ALL_SCOPES, Caller
from service.access.limits import RateLimiter, make_limiter
from service.access.scope import Scopes
from service.db.embedded import EmbeddedServer
from service.db.owner import OwnerDatabase
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.embed.backfill import Backfill
from service.errors import MunimentError
from service.memory.correct import Correction, correct_event
from service.memory.event_rows import EventInput
from service.memory.events import save_event
from service.memory.export import export_project
from service.memory.links import AliasInput, save_aliases
from service.memory.names import EntityInput
from service.memory.pages import PageInput, write_page
from service.operations import CATALOGUE
from service.operations.operation import Services
from service.operations.perform import perform
from service.settings import Settings, load_settings
from service.tenants import workspaces
from service.tenants.owner import owner_connection
from tests.conftest import Projects
from tests.integration.access.redis_server import RedisServer
from tests.integration.forgetting.everywhere import analyze, everything_in, find_hashes, find_in_database, hashes_of, places_of
from tests.integration.spaces.conftest import LIMITS, Model, drain


class Desk:
    """Performs operations in one project, counted on Redis, as a caller who may do all."""

    def __init__(self, database: Database, project: ProjectRef, limiter: RateLimiter, changes: Changes) -> None:
        self.database, self.project, self.changes, self._limiter = database, project, changes, limiter
        scopes = Scopes(database)
        changes.on_change(scopes.forget)
        self._services = Services(database=database, scopes=scopes, settings=Settings(), embedder=None, changes=changes)
        self._caller = Caller("me", project.workspace_id, project.workspace, project.role, frozenset(ALL_SCOPES), None, project.project_id)

    async def ask(self, name: str, /, **arguments: Any) -> Any:
        """The answer as JSON has it."""
        operation = next(each for each in CATALOGUE if each.name == name)
        await self._limiter.take(self._caller)
        answer = await perform(self._services, self._caller, operation, msgspec.convert(arguments, operation.request))
        return json.loads(msgspec.json.encode(answer))


async def plant_event(desk: Desk, word: str) -> Callable[[], Awaitable[Any]]:
    await desk.ask("start_session", session="run")
    plan = await desk.ask("save_memory", summary="A plan", kind="plan")
    event = await desk.ask(
        "save_memory",
        summary=f"Kumquat poison {word}",
        content=f"Told of {word}. " * 4000,
        session="run",
        ingest_key=f"key-{word}",
        entities=[{"name": f"Entity {word}", "type": f"type {word}"}],
        tags=[{"name": f"tag/{word}"}],
        resolves=[plan["id"]],
        previous=plan["id"],
    )
    await desk.ask("save_memory", summary="Its neighbour", session="run")
    await desk.ask("end_session", session="run")
    await desk.ask("update_memory", id=event["id"], summary=f"Kumquat poison corrected {word}")
    await desk.ask("end_session", session="run")
    return lambda: desk.ask("forget", ids=[event["id"]])


async def plant_page(desk: Desk, word: str) -> Callable[[], Awaitable[Any]]:
    for number in range(2):
        await desk.ask(
            "write_page",
            path=f"notes/{word}.md",
            title=f"Title {word} {number}",
            body=f"# Kumquat {word}\n\npoison {word} {number} [[other {word}]]\n\n" + f"More of {word}. " * 400,
            entities=[{"name": f"Entity {word}"}],
            tags=[{"name": f"tag/{word}"}],
            aliases=[f"alias {word}"],
        )
    return lambda: desk.ask("forget", path=f"notes/{word}.md")


async def plant_session(desk: Desk, word: str) -> Callable[[], Awaitable[Any]]:
    await desk.ask("start_session", session=f"run {word}", agent=f"agent {word}")
    await desk.ask("save_memory", summary=f"Kumquat {word}", session=f"run {word}", entities=[{"name": f"Entity {word}"}])
    await desk.ask("end_session", session=f"run {word}")
    return lambda: desk.ask("forget", session=f"run {word}")


async def plant_entity(desk: Desk, word: str) -> Callable[[], Awaitable[Any]]:
    named = [{"name": f"Lone entity {word}", "type": f"type {word}"}, {"name": "Neighbour"}]
    await desk.ask("save_memory", summary="A kumquat", entities=named)
    await desk.ask("write_page", path="named.md", body="Kumquats.", entities=named)
    await desk.ask("link_memories", relation="SAME_AS", **{"from": f"Lone entity {word}", "to": "Neighbour"})
    found = await desk.ask("find_memories_by_entity", name=f"Lone entity {word}")
    return lambda: desk.ask("forget", entity=found["entities"][0]["id"])


async def plant_author(desk: Desk, word: str) -> Callable[[], Awaitable[Any]]:
    author, (database, project) = f"author {word}", (desk.database, desk.project)
    await save_event(database, project, EventInput(summary=f"Kumquat {word}", entities=[f"Entity {word}"]), author)
    theirs = await save_event(database, project, EventInput(summary="What they said"), "somebody")
    await correct_event(database, project, theirs.id, Correction(summary=f"As {word} has it"), author)
    await save_event(database, project, EventInput(summary=f"Evidence {word}", resolves=[theirs.id]), author)
    corrected = await save_event(database, project, EventInput(summary=f"First {word}"), author)
    await correct_event(database, project, corrected.id, Correction(summary="Then this"), "somebody")
    for text, who in (("Theirs", "somebody"), (f"Mine {word}", author), ("Theirs again", "somebody")):
        await write_page(database, project, PageInput(path="shared.md", title="Shared", body=text), who)
    await write_page(database, project, PageInput(path=f"{word}.md", title=word, body=f"Mine {word}"), author)
    await save_event(database, project, EventInput(summary="Two names", entities=["One", "Other"]), "somebody")
    await save_aliases(database, project, [AliasInput(EntityInput("One"), EntityInput("Other"))], author)
    return lambda: desk.ask("forget", author=author)


async def plant_all(desk: Desk, word: str) -> None:
    for plant in (plant_event, plant_page, plant_session, plant_entity, plant_author):
        await plant(desk, word)


async def plant_project(desk: Desk, word: str) -> Callable[[], Awaitable[Any]]:
    await plant_all(desk, word)
    await desk.ask("rename_project", project=desk.project.project, name=f"Named {word}", slug=f"p-{word}")
    return lambda: desk.ask("delete_project", project=f"p-{word}")


async def plant_workspace(desk: Desk, word: str, owner_url: str) -> Callable[[], Awaitable[Any]]:
    await plant_all(desk, word)
    await desk.ask("create_project", slug=f"other-{word}", name=f"Other {word}")
    slug, number = f"w-{word}", desk.project.workspace_id
    with owner_connection(owner_url) as owner:
        owner.execute("UPDATE control.workspace SET slug = $1, name = $1 WHERE id = $2", (slug, number))
        workspaces.create_key(owner, workspaces.find_workspace(owner, slug), pepper="", name=f"key {word}")
        owner.execute("INSERT INTO control.member (workspace_id, subject, role) VALUES ($1, $2, 'reader')", (number, f"ann-{word}"))

    async def forget() -> None:
        with owner_connection(owner_url) as owner:
            workspaces.delete_workspace(owner, workspaces.find_workspace(owner, slug))
        await desk.changes.announce()  # as the command does at its end

    return forget


PLANTED = {
    "event": (plant_event, {"event", "event_version", "entity", "tag", "page", "passage", "lexeme"}),
    "page": (plant_page, {"page", "page_version", "page_link", "entity", "tag", "passage", "lexeme"}),
    "session": (plant_session, {"session", "event", "page", "entity", "passage", "lexeme"}),
    "entity": (plant_entity, {"entity"}),
    "author": (plant_author, {"event", "event_version", "page", "page_version", "resolution", "alias", "passage", "lexeme"}),
    "project": (plant_project, {"event", "page", "session", "project"}),
}


@pytest_asyncio.fixture(loop_scope="session")
async def redis(redis_server: RedisServer) -> AsyncIterator[Redis]:
    client = Redis.from_url(redis_server.url)
    yield client
    await client.aclose()


@pytest_asyncio.fixture(loop_scope="session")
async def desk(database: Database, projects: Projects, redis_server: RedisServer) -> AsyncIterator[Desk]:
    # So few that Redis still counts the calls of a test when it is over.
    rates = {"MUNIMENT_RATE_KEY_PER_MINUTE": "150", "MUNIMENT_RATE_WORKSPACE_PER_MINUTE": "150"}
    limiter = make_limiter(load_settings({"MUNIMENT_REDIS_URL": redis_server.url, **rates}))
    async with open_changes(redis_server.url) as changes:
        yield Desk(database, projects.make(dim=8), limiter, changes)
    await limiter.close()


@pytest.fixture
def word() -> str:
    """One word in every text, as it is and as a lexeme."""
    return "zqx" + "".join(secrets.choice("0123456789") for _ in range(14))


async def embed(owner: OwnerDatabase) -> None:
    """Gives every text vectors in two spaces, but those with `poison` in them, which fail."""
    for name in ("vectors", "others"):
        await drain(Backfill(owner, Model(name, 8), LIMITS), owner)


async def answers(desk: Desk) -> str:
    """What every way of reading shows of the project; asks for what stood beside the word, and never for the word itself."""
    views = ("pages", "events", "entities", "tags", "sessions", "page_links")
    calls: list[tuple[str, dict[str, Any]]] = [
        *[("query_memories_with_sql", {"sql": f"SELECT * FROM {view}"}) for view in views],
        ("memory_query", {"query": "kumquat entity author mine evidence", "limit": 50}),
        (
            "query_memory_graph",
            {"query": "START a = events(text: $t, k: 20) MATCH (a)-[:PARTICIPATED_IN]-(n) RETURN n", "params": {"t": "kumquat"}},
        ),
        *[(name, {}) for name in ("list_pages", "list_tags", "list_sessions", "list_memory_timeline", "memory_status", "list_projects")],
        ("find_memories_by_entity", {"name": "en"}),
        ("read_page", {"path": "shared.md"}),
    ]
    told: list[str] = []
    for name, arguments in calls:
        try:
            told.append(json.dumps(await desk.ask(name, **arguments), ensure_ascii=False))
        except MunimentError as error:
            told.append(f"{error.code} {error.message}")
    return "\n".join(told)


@pytest.mark.parametrize("kind", [*PLANTED, "workspace"])
async def test_what_is_forgotten_is_nowhere(
    server: EmbeddedServer, desk: Desk, owner: OwnerDatabase, redis: Redis, word: str, kind: str
) -> None:
    await desk.ask("save_memory", summary="It stays, kumquat or not", entities=[{"name": "Staying"}])
    if kind == "workspace":
        forget = await plant_workspace(desk, word, server.owner_url)
        expected = {"event", "page", "session", "workspace", "project", "api_key", "member"}
    else:
        plant, expected = PLANTED[kind]
        forget = await plant(desk, word)
    await embed(owner)
    assert word in await answers(desk)
    analyze(server.owner_url)
    assert places_of(find_in_database(server.owner_url, word)) >= expected
    hashes = hashes_of(server.owner_url, desk.project.schema, word)
    if kind != "entity":
        vectors = {place for place in find_hashes(server.owner_url, hashes) if place.startswith("vector_")}
        assert len(vectors) == 2
    await forget()
    assert find_in_database(server.owner_url, word) == []
    assert find_hashes(server.owner_url, hashes) == set()
    assert word not in await answers(desk)
    kept = await everything_in(redis)
    assert any("rate" in key for key in kept)
    assert word not in str(kept)
    if kind not in ("project", "workspace"):
        lines = b"".join([piece async for piece in export_project(desk.database, desk.project)]).decode()
        assert word not in lines
        assert "It stays" in lines


def test_the_search_itself_finds_a_word_in_every_kind_of_place(server: EmbeddedServer, word: str) -> None:
    kinds = {
        "as_text": f"SELECT 'a {word} b'::text AS v",
        "as_json": f"""SELECT '{{"k": ["{word}"]}}'::jsonb AS v""",
        "as_array": f"SELECT ARRAY['x', '{word}'] AS v",
        "as_words": f"SELECT to_tsvector('simple', '{word}') AS v",
        "as_bytes": f"SELECT convert_to('a {word}', 'UTF8') AS v",
    }
    with owner_connection(server.owner_url) as owner, owner_connection(server.owner_url) as careless:
        careless.execute(f"SELECT '{word}'".encode())
        owner.execute("CREATE SCHEMA scratch")
        try:
            for name, query in kinds.items():
                owner.execute(f"CREATE TABLE scratch.{name} AS {query} FROM generate_series(1, 3)".encode())
            owner.execute(f"CREATE MATERIALIZED VIEW scratch.as_view AS {kinds['as_text']}".encode())
            owner.execute("SELECT lo_from_bytea(0, convert_to($1, 'UTF8'))", (word,))
            owner.execute("ANALYZE scratch.as_text")
            found = places_of(find_in_database(server.owner_url, word))
        finally:
            owner.execute("DROP SCHEMA scratch CASCADE")
            owner.execute("SELECT lo_unlink(oid) FROM pg_largeobject_metadata")
    assert found >= {*kinds, "as_view", "pg_largeobject", "pg_statistic", "a statement"}
