"""The ways to the database on which the walls must hold: straight, and through a pooler of one connection and of several."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.tenants.migrate import MigrationReport
from tests.conftest import Memory
from tests.isolation.pgbouncer import PgBouncer


@dataclass(frozen=True)
class Way:
    """How the API reaches the database: `pooler` is what stands in between."""

    url: str
    pooler: PgBouncer | None = None

    async def open(self, max_size: int = 10) -> Database:
        return await Database.open(self.url, max_size=max_size, prepared=self.pooler is None, acquire_s=60)


@pytest.fixture(scope="module", params=[0, 1, 4], ids=["direct", "pgbouncer-1", "pgbouncer-4"])
def way(request: pytest.FixtureRequest, server: EmbeddedServer, migrated: MigrationReport) -> Iterator[Way]:
    if not request.param:
        yield Way(migrated.api_url)
        return
    pooler = PgBouncer(server, login_of(migrated.api_url), request.param)
    yield Way(pooler.url(server.database), pooler)
    pooler.stop()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def database(way: Way) -> AsyncIterator[Database]:
    opened = await way.open()
    yield opened
    await opened.close()


@pytest.fixture(scope="module")
def memory(database: Database) -> Memory:
    return Memory(database)


def login_of(url: str) -> str:
    """Who logs in by a connection string."""
    return url.partition("://")[2].partition("@")[0].partition(":")[0]
