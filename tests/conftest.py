"""The real services that tests share: one embedded Postgres with Muniment's schemas, and projects made as tests ask for them."""

import itertools
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import settings

from service.db import silence
from service.db.embedded import EmbeddedServer, start_embedded
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import MunimentError
from service.memory.event_rows import EventInput
from service.memory.events import SavedEvent, save_events
from service.memory.ids import number_of
from service.memory.names import EntityInput, TagInput
from service.memory.pages import PageInput, SavedPage, write_page
from service.tenants.migrate import MigrationReport, migrate
from service.tenants.owner import owner_connection

_COUNT = itertools.count(1)
# What a run finds must not depend on how busy the machine is, nor in CI on chance.
settings.register_profile("muniment", deadline=None, derandomize=os.environ.get("CI") == "true", print_blob=True)
settings.load_profile("muniment")


@pytest.fixture(scope="session", autouse=True)
def patience() -> Iterator[None]:
    """A database that is late on a busy machine is no silent one, which servers wait for no longer than a few seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(silence, "GRACE_S", 60.0)
        yield


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """A Postgres server of the tests' own."""
    started = start_embedded(tmp_path_factory.mktemp("server"))
    yield started
    started.stop()


@pytest.fixture(scope="session")
def migrated(server: EmbeddedServer) -> MigrationReport:
    """What setting up `control` reported; `api_url` is the API's login."""
    return migrate(server.owner_url, superuser_allowed=True)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def database(migrated: MigrationReport) -> AsyncIterator[Database]:
    """The pool under the API's login; on a busy machine too each of many calls gets its turn, and its time."""
    opened = await Database.open(migrated.api_url, max_size=10, statement_ms=60_000, acquire_s=60)
    yield opened
    await opened.close()


class Projects:
    """Makes workspaces and projects through the database's own functions."""

    def __init__(self, owner_url: str) -> None:
        self._owner_url = owner_url

    def make(self, workspace: str | None = None, *, dim: int = 384) -> ProjectRef:
        """A fresh project; its space is ('test', 'vectors', dim). `workspace` names one to share."""
        number = next(_COUNT)
        workspace = workspace or f"w{number}"
        with owner_connection(self._owner_url) as owner:
            owner.execute("SELECT control.create_workspace($1, $2)", (workspace, workspace))
            row = owner.execute("SELECT id, role FROM control.workspace WHERE slug = $1", (workspace,)).fetchone()
            assert row is not None
            space = owner.execute("SELECT control.add_space('test', 'vectors', $1) AS id", (dim,)).fetchone()
            assert space is not None
            made = owner.execute("SELECT id FROM control.create_project($1, $2, $2, $3)", (row["id"], f"p{number}", space["id"])).fetchone()
            assert made is not None
        return ProjectRef(row["id"], workspace, row["role"], made["id"], f"p{number}")


class Memory:
    """Writes what a test needs through the product's own code."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def save(self, project: ProjectRef, events: Sequence[dict[str, Any]]) -> list[str]:
        """Stores events, given as keyword arguments of EventInput (entities as (name, type), tags as text or (path, kind))."""
        inputs: list[EventInput | MunimentError] = [EventInput(**{**event, **_names(event)}) for event in events]
        results = await save_events(self.database, project, inputs, "test")
        for result in results:
            if isinstance(result, MunimentError):
                raise result
        return [result.id for result in results if isinstance(result, SavedEvent)]

    async def page(self, project: ProjectRef, path: str, title: str, body: str, **more: Any) -> SavedPage:
        return await write_page(self.database, project, PageInput(path=path, title=title, body=body, **more), "test")

    async def age_page(self, project: ProjectRef, path: str, version: int) -> None:
        """Makes a page one that has been written so many times, its versions of now."""
        async with self.database.write(project) as tx:
            await tx.execute(
                "INSERT INTO m_0.page_version (page_id, version, title, body, created_at) "
                "SELECT p.id, n, p.title, p.body, now() FROM m_0.page AS p, generate_series(p.version, $2::integer - 1) AS n WHERE p.path = $1",
                path,
                version,
            )
            await tx.execute("UPDATE m_0.page SET version = $2::integer, updated_at = now() WHERE path = $1", path, version)

    async def vectors(self, project: ProjectRef, vectors: dict[str, Sequence[float]]) -> None:
        """Stores the head vectors of events by id, in the project's current space."""
        async with self.database.write(project) as tx:
            for event_id, vector in vectors.items():
                await tx.execute(
                    "INSERT INTO m_0.vector_0 (passage_id, kind, owner_id, text_hash, vector) "
                    "SELECT p.id, 0, p.event_id, p.text_hash, $2::text::halfvec FROM m_0.passage AS p WHERE p.event_id = $1 AND p.number = 0 "
                    "ON CONFLICT (passage_id) DO UPDATE SET vector = excluded.vector",
                    number_of("evt", event_id),
                    "[" + ",".join(map(repr, vector)) + "]",
                )

    async def rows(self, project: ProjectRef, sql: str, *args: Any) -> list[Any]:
        """Reads by hand, under the workspace's role."""
        async with self.database.read(project) as tx:
            return await tx.fetch(sql, *args)


def _names(event: dict[str, Any]) -> dict[str, Any]:
    entities = [EntityInput(*item) if isinstance(item, tuple) else item for item in event.get("entities", [])]
    tags = [TagInput(*item) if isinstance(item, tuple) else item for item in event.get("tags", [])]
    return {"entities": entities, "tags": tags}


@pytest.fixture(scope="session")
def projects(server: EmbeddedServer, migrated: MigrationReport) -> Projects:
    return Projects(server.owner_url)


@pytest.fixture
def project(projects: Projects) -> ProjectRef:
    """A fresh project in a workspace of its own."""
    return projects.make()


@pytest.fixture(scope="session")
def memory(database: Database) -> Memory:
    return Memory(database)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where everything is there (`CI=true`), a skipped test is a failed run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") == "true" and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
