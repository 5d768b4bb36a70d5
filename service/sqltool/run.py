"""Running a free SQL query in one project.

In: the text and its parameters. Out: `SqlAnswer`; raises `SqlRejection`, or `QueryTooSlow`. The checked text runs inside the function
that the project's reader role owns (sql/project/reader.sql), in a read-only transaction; whatever it changed is rolled back, and the
locks that it took are given back.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import Any, Final

import asyncpg
import msgspec

from service.db.pools import Database
from service.db.queries import load
from service.db.scope import ProjectRef
from service.db.transaction import Tx
from service.sqltool.answer import MOST_ROWS, SqlAnswer, describe_views, make_answer
from service.sqltool.arguments import bind
from service.sqltool.check import check
from service.sqltool.failure import refusal_of
from service.sqltool.parse import Question
from service.sqltool.rejection import SqlRejection, suggestion
from service.sqltool.views import VIEWS

_DESCRIBE: Final = re.compile(r"\s*describe(?:\s+(\w+))?\s*;?\s*", re.IGNORECASE)


class SqlLimits(msgspec.Struct, frozen=True):
    """How long a query may take, and how many bytes of rows it may give."""

    statement_ms: int = 5_000
    most_bytes: int = 1024 * 1024


async def run_query(database: Database, project: ProjectRef, sql: str, params: Sequence[Any], *, limits: SqlLimits) -> SqlAnswer:
    """The rows of one read-only query over the project's views; `describe` and `describe <view>` tell their columns."""
    if asked := _DESCRIBE.fullmatch(sql):
        return _describe(asked[1])
    question = await asyncio.to_thread(check, sql, params)
    try:
        async with database.read_free(project, statement_ms=limits.statement_ms) as tx:
            try:
                return await _ask(tx, question, params, limits)
            except asyncpg.PostgresError as error:
                refusal = refusal_of(error)
                if refusal is None:
                    raise
                raise refusal.located(sql) from error
    except SqlRejection as refusal:
        if refusal.members.get("sqlstate") == "42P01":
            await _require(database, project)
        raise


async def _ask(tx: Tx, question: Question, params: Sequence[Any], limits: SqlLimits) -> SqlAnswer:
    await tx.execute("SAVEPOINT question")
    await tx.set_local(search_path=f"{tx.project.schema}, pg_temp")
    described = await tx.describe(question.text)
    if not described.columns:
        raise SqlRejection("The query selects no column.", blocked_by="statement", hint="Name columns after SELECT, or *.")
    text, values = bind(question, params, described.parameters)
    rows = await tx.fetch(
        load("project", "sqltool")["read_rows"].sql, text, values, len(described.columns), MOST_ROWS + 1, limits.most_bytes
    )
    await tx.roll_back_to("question")
    return make_answer(described.columns, [row["line"] for row in rows], limits.most_bytes)


async def _require(database: Database, project: ProjectRef) -> None:
    """Postgres has one error for an unknown alias and for a project that was dropped: raises `NotFound` for the latter."""
    async with database.read(project) as tx:
        await tx.fetch(load("project", "sqltool")["stands"].sql)


def _describe(name: str | None) -> SqlAnswer:
    wanted = name.lower() if name else None
    if wanted is not None and wanted not in VIEWS:
        raise SqlRejection(
            f"There is no view {wanted[:80]!r}.",
            blocked_by="table",
            hint=suggestion(wanted, VIEWS, "Describe one of the views in allowed_tables."),
            allowed_tables=list(VIEWS),
        )
    return describe_views(wanted)
