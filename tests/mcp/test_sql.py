"""Free SQL through MCP and through REST: the same verdicts, the same rows, each query in the audit and none of its text."""

from typing import Any

import httpx2

from service.db.embedded import EmbeddedServer
from service.db.scope import ProjectRef
from service.tenants.owner import owner_connection
from tests.conftest import Memory
from tests.mcp.conftest import call
from tests.unit.sqltool.corpus import HARMLESS, REFUSED

TOOL = "query_memories_with_sql"
_MEMBERS = ("error", "code", "hint", "blocked_by", "line", "column", "excerpt", "allowed_tables", "allowed_functions", "allowed_types")


async def _both(client: httpx2.AsyncClient, text: str, params: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    arguments = {"sql": text, "params": params}
    rest = (await client.post("/api/v1/sql", json=arguments)).json()
    tool = await call(client, TOOL, arguments)
    return rest, tool


async def test_refusals_are_the_same(client: httpx2.AsyncClient) -> None:
    for text in REFUSED:
        rest, tool = await _both(client, text, [])
        assert tool["isError"], text
        said = httpx2.Response(200, content=tool["content"][0]["text"].encode()).json()
        assert rest["code"] == "sql_rejected", (text, rest)
        assert [rest.get(name) for name in _MEMBERS] == [said.get(name) for name in _MEMBERS], text


async def test_answers_are_the_same(client: httpx2.AsyncClient, project: ProjectRef, memory: Memory) -> None:
    await memory.save(project, [{"summary": "a row", "content": "with text"}])
    for text, params in HARMLESS.items():
        rest, tool = await _both(client, text, params)
        assert not tool["isError"], tool
        assert tool["structuredContent"] == rest, text


async def test_each_query_is_audited_without_its_text(client: httpx2.AsyncClient, project: ProjectRef, server: EmbeddedServer) -> None:
    for text in ("SELECT id FROM events WHERE summary = 'xylocarpus'", "DROP TABLE xylocarpus"):
        await client.post("/api/v1/sql", json={"sql": text})
    with owner_connection(server.owner_url) as owner:
        rows = owner.execute("SELECT a.* FROM control.audit AS a WHERE a.project_id = $1 ORDER BY a.id", (project.project_id,)).fetchall()
    assert [(row["operation"], row["outcome"]) for row in rows] == [(TOOL, "ok"), (TOOL, "sql_rejected")]
    assert "xylocarpus" not in str(rows)
