"""A database server and a Redis for these tests alone, since everything on them is searched; and models that make vectors."""

from collections.abc import Iterator

import pytest

from tests.integration.access.redis_server import RedisServer
from tests.integration.own_server import database, memory, migrated, owner, projects, server

__all__ = ["database", "memory", "migrated", "owner", "projects", "server"]


@pytest.fixture(scope="package")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    started = RedisServer(tmp_path_factory.mktemp("redis"))
    yield started
    started.kill()
