"""Rates on a running server: too many calls are refused on REST and MCP alike, and only those of the key that makes them."""

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.settings import Settings
from tests.integration.surface.conftest import MakeKey, run_app

PING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


async def test_a_key_that_calls_too_often_is_told_when_to_come_back(database: Database, project: ProjectRef, make_api_key: MakeKey) -> None:
    busy, calm = make_api_key(project, "read"), make_api_key(project, "read")
    settings = Settings(embedding_provider="none", rate_key_per_minute=5)
    async with run_app(database, settings) as running, running.client(busy) as client, running.client(calm) as other:
        answers = [await client.get("/api/v1/workspaces/x/projects") for _ in range(8)]
        assert [answer.status_code for answer in answers[:5]] == [404] * 5
        assert {answer.status_code for answer in answers[5:]} == {429}
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert answers[-1].json()["code"] == "rate_limited"
        mcp = await client.post("/mcp", json=PING, headers={"accept": "application/json, text/event-stream"})
        assert mcp.status_code == 429
        assert (await other.get("/api/v1/workspaces/x/projects")).status_code == 404
