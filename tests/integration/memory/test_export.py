"""Taking a project out and in again: nothing is missing, nothing is there twice, and a damaged file says where."""

import asyncio
import json
import typing
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from service.access.keys import Caller
from service.access.scope import Scopes
from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.memory import export_format as form
from service.memory.correct import Correction, correct_event
from service.memory.export import export_project
from service.memory.forget import Forgetting
from service.memory.imports.report import Report
from service.memory.imports.restore import restore_lines
from service.memory.sessions import end_session
from service.operations import CATALOGUE
from service.operations.operation import Services
from service.operations.perform import perform
from service.sample.load import load_sample
from service.settings import Settings
from service.surface.cli.client import Client, Scope
from service.surface.cli.exports import ExportSender
from service.tenants.owner import owner_connection
from tests.conftest import Memory, Projects
from tests.integration.memory.test_forget import WORD, plant


async def taken(database: Database, project: ProjectRef) -> bytes:
    return b"".join([piece async for piece in export_project(database, project)])


class Direct:
    """Stores lines in a project without a server between."""

    def __init__(self, database: Database, project: ProjectRef) -> None:
        self._database, self._project, self._loop = database, project, asyncio.get_running_loop()
        self.left = 10**9

    def import_lines(self, scope: Scope, lines: list[Any]) -> bytes:
        self.left -= 1
        if self.left < 0:
            raise ConnectionError("cut")
        work = restore_lines(self._database, self._project, json.loads(json.dumps(lines)))
        return msgspec.json.encode({"results": asyncio.run_coroutine_threadsafe(work, self._loop).result()})


async def brought(
    database: Database, project: ProjectRef, file: Path, calls: int = 10**9
) -> tuple[list[Report], dict[str, dict[str, int]]]:
    direct = Direct(database, project)
    direct.left = calls
    sender = ExportSender(cast("Client", direct), Scope(project.workspace, project.project))
    reports = await asyncio.to_thread(lambda: list(sender.send(file)))
    return reports, sender.counts


def without_header(text: bytes) -> list[bytes]:
    """The lines that say what is in it: not the project's name, nor the checksum that holds it too."""
    return text.splitlines()[1:-1]


async def rich(database: Database, memory: Memory, project: ProjectRef) -> None:
    """The sample, and what it has not: versions, sessions with an end, gaps, long contents, events out of order, revoked claims."""
    await load_sample(database, project)
    await plant(database, project)
    ids = await memory.save(project, [{"summary": f"gap {n}", "session": "gaps", "tags": [("t", "refers")]} for n in range(4)])
    await Forgetting(database, project).events(ids[1:3])
    await correct_event(database, project, ids[0], Correction(summary="corrected"), "editor")
    await correct_event(database, project, "evt_3", Correction(content="another content"), "editor")
    await end_session(database, project, "gaps", "someone")
    async with database.write(project) as tx:
        await tx.execute("INSERT INTO m_0.next_link VALUES (9, 4, 'user_manual')")
        await tx.execute("UPDATE m_0.resolution SET revoked_at = now() WHERE evidence_id % 2 = 0")


@pytest.fixture
async def source(database: Database, memory: Memory, projects: Projects) -> ProjectRef:
    project = projects.make()
    await rich(database, memory, project)
    return project


def _columns(server: EmbeddedServer, project: ProjectRef) -> list[tuple[str, str]]:
    with owner_connection(server.owner_url) as owner:
        rows = owner.execute(
            "SELECT c.relname, a.attname FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
            "WHERE c.relnamespace = $1::text::regnamespace AND c.relkind IN ('r', 'p') AND c.relname !~ '^vector_[0-9]+$'",
            (project.schema,),
        ).fetchall()
    return [(row["relname"], row["attname"]) for row in rows]


def test_every_column_is_exported_or_made_anew(server: EmbeddedServer, project: ProjectRef) -> None:
    fields = {kind.__struct_config__.tag: {field.name for field in msgspec.structs.fields(kind)} for kind in typing.get_args(form.Content)}
    assert set(fields) == set(form.KINDS)
    columns = _columns(server, project)
    lost = [
        f"{table}.{column}"
        for table, column in columns
        if column not in fields.get(table, ())
        and table not in form.INSIDE
        and table not in form.MADE_ANEW
        and f"{table}.{column}" not in form.MADE_ANEW
    ]
    assert lost == [], "export them (sql/project/queries/export.sql), or say in export_format.MADE_ANEW why not"
    known = {table for table, _ in columns} | {f"{table}.{column}" for table, column in columns}
    assert {*form.INSIDE, *form.MADE_ANEW} - known == set()


