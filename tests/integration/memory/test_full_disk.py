"""A disk that fills up under a running database: writing is refused in words, reading goes on, and with room writing does too."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from service.db.embedded import EmbeddedServer, start_embedded
from service.db.pools import Database
from service.errors import DatabaseFull
from service.memory.event_rows import EventInput
from service.memory.events import save_event
from service.tenants.migrate import migrate
from service.tenants.owner import owner_connection
from tests.conftest import Memory, Projects
from tests.integration.disk import disk

LONG = 20_000


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    with disk(tmp_path / "small", "4m"):
        yield tmp_path / "small"


@pytest.fixture
def beside(small: Path, tmp_path: Path) -> Iterator[EmbeddedServer]:
    """A database server of the test's own, which may keep tables on the small disk."""
    started = start_embedded(tmp_path / "data")
    account = started.socket_folder.stat()
    os.chown(small, account.st_uid, account.st_gid)
    with owner_connection(started.owner_url) as owner:
        owner.execute(f"CREATE TABLESPACE small LOCATION '{small}'".encode())
    yield started
    started.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def filling(beside: EmbeddedServer) -> AsyncIterator[Database]:
    opened = await Database.open(migrate(beside.owner_url, superuser_allowed=True).api_url, max_size=2)
    yield opened
    await opened.close()


async def test_a_full_disk_is_told_and_costs_nothing_that_was_stored(beside: EmbeddedServer, filling: Database) -> None:
    project = Projects(beside.owner_url).make()
    with owner_connection(beside.owner_url) as owner:
        owner.execute(f"ALTER TABLE {project.schema}.event SET TABLESPACE small".encode())
        stored: list[str] = []
        refused: DatabaseFull | None = None
        while refused is None and len(stored) < 500:
            event = EventInput(f"line {len(stored)}", content=os.urandom(LONG).hex())
            try:
                stored.append((await save_event(filling, project, event, "test")).id)
            except DatabaseFull as error:
                refused = error
        assert refused is not None
        assert refused.status == 507
        assert "disk" in str(refused)
        rows = await Memory(filling).rows(project, "SELECT id, length(content) FROM m_0.event ORDER BY id")
        assert [(f"evt_{row[0]}", row[1]) for row in rows] == [(event_id, 2 * LONG) for event_id in stored]
        owner.execute(f"ALTER TABLE {project.schema}.event SET TABLESPACE pg_default".encode())
    after = await save_event(filling, project, EventInput("room again", content=os.urandom(LONG).hex()), "test")
    assert after.id == f"evt_{len(stored) + 1}"
