"""What an operator and a cluster ask: is it alive, is it ready, what does it count.

In: the server's state. Out: answers for /livez, /readyz and /metrics.
"""

from collections.abc import Awaitable
from typing import Protocol

import msgspec
from litestar.handlers import ASGIRouteHandler

from service.observe.metrics import CONTENT_TYPE, render_metrics
from service.surface.mounting import mount_get
from service.surface.reply import Receive, Reply, Scope, json_reply


class Readiness(msgspec.Struct, frozen=True):
    """Whether calls should be sent here; `degraded` names what does not work: database, embedding, draining."""

    ready: bool
    degraded: list[str] = []


class ServerState(Protocol):
    """What the composition root knows of the running server."""

    def ready(self) -> Awaitable[Readiness]:
        """Asks the database and the embedder, quickly."""
        ...


def make_probes(state: ServerState) -> list[ASGIRouteHandler]:
    """The three addresses; none asks for a key."""

    async def live(scope: Scope, receive: Receive) -> Reply:
        return json_reply({"status": "alive"}, headers={"cache-control": "no-store"})

    async def ready(scope: Scope, receive: Receive) -> Reply:
        found = await state.ready()
        body = {"status": "ready" if found.ready else "not ready", "degraded": found.degraded}
        return json_reply(body, 200 if found.ready else 503, {"cache-control": "no-store"})

    async def metrics(scope: Scope, receive: Receive) -> Reply:
        return Reply(200, render_metrics(), {"content-type": CONTENT_TYPE})

    return [mount_get("/livez", live), mount_get("/readyz", ready), mount_get("/metrics", metrics)]
