"""Cursors that this server did not give, for every list."""

import msgspec
import pytest

from service.errors import MunimentError
from service.memory.cursors import seal
from service.operations import CATALOGUE
from service.operations.operation import Operation
from tests.integration.operations.conftest import Desk

LISTS = [each for each in CATALOGUE if "cursor" in each.request.__struct_fields__]
PLACES = ["\x00", "1 \x00", "0001-01-01T00:00:00+00:00 \x00", "\x00 1", "x", "9" * 40, f"{10**30} 1", " ", "-1 x"]


@pytest.mark.parametrize("operation", LISTS, ids=lambda each: each.name)
@pytest.mark.parametrize("cursor", [*map(seal, PLACES), "%%", "é", "A", "=" * 8])
async def test_a_cursor_of_nobody_s_is_refused_or_leads_to_an_answer(desk: Desk, operation: Operation, cursor: str) -> None:
    required = [field.name for field in msgspec.structs.fields(operation.request) if field.required]
    await desk.save({"summary": "plum", "entities": [("plum", "fruit")]})
    try:
        answer = await desk.ask(operation.name, cursor=cursor, **dict.fromkeys(required, "plum"))
    except MunimentError as error:
        assert error.status in (400, 404, 422), error  # noqa: PT017  (either is right)
    else:
        assert isinstance(answer, operation.answer)
