"""What an operator and a cluster ask: is it alive, is it ready, what does it count.

In: services and the server's state. Out: answers for /livez, /readyz and /metrics; none of them asks for a key.
"""

import asyncio
from dataclasses import dataclass
from typing import Final

import msgspec
import structlog
from litestar.handlers import HTTPRouteHandler

from service.errors import MunimentError
from service.observe.embedding import hide_totals, show_totals
from service.observe.metrics import CONTENT_TYPE, render_metrics
from service.operations.operation import Services
from service.surface.reply import Receive, Reply, Scope, json_reply
from service.surface.rest.endpoint import serve

_LOG: Final = structlog.stdlib.get_logger("muniment.http")
_DATABASE_S: Final = 2.0


@dataclass
class ServerState:
    """What changes while a server runs: `draining` once it is about to stop, so that no new calls are sent here."""

    draining: bool = False


class Readiness(msgspec.Struct, frozen=True):
    """Whether calls should be sent here; `degraded` names what does not work: database, embedding, redis, draining."""

    ready: bool
    degraded: list[str] = []


async def check_readiness(services: Services, state: ServerState) -> Readiness:
    """Asks the database; without embeddings or Redis the server is ready all the same: search goes on by words."""
    database = await _database_answers(services)
    wanted = services.settings.embedding_provider != "none"
    embedding = not wanted or (services.embedder is not None and services.embedder.is_available)
    redis = not services.changes.is_away
    states = {"database": database, "embedding": embedding, "redis": redis, "draining": not state.draining}
    return Readiness(database and not state.draining, [name for name, good in states.items() if not good])


def make_probes(services: Services, state: ServerState) -> list[HTTPRouteHandler]:
    """The three addresses."""

    async def live(scope: Scope, receive: Receive) -> Reply:
        return json_reply({"status": "alive"}, headers={"cache-control": "no-store"})

    async def ready(scope: Scope, receive: Receive) -> Reply:
        found = await check_readiness(services, state)
        return json_reply(found, 200 if found.ready else 503, {"cache-control": "no-store"})

    async def metrics(scope: Scope, receive: Receive) -> Reply:
        await _show_totals(services)
        return Reply(200, render_metrics(), {"content-type": CONTENT_TYPE})

    return [serve("/livez", live), serve("/readyz", ready), serve("/metrics", metrics)]


async def _show_totals(services: Services) -> None:
    """Brings in what the database counts for all processes; without it these figures are left out."""
    try:
        async with asyncio.timeout(_DATABASE_S):
            (row,) = await services.database.control("embedding_totals")
    except (MunimentError, TimeoutError):
        hide_totals()
    else:
        show_totals(**row)


async def _database_answers(services: Services) -> bool:
    try:
        async with asyncio.timeout(_DATABASE_S):
            await services.database.control("find_projects", 0)
    except Exception as error:  # noqa: BLE001  (whatever it is, the server is not ready)
        _LOG.warning("the database does not answer", reason=repr(error))
        return False
    return True
