"""Plans that Postgres keeps for a connection, those of its foreign keys among them, do not read whole tables once these have grown."""

from typing import Any

import asyncpg
import pytest

from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import DatabaseBusy
from service.memory.events import delete_event
from service.memory.pages import PageInput, delete_page, write_page
from service.tenants.migrate import MigrationReport
from tests.conftest import Memory

EMBED = (
    "INSERT INTO m_0.vector_0 (passage_id, kind, owner_id, text_hash, vector) "
    "SELECT p.id, CASE WHEN p.page_id IS NOT NULL THEN 2 ELSE 0 END, coalesce(p.event_id, p.page_id), p.text_hash, "
    "array_fill(0.5, ARRAY[384])::vector::halfvec FROM m_0.passage AS p ON CONFLICT DO NOTHING"
)


async def read_whole(owner_url: str, project: ProjectRef) -> dict[str, int]:
    """Rows that were read by going through a whole table, as Postgres counts them once a connection has ended."""
    owner: Any = await asyncpg.connect(owner_url)
    try:
        await owner.execute("SELECT pg_stat_clear_snapshot()")
        rows = await owner.fetch("SELECT relname, seq_tup_read FROM pg_stat_user_tables WHERE schemaname = $1", project.schema)
    finally:
        await owner.close()
    return {row["relname"]: row["seq_tup_read"] for row in rows}


async def test_deleting_a_large_page_reads_no_table_whole(
    migrated: MigrationReport, server: EmbeddedServer, memory: Memory, project: ProjectRef
) -> None:
    kept = await Database.open(migrated.api_url, max_size=1)
    ids = await memory.save(project, [{"summary": f"small {number}"} for number in range(12)])
    async with memory.database.write(project) as tx:
        await tx.execute(EMBED)
    owner: Any = await asyncpg.connect(server.owner_url)
    for table in ("passage", "lexeme", "entity", "page_entity", "participation", "embed_failure"):
        await owner.execute(f"VACUUM (ANALYZE) {project.schema}.{table}")
    (vectors,) = await owner.fetch(
        "SELECT relname FROM pg_class WHERE relnamespace = $1::text::regnamespace AND relname ~ '^vector_[0-9]+$'", project.schema
    )
    await owner.execute(f"VACUUM (ANALYZE) {project.schema}.{vectors[0]}")
    await owner.close()
    for event_id in ids[:10]:  # plans are kept from the sixth call on
        await delete_event(kept, project, event_id)
    body = "\n\n".join(f"## Part {number}\n\n" + f"word{number} " * 120 for number in range(1500))
    await write_page(memory.database, project, PageInput("big.md", body), "test")
    async with memory.database.write(project) as tx:
        await tx.execute(EMBED)
    before = await read_whole(server.owner_url, project)
    await delete_page(kept, project, "big.md", None)
    async with kept.read(project) as tx:
        await tx.execute("SELECT pg_stat_force_next_flush()")
    await kept.close()
    after = await read_whole(server.owner_url, project)
    assert {
        table: after[table] - before[table] for table in (vectors[0], "passage", "lexeme") if after[table] - before[table] > 50_000
    } == {}
    assert (
        await memory.rows(project, "SELECT word, df FROM m_0.lexeme EXCEPT SELECT 'small', 2 EXCEPT SELECT '10', 1 EXCEPT SELECT '11', 1")
        == []
    )


async def test_removing_words_joins_nothing(server: EmbeddedServer, project: ProjectRef) -> None:
    """Of the trigger's tables Postgres guesses the size: each of its statements must go by the index whatever that is."""
    owner: Any = await asyncpg.connect(server.owner_url)
    text = await owner.fetchval("SELECT prosrc FROM pg_proc WHERE proname = $1", f"{project.schema}_passage_removed")
    await owner.close()
    assert "USING" not in text
    assert "UPDATE lexeme" not in text


async def test_waiting_for_a_lock_is_no_slow_query(memory: Memory, project: ProjectRef) -> None:
    async with memory.database.write(project) as holding:
        await holding.fetch("SELECT 1 FROM m_0.counter FOR UPDATE")
        with pytest.raises(DatabaseBusy) as refusal:
            async with memory.database.write(project, statement_ms=3_000) as waiting:
                await waiting.fetch("SELECT 1 FROM m_0.counter FOR UPDATE")
    assert "limit" not in (refusal.value.hint or "")
