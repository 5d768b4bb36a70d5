"""The rooms in this process, on a running server's database, and what the database's backends hold of memory.

In: a server. Out: services as the API has them, one project's reference, megabytes.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import psutil
import psycopg

from bench.running import Running
from service.app import choose_provider, open_services
from service.db.pools import Database
from service.db.scope import ProjectRef, SpaceRef
from service.operations.operation import Services
from service.settings import Settings
from service.tenants.migrate import migrate


async def api_login(server: Running) -> str:
    """The connection string of the API's login."""
    return await asyncio.to_thread(lambda: migrate(server.line["database"], superuser_allowed=True).api_url)


@asynccontextmanager
async def open_rooms(server: Running) -> AsyncGenerator[Services]:
    """Services beside those of the server's own process."""
    settings = Settings()
    async with open_services(settings, await api_login(server), choose_provider(settings)) as services:
        yield services


async def find_project(server: Running, database: Database, slug: str) -> tuple[ProjectRef, SpaceRef]:
    """A project, and the space that it is in."""
    with psycopg.connect(server.line["database"]) as owner:
        row = owner.execute(
            "SELECT w.id, w.slug, w.role, p.id, p.slug FROM control.project AS p JOIN control.workspace AS w ON w.id = p.workspace_id "
            "WHERE p.slug = %s",
            (slug,),
        ).fetchone()
    assert row is not None
    project = ProjectRef(*row)
    async with database.read(project) as tx:
        assert tx.space is not None
        return project, tx.space


def held_mb(backend: int) -> float:
    """What a backend has of memory that is not shared; nothing when it has ended."""
    try:
        memory = psutil.Process(backend).memory_info()
    except psutil.NoSuchProcess:
        return 0.0
    return (memory.rss - memory.shared) / 1e6
