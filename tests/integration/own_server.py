"""Fixtures of a package of tests with a database server of its own, in the place of the one that all share; its conftest imports them."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from service.db.embedded import EmbeddedServer, start_embedded
from service.db.owner import OwnerDatabase
from service.db.pools import Database
from service.tenants.migrate import MigrationReport, migrate
from tests.conftest import Memory, Projects

__all__ = ["database", "memory", "migrated", "owner", "projects", "server"]


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    started = start_embedded(tmp_path_factory.mktemp("own-server"))
    yield started
    started.stop()


@pytest.fixture(scope="package")
def migrated(server: EmbeddedServer) -> MigrationReport:
    return migrate(server.owner_url, superuser_allowed=True)


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def database(migrated: MigrationReport) -> AsyncIterator[Database]:
    opened = await Database.open(migrated.api_url, max_size=10, statement_ms=60_000, acquire_s=60)
    yield opened
    await opened.close()


@pytest.fixture(scope="package")
def projects(server: EmbeddedServer, migrated: MigrationReport) -> Projects:
    return Projects(server.owner_url)


@pytest.fixture(scope="package")
def memory(database: Database) -> Memory:
    return Memory(database)


@pytest_asyncio.fixture(loop_scope="session")
async def owner(server: EmbeddedServer) -> AsyncIterator[OwnerDatabase]:
    opened = OwnerDatabase(server.owner_url)
    yield opened
    await opened.close()
