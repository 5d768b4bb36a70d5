"""Keys are shown once: what the database holds and what a server logs, however much it logs, has none in it."""

import json
from pathlib import Path

import httpx2

from tests.integration.cli.conftest import served
from tests.integration.forgetting.everywhere import find_in_database

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


def _bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}", "accept": "application/json, text/event-stream"}


def test_no_key_is_in_the_database_or_in_the_logs(tmp_path: Path) -> None:
    more = {"MUNIMENT_LOG_LEVEL": "debug", "MUNIMENT_LOG_FORMAT": "json", "MUNIMENT_EMBEDDING_PROVIDER": "none"}
    with served(tmp_path / "data", **more) as (server, _), httpx2.Client(base_url=server.url, trust_env=False, timeout=30) as client:
        root = f"/api/v1/workspaces/{server.workspace}"
        made = client.post(f"{root}/keys", json={"name": "wren"}, headers=_bearer(server.key)).json()
        told: list[str] = []
        for key in (server.key, made["key"]):
            for reply in (
                client.get(f"{root}/projects", headers=_bearer(key)),
                client.post("/mcp", json=LIST, headers=_bearer(key)),
                client.get(f"{root}/keys", headers=_bearer(key)),
                client.post("/api/v1/sql", json={"sql": "SELECT nothing", "key": key}, headers=_bearer(key)),
                client.get(f"{root}/projects", params={"key": key}, headers=_bearer(key)),
                client.post("/api/v1/search", content=b"{", headers=_bearer(key) | {"content-type": "application/json"}),
                client.get("/metrics"),
                client.delete(f"{root}/keys/{key.split('_')[1]}", headers=_bearer(made["key"])),
            ):
                assert reply.status_code < 500
                told.append(reply.text)
        secrets = [key.split("_", 2)[2] for key in (server.key, made["key"])]
        secrets.append((server.data / "pepper").read_text(encoding="utf-8").strip())
        database = json.loads((server.data / "connection.json").read_text(encoding="utf-8"))["database"]
        stored = [found for secret in secrets for found in find_in_database(database, secret)]
        assert stored == []
        assert find_in_database(database, made["id"]) != []
    logs = [*(tmp_path / "data").rglob("postgres.log*"), tmp_path / "data.log"]
    logged = "".join(path.read_text(encoding="utf-8", errors="replace") for path in logs)
    assert made["id"] in logged
    assert [secret for secret in secrets for text in (logged, *told) if secret in text] == []


def test_a_wrong_secret_is_told_like_an_unknown_key(tmp_path: Path) -> None:
    with served(tmp_path / "data", MUNIMENT_EMBEDDING_PROVIDER="none") as (server, _):
        known, secret = server.key.split("_", 2)[1:]
        replies = [
            httpx2.get(f"{server.url}/api/v1/projects", headers=_bearer(f"mun_{key_id}_{text}"), trust_env=False)
            for key_id, text in ((known, secret[::-1]), ("q" * 12, secret), ("q" * 12, secret[::-1]))
        ]
        assert [reply.status_code for reply in replies] == [401] * 3
        assert len({reply.text for reply in replies}) == 1
        right = httpx2.get(f"{server.url}/api/v1/projects", headers=_bearer(server.key), trust_env=False)
        assert right.status_code == 200