async def test_each_line_is_what_the_format_says(database: Database, source: ProjectRef) -> None:
    text = await taken(database, source)
    lines = text.splitlines()
    header = msgspec.json.decode(lines[0], type=form.Header)
    found = [msgspec.json.decode(line, type=form.Content) for line in lines[1:-1]]
    counts = {kind: sum(each.__struct_config__.tag == kind for each in found) for kind in form.KINDS}
    assert counts == header.counts
    assert min(counts.values()) > 0, counts
    assert msgspec.json.decode(lines[-1], type=form.End).lines == len(lines) - 1
    assert text == await taken(database, source)


async def test_what_is_in_one_project_is_in_the_other(
    database: Database, memory: Memory, source: ProjectRef, projects: Projects, tmp_path: Path
) -> None:
    file = tmp_path / "export.jsonl"
    text = await taken(database, source)
    file.write_bytes(text)
    target = projects.make()
    reports, counts = await brought(database, target, file)
    assert reports == []
    assert {what for each in counts.values() for what, count in each.items() if count} == {"stored"}
    assert without_header(await taken(database, target)) == without_header(text)
    for table, columns in (
        ("lexeme", "word, df"),
        ("entity", "id, name, event_count, page_count"),
        ("counter", "events, entities, tags, pages"),
    ):
        sql = f"SELECT {columns} FROM m_0.{table} ORDER BY 1"
        assert await memory.rows(target, sql) == await memory.rows(source, sql), table
    for again in range(2):
        reports, counts = await brought(database, target, file)
        assert [report for report in reports if report.is_fault] == [], again
        assert sum(each.get("stored", 0) for kind, each in counts.items() if kind in ("event", "page", "entity", "tag", "session")) == 0
    assert without_header(await taken(database, target)) == without_header(text)
    await _same_answers(database, source, target)


async def _same_answers(database: Database, source: ProjectRef, target: ProjectRef) -> None:
    ids = [f"evt_{n}" for n in range(1, 90)]
    questions: list[tuple[str, dict[str, Any]]] = [
        *(
            ("memory_query", {"query": text, "limit": 20})
            for text in ("save format", "relay outage", "who decided on CRDT", WORD, "kick-off")
        ),
        *(
            (
                "query_memory_graph",
                {"query": f"START a = events(ids: $ids) MATCH {pattern} LIMIT 200", "params": {"ids": ids[start : start + 20]}},
            )
            for start in (0, 20, 40, 60)
            for pattern in (
                "(a)-[:NEXT]->(b) RETURN a, b",
                "(a)-[:RESOLVED_BY]->(b) RETURN a, b",
                "(a)-[:PARTICIPATED_IN]-(n) RETURN a, n",
                "(a)-[s:SHARES {min: 2}]-(b) RETURN b, s.count, s.via ORDER BY s.weight DESC, b.id",
            )
        ),
        ("find_memories_by_entity", {"name": "relay"}),
        ("get_memory_content", {"ids": ids}),
    ]
    told: list[tuple[str, int]] = []
    for name, given in questions:
        answers = [_comparable(await _ask(database, project, name, given)) for project in (source, target)]
        assert answers[0] == answers[1], (name, given)
        told.append((name, len(str(answers[0]))))
    assert sum(size > 1000 for _, size in told) > 15, told


async def _ask(database: Database, project: ProjectRef, name: str, given: dict[str, Any]) -> Any:
    services = Services(database=database, scopes=Scopes(database), settings=Settings(), embedder=None)
    caller = Caller("k", project.workspace_id, project.workspace, project.role, frozenset({"read"}), None, project.project_id)
    operation = next(each for each in CATALOGUE if each.name == name)
    return msgspec.to_builtins(await perform(services, caller, operation, msgspec.convert(given, operation.request)))


def _comparable(answer: Any) -> Any:
    """Without what names the project or tells how long it took."""
    if isinstance(answer, dict):
        hidden = {"project", "workspace", "scope", "ms"}
        return {key: _comparable(value) for key, value in answer.items() if key not in hidden and not key.endswith("_ms")}
    return [_comparable(each) for each in answer] if isinstance(answer, list) else answer


