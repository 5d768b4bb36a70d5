"""Probes and metrics."""

import httpx2

from service.db.pools import Database
from service.settings import Settings
from tests.conftest import MigrationReport
from tests.integration.surface.conftest import Running, run_app


async def test_a_working_server_is_ready(running: Running) -> None:
    async with running.client() as anonymous:
        assert (await anonymous.get("/livez")).status_code == 200
        ready = await anonymous.get("/readyz")
    assert (ready.status_code, ready.json()) == (200, {"ready": True, "degraded": []})


async def test_the_root_says_what_this_is_and_where_its_surfaces_are(running: Running) -> None:
    async with running.client() as anonymous:
        told = await anonymous.get("/")
        headed = await anonymous.head("/")
        posted = await anonymous.post("/")
        document = await anonymous.get(told.json()["openapi"])
    assert (told.status_code, told.json()["name"], told.json()["mcp"]) == (200, "Muniment", "/mcp")
    assert document.json()["info"]["version"] == told.json()["version"]
    assert all(path.startswith(told.json()["api"]) for path in document.json()["paths"])
    assert (headed.status_code, headed.content, posted.status_code) == (200, b"", 405)


async def test_what_is_missing_is_named(migrated: MigrationReport) -> None:
    database = await Database.open(migrated.api_url, max_size=1)
    async with run_app(database, Settings(embedding_provider="local")) as served, served.client() as anonymous:
        degraded = await anonymous.get("/readyz")
        served.state.draining = True
        draining = await anonymous.get("/readyz")
        await database.close()
        down = await anonymous.get("/readyz")
        alive = await anonymous.get("/livez")
    assert (degraded.status_code, degraded.json()["degraded"]) == (200, ["embedding"])
    assert (draining.status_code, draining.json()["degraded"]) == (503, ["embedding", "draining"])
    assert (down.status_code, down.json()["degraded"]) == (503, ["database", "embedding", "draining"])
    assert alive.status_code == 200


async def test_metrics_count_calls_and_name_no_workspace(client: httpx2.AsyncClient, base: str, project: object) -> None:
    await client.get(f"{base}/status")
    await client.get(f"{base}/entities", params={"nam": "x"})
    text = (await client.get("/metrics")).text
    assert 'muniment_calls_total{operation="memory_status",status="ok",surface="rest"}' in text
    assert 'muniment_refusals_total{code="invalid_request",surface="rest"}' in text
    assert base.split("/")[4] not in {part.split('"')[1] for part in text.split(",") if '="' in part}
