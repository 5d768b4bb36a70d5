"""What a caller was granted: read at the moment of the call, by workspace, and gone for all that does more than read."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from service.access.keys import ALL_SCOPES, Caller, Granted, read_granted

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _row(workspace: int, project: int | None, ends: timedelta | None = None) -> dict[str, Any]:
    expires_at = None if ends is None else (NOW + ends).isoformat()
    return {"workspace_id": workspace, "workspace": f"w{workspace}", "role": "r", "project_id": project, "expires_at": expires_at}


@pytest.mark.parametrize(
    ("rows", "granted"),
    [
        ([_row(1, 5), _row(2, 7), _row(1, 6)], [(1, {5, 6}), (2, {7})]),
        ([_row(1, 5), _row(1, None)], [(1, None)]),
        ([_row(1, None, timedelta(0)), _row(1, 5, timedelta(seconds=1)), _row(2, 7, timedelta(days=-1))], [(1, {5})]),
        ([_row(1, None, timedelta(microseconds=-1))], []),
    ],
)
def test_grants_count_until_they_end(rows: list[dict[str, Any]], granted: list[tuple[int, set[int] | None]]) -> None:
    found = read_granted(msgspec.json.encode(rows).decode(), NOW)
    assert [(each.workspace_id, each.projects) for each in found] == granted


def test_only_reading_sees_them() -> None:
    caller = Caller("k", 1, "w1", "r", frozenset(ALL_SCOPES), None, None, granted=(Granted(2, "w2", "r2", None),))
    assert caller.acting("read") == caller
    assert caller.acting("write").granted == caller.acting("admin").granted == ()