async def test_a_project_with_other_memory_gets_it_beside(
    database: Database, memory: Memory, source: ProjectRef, projects: Projects, tmp_path: Path
) -> None:
    file = tmp_path / "export.jsonl"
    file.write_bytes(await taken(database, source))
    target = projects.make()
    await memory.save(target, [{"summary": f"own {n}", "entities": ["Own", "Neighbour"], "tags": ["own", "t"]} for n in range(7)])
    await memory.page(target, "own.md", "Own", "Text")
    await memory.page(target, "kept.md", "Kept", "Another text.")
    reports, counts = await brought(database, target, file)
    assert [report for report in reports if report.is_fault] == []
    was, now = [(await memory.rows(each, "SELECT count(*) AS n FROM m_0.event"))[0]["n"] for each in (source, target)]
    assert now == was + 7
    assert len(await memory.rows(target, "SELECT id FROM m_0.event WHERE summary LIKE 'own%' AND id <= 7")) == 7
    links = "SELECT a.summary AS a, b.summary AS b, source FROM m_0.next_link JOIN m_0.event AS a ON a.id = from_id JOIN m_0.event AS b ON b.id = to_id ORDER BY 1, 2, 3"
    assert await memory.rows(target, links) == await memory.rows(source, links)
    (page,) = await memory.rows(target, "SELECT body, version FROM m_0.page WHERE path = 'kept.md'")
    assert tuple(page) == ("Stays.", 2)
    before = await taken(database, target)
    _, counts = await brought(database, target, file)
    assert counts["event"]["stored"] == counts["page"]["stored"] == 0
    assert await taken(database, target) == before


async def test_a_second_run_finishes_what_was_cut(database: Database, source: ProjectRef, projects: Projects, tmp_path: Path) -> None:
    file = tmp_path / "export.jsonl"
    text = await taken(database, source)
    file.write_bytes(text)
    target = projects.make()
    for calls in range(1, 9):
        with pytest.raises(ConnectionError):
            await brought(database, target, file, calls)
    reports, _ = await brought(database, target, file)
    assert reports == []
    assert without_header(await taken(database, target)) == without_header(text)


async def test_a_damaged_file_says_where(
    database: Database, memory: Memory, source: ProjectRef, projects: Projects, tmp_path: Path
) -> None:
    file = tmp_path / "export.jsonl"
    text = await taken(database, source)
    lines = text.splitlines(keepends=True)
    events = [number for number, line in enumerate(lines) if line.startswith(b'{"line":"event",')]
    bad = list(lines)
    bad[events[0]] = bad[events[0]][: len(bad[events[0]]) // 2] + b"\n"
    bad[events[5]] = bad[events[5]].replace(b'"kind":', b'"kid":')
    bad[events[6]] = b"\xff\xfe\n"
    bad[events[7]] = b'{"line":"else"}\n'
    file.write_bytes(b"".join(bad))
    target = projects.make()
    reports, counts = await brought(database, target, file)
    shown = {(report.line, report.code) for report in reports}
    assert shown >= {
        (events[0] + 1, "malformed_json"),
        (events[5] + 1, "invalid_request"),
        (events[6] + 1, "malformed_json"),
        (events[7] + 1, "unknown_line"),
        (None, "lines_missing"),
        (None, "checksum"),
    }
    assert any(report.code == "link_lost" and report.line is not None for report in reports)
    assert counts["event"]["stored"] == len(events) - 4
    file.write_bytes(text)
    reports, _ = await brought(database, target, file)
    (row,) = await memory.rows(target, "SELECT count(*) AS n FROM m_0.event")
    assert row["n"] == len(events)
    file.write_bytes(b"".join(lines[: len(lines) // 2]) + b'{"line":"ev')
    reports, _ = await brought(database, projects.make(), file)
    assert {report.code for report in reports} == {"malformed_json", "lines_missing", "cut_off"}
    for junk in (
        b"",
        b"hello\n",
        b"[1]\n",
        b'{"line":"event"}\n',
        b'{"line":"header","format":"muniment-export","version":2,"workspace":"","project":"","counts":{},"numbers":{}}\n',
    ):
        file.write_bytes(junk)
        reports, counts = await brought(database, projects.make(), file)
        assert counts == {}
        assert [report.is_fault for report in reports[:1]] == [True]


async def test_what_was_forgotten_is_in_no_export(database: Database, source: ProjectRef) -> None:
    assert WORD.encode() in await taken(database, source)
    await Forgetting(database, source).page(f"notes/{WORD}.md")
    await Forgetting(database, source).session(f"run {WORD}")
    assert WORD.encode() not in await taken(database, source)
