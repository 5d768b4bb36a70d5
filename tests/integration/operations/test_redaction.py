"""No field of any operation that writes, and none of an export's lines, brings a secret into the database.

Operations, fields and lines are read from the catalogue and from an export.
"""

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from service.db.embedded import EmbeddedServer
from service.db.scope import ProjectRef
from service.errors import MunimentError
from service.memory.correct import Correction, correct_event
from service.memory.export import export_project
from service.memory.export_format import KINDS
from service.operations import CATALOGUE
from service.operations.operation import Operation
from service.operations.perform import perform
from tests.conftest import Memory, Projects
from tests.integration.memory.test_forget import plant
from tests.integration.operations.conftest import Desk
from tests.isolation.foreign import fields_with_text, requests_with
from tests.isolation.test_matrix import request_of, rows_of, takes
from tests.unit.memory.secret_builder import PREFIXED

TOKEN = PREFIXED["github_token"][0]
WRITING = [each for each in CATALOGUE if each.scope != "read" and takes(each, "project")]


def _held(server: EmbeddedServer, project: ProjectRef) -> list[str]:
    return [row for row in rows_of(server, project) if TOKEN.lower() in row.lower()]


@pytest.mark.parametrize("operation", WRITING, ids=lambda operation: operation.name)
async def test_no_field_brings_a_secret_in(desk: Desk, server: EmbeddedServer, operation: Operation) -> None:
    await desk.save({"summary": "first"}, {"summary": "second"}, vectors=False)
    others = msgspec.to_builtins(request_of(operation, {}))
    for field in fields_with_text(operation):
        for text in (TOKEN, f"키는 {TOKEN}를"):
            for request in requests_with(operation, field, text, others):
                with suppress(MunimentError):  # which may tell the caller what was sent
                    answer = await perform(desk.services, desk.caller, operation, request)
                    if field != "lines":  # of which each may be an error
                        assert TOKEN not in msgspec.json.encode(answer).decode(), field
    assert _held(server, desk.project) == []


def _with_secret(value: Any) -> Iterator[Any]:
    """The same with the secret in each of its texts, one at a time."""
    if isinstance(value, str):
        yield f"{value} {TOKEN}"
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        for changed in _with_secret(inner) if key != "line" else ():
            made = copy.copy(value)
            made[key] = changed
            yield made


async def test_no_line_of_an_export_brings_a_secret_in(desk: Desk, server: EmbeddedServer, projects: Projects, memory: Memory) -> None:
    source = projects.make()
    await plant(memory.database, source)
    (corrected,) = await memory.save(source, [{"summary": "before"}])
    await correct_event(memory.database, source, corrected, Correction(summary="after"), "editor")
    text = b"".join([piece async for piece in export_project(memory.database, source)])
    lines = [json.loads(line) for line in text.splitlines()[1:-1]]
    tried: dict[str, int] = dict.fromkeys(KINDS, 0)
    for place, line in enumerate(lines):
        for changed in _with_secret(line):
            tried[line["line"]] += 1
            with suppress(MunimentError):  # the line contradicts those before it
                await desk.ask("import_lines", lines=[*lines[:place], changed])
    assert min(tried.values()) > 0, tried
    assert _held(server, desk.project) == []
