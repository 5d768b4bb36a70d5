"""Refusals of the database as the project's own errors."""

import asyncpg
import pytest

from service.db.budget import StatementFailed
from service.db.transaction import named_errors
from service.errors import DatabaseBusy, DatabaseFull, DatabaseUnavailable, MunimentError


@pytest.mark.parametrize("in_a_stage", [False, True])
@pytest.mark.parametrize(
    ("raised", "named"),
    [
        (asyncpg.DiskFullError, DatabaseFull),
        (asyncpg.OutOfMemoryError, DatabaseBusy),
        (asyncpg.ConfigurationLimitExceededError, DatabaseBusy),
        (asyncpg.TooManyConnectionsError, DatabaseUnavailable),
    ],
)
async def test_what_the_database_lacks_is_told(raised: type[asyncpg.PostgresError], named: type[MunimentError], in_a_stage: bool) -> None:
    with pytest.raises(named) as told, named_errors():
        raise StatementFailed(raised.__name__, raised.sqlstate) if in_a_stage else raised("somebody's words")
    assert "somebody" not in str(told.value) + (told.value.hint or "")


async def test_a_statement_that_failed_otherwise_is_our_own_fault() -> None:
    with pytest.raises(StatementFailed), named_errors():
        raise StatementFailed("UndefinedColumnError", asyncpg.UndefinedColumnError.sqlstate)
