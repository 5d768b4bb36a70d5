"""A server with a worker, and its operations as an admin calls them."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from service.access.keys import ALL_SCOPES, Caller
from service.access.scope import Scopes
from service.db.owner import OwnerDatabase
from service.db.pools import Database
from service.db.queries import load
from service.db.scope import ProjectRef
from service.embed.backfill import Backfill, Reach
from service.embed.own import OwnProviders
from service.embed.query import OwnEmbedders, QueryEmbedder
from service.embed.query_cache import QueryCache
from service.embed.sealed import Seal
from service.operations import CATALOGUE
from service.operations.operation import Services
from service.operations.perform import perform
from service.settings import Settings
from tests.integration.embed.misbehaving import KEY, Misbehaving
from tests.integration.embed.test_backfill import Letters

PEPPER = "a pepper for tests"
SETTINGS = Settings(embedding_workspace_hosts=["127.0.0.1"])


class House:
    """A server with a worker; its own provider makes three numbers of a text."""

    def __init__(self, database: Database, owner: OwnerDatabase, settings: Settings = SETTINGS, pepper: str = PEPPER) -> None:
        self.letters = Letters()
        self.database, self.owner = database, owner
        self.providers = OwnProviders(settings, Seal(pepper), self.letters, partial(database.control, "find_embedding"))
        self.embedder = QueryEmbedder(self.letters, QueryCache(), 5.0)
        self.services = Services(
            database=database,
            scopes=Scopes(database),
            settings=settings,
            embedder=self.embedder,
            pepper=pepper,
            own_embedders=OwnEmbedders(self.providers, QueryCache(), 5.0),
        )
        self.read_by_worker = OwnProviders(settings, Seal(pepper), self.letters, self._read)
        self.backfill = Backfill(owner, self.letters, reach=Reach(self.read_by_worker))

    async def _read(self, workspace_id: int) -> Sequence[Any]:
        return await self.owner.fetch(load("control", "worker")["find_embedding"].sql, workspace_id)

    async def ask(self, project: ProjectRef, name: str, *scopes: str, bound: bool = False, **arguments: Any) -> Any:
        only = frozenset({project.project_id}) if bound else None
        caller = Caller(
            "k", project.workspace_id, project.workspace, project.role, frozenset(scopes or ALL_SCOPES), only, project.project_id
        )
        operation = next(each for each in CATALOGUE if each.name == name)
        return await perform(self.services, caller, operation, msgspec.convert(arguments, operation.request))

    async def work(self) -> None:
        await self.owner.fetch("UPDATE control.due SET next_at = now()")
        while (await self.backfill.run_round()).more:
            pass

    async def close(self) -> None:
        await self.providers.close()
        await self.read_by_worker.close()


def own(server: Misbehaving, **more: Any) -> dict[str, Any]:
    """Settings of a workspace's own provider that lead to a server of the tests."""
    return {"provider": "openai", "model": "m", "url": f"{server.url}/v1", "key": KEY, **more}
