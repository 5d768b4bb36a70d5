"""Exports while others export and write: few at once, and each of one state."""

import msgspec
import pytest

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import DatabaseBusy
from service.memory import export_format as form
from service.memory.export import export_project
from service.memory.forget import Forgetting
from tests.conftest import Memory
from tests.integration.memory.test_export import taken


async def test_few_exports_at_once(database: Database, memory: Memory, project: ProjectRef) -> None:
    await memory.save(project, [{"summary": "one"}])
    async with database.read_long(project), database.read_long(project):
        with pytest.raises(DatabaseBusy):
            await taken(database, project)
    assert (await taken(database, project)).count(b"\n") == 3


async def test_one_state_is_exported_while_others_write(database: Database, memory: Memory, project: ProjectRef) -> None:
    await memory.save(project, [{"summary": f"old {n} " + "x" * 400, "content": "y" * 2000, "session": "s"} for n in range(300)])
    pieces = export_project(database, project)
    first = await anext(pieces)
    await memory.save(project, [{"summary": "new", "session": "t"}])
    await Forgetting(database, project).session("s")
    lines = (first + b"".join([piece async for piece in pieces])).splitlines()
    header = msgspec.json.decode(lines[0], type=form.Header)
    assert (header.counts["event"], header.counts["session"]) == (300, 1)
    assert sum(line.startswith(b'{"line":"event",') for line in lines) == 300
