"""How long the audit is kept."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from service.db.embedded import EmbeddedServer
from service.db.owner import OwnerDatabase
from service.tenants.audit import keep_trimming, trim_audit
from service.tenants.migrate import MigrationReport
from service.tenants.owner import owner_connection

OLD = 10_005  # more than are deleted in one go


@pytest.fixture
def ages(server: EmbeddedServer, migrated: MigrationReport) -> list[int]:
    """Rows of 401, 399 and 0 days of age, the oldest with the lowest numbers, as they come to be; ages of what there is then."""
    assert migrated.api_url
    with owner_connection(server.owner_url) as owner:
        for days, first, count in ((401, -OLD - 10, OLD), (399, -9, 1), (0, -8, 1)):
            owner.execute(
                "INSERT INTO control.audit (id, at, operation, outcome) OVERRIDING SYSTEM VALUE "
                "SELECT $2::bigint + n, now() - make_interval(days => $1::integer), 'aged', 'ok' FROM generate_series(0, $3::integer - 1) AS n",
                (days, first, count),
            )
    return _ages(server)


@pytest_asyncio.fixture
async def owner(server: EmbeddedServer, ages: list[int]) -> AsyncIterator[OwnerDatabase]:
    assert len(ages) == OLD + 2
    opened = OwnerDatabase(server.owner_url)
    yield opened
    await opened.fetch("DELETE FROM control.audit WHERE operation = 'aged'")
    await opened.close()


def _ages(server: EmbeddedServer) -> list[int]:
    with owner_connection(server.owner_url) as opened:
        rows = opened.execute(
            "SELECT extract(day FROM now() - at)::integer AS days FROM control.audit WHERE operation = 'aged' ORDER BY id"
        ).fetchall()
    return [row["days"] for row in rows]


async def test_what_is_older_goes_and_the_rest_stays(server: EmbeddedServer, owner: OwnerDatabase) -> None:
    assert await trim_audit(owner, 400) == OLD
    assert _ages(server) == [399, 0]
    assert await trim_audit(owner, 400) == 0


async def test_the_worker_does_it_until_it_is_stopped(server: EmbeddedServer, owner: OwnerDatabase) -> None:
    stop = asyncio.Event()
    await keep_trimming(server.owner_url, 0, stop)  # for ever
    assert len(_ages(server)) == OLD + 2
    trimming = asyncio.create_task(keep_trimming(server.owner_url, 400, stop))
    async with asyncio.timeout(60):
        while len(_ages(server)) > 2:  # noqa: ASYNC110  (the database has no event to wait for)
            await asyncio.sleep(0.01)
        stop.set()
        await trimming
    assert _ages(server) == [399, 0]


async def test_a_database_that_is_away_is_no_end(caplog: pytest.LogCaptureFixture) -> None:
    stop = asyncio.Event()
    trimming = asyncio.create_task(keep_trimming("postgresql://nobody@127.0.0.1:1/none", 1, stop))
    await asyncio.sleep(0)
    assert not trimming.done()
    stop.set()
    async with asyncio.timeout(60):
        assert await trimming is None
