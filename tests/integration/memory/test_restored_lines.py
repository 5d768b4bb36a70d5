"""Lines of an export as they come: one that cannot be stored is refused alone, those that cannot stand together change nothing."""

from typing import Any

import pytest

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import Conflict
from service.memory.imports.restore import restore_lines
from tests.conftest import Memory


async def test_a_line_that_no_export_holds_is_refused_alone(database: Database, memory: Memory, project: ProjectRef) -> None:
    event: dict[str, Any] = {
        "line": "event", "id": 1, "session": None, "kind": "note", "summary": "Good", "content": None, "timestamp": None,
        "author": None, "ingest_key": None, "created_at": "2026-01-01T00:00:00Z", "entities": [], "tags": [],
    }  # fmt: skip
    lines = [
        event,
        {**event, "id": 2, "summary": ""},
        {**event, "id": 3, "summary": "x" * 501},
        {**event, "id": 2**60},
        {**event, "id": 2**53},
        {**event, "id": 4, "more": 1},
        "text",
        None,
        {"line": "next_link", "from_id": 1, "to_id": 77, "source": "thread"},
        {"line": "next_link", "from_id": 1, "to_id": 1, "source": "thread"},
        {"line": "alias", "a": {"name": "A", "type": "t"}, "b": {"name": "B", "type": "t"}, "confidence": 1, "asserted_by": None, "asserted_at": "2026-01-01T00:00:00Z"},
        {**event, "id": 5, "summary": "NUL \x00 and a key AKIAIOSFODNN7EXAMPLQ", "tags": [{"path": "t", "kind": "contains"}]},
        {"line": "finish", "numbers": {"events": 50, "pages": 0}},
    ]  # fmt: skip
    results = await restore_lines(database, project, lines)
    assert [result.code for result in results] == [
        None, "invalid_request", "too_long", "invalid_request", "invalid_request", "invalid_request", "invalid_request", "invalid_request",
        "not_found", "invalid_request", "not_found", None, None,
    ]  # fmt: skip
    (saved,) = await memory.save(project, [{"summary": "Next"}])
    assert saved == "evt_51"
    rows = await memory.rows(project, "SELECT summary FROM m_0.event WHERE id = 5")
    assert "\ufffd" in rows[0]["summary"]


async def test_lines_that_cannot_stand_together_change_nothing(database: Database, memory: Memory, project: ProjectRef) -> None:
    uuid = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
    session = {"line": "session", "uuid": uuid, "agent": None, "started_at": "2026-01-01T00:00:00Z", "ended_at": None}
    event = {
        "line": "event", "id": 1, "session": uuid, "kind": "note", "summary": "Good", "content": None, "timestamp": None,
        "author": None, "ingest_key": None, "created_at": "2026-01-01T00:00:00Z", "entities": [], "tags": [],
    }  # fmt: skip
    with pytest.raises(Conflict):
        await restore_lines(database, project, [{**session, "name": "another's"}, event])
    for table in ("session", "event", "passage"):
        assert await memory.rows(project, f"SELECT 1 FROM m_0.{table}") == []


async def test_names_that_hold_secrets_are_refused_since_two_would_become_one(
    database: Database, memory: Memory, project: ProjectRef
) -> None:
    secret = "ghp_" + "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2"
    at = "2026-01-01T00:00:00Z"
    session = {
        "line": "session",
        "name": "s",
        "uuid": "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
        "agent": None,
        "started_at": at,
        "ended_at": None,
    }
    page: dict[str, Any] = {
        "line": "page", "id": 1, "path": "a.md", "names": ["a.md"], "title": "A", "body": "text", "version": 1, "author": None,
        "created_at": at, "updated_at": at, "links": [], "entities": [], "tags": [], "aliases": [],
    }  # fmt: skip
    event: dict[str, Any] = {
        "line": "event", "id": 1, "session": secret, "kind": "note", "summary": "Good", "content": None, "timestamp": None,
        "author": None, "ingest_key": None, "created_at": at, "entities": [], "tags": [],
    }  # fmt: skip
    lines: list[Any] = [
        {**session, "name": f"of {secret}"},
        {**page, "path": f"{secret}.md"},
        {**page, "aliases": [f"{secret}.md"]},
        event,
        {**page, "line": ["page"]},
        page,
    ]
    results = await restore_lines(database, project, lines)
    assert [result.code for result in results] == ["invalid_request"] * 5 + [None]
    assert secret not in str(results)
    assert [row["path"] for row in await memory.rows(project, "SELECT path FROM m_0.page")] == ["a.md"]
