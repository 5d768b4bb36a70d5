"""The operation that runs free, read-only SQL over one project's views."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from service.access.keys import Caller
from service.operations.operation import Operation, Route, Services, Tool
from service.operations.writing import Project, Workspace
from service.sqltool.answer import SqlAnswer
from service.sqltool.describe import DESCRIPTION
from service.sqltool.run import SqlLimits, run_query


class QueryMemoriesWithSql(msgspec.Struct, frozen=True, kw_only=True):
    """A query in SQL, with its parameters."""

    sql: Annotated[str, Meta(description='One SELECT, WITH … SELECT or VALUES; or "describe", "describe events".')]
    params: Annotated[list[Any], Meta(description="Values of $1, $2, … in their order: text, numbers, booleans, lists.")] = []
    workspace: Workspace = None
    project: Project = None


async def query_memories_with_sql(services: Services, caller: Caller, request: QueryMemoriesWithSql) -> SqlAnswer:
    project = await services.scopes.one(caller, request.workspace, request.project)
    limits = SqlLimits(statement_ms=services.settings.sql_statement_ms, most_bytes=services.settings.answer_max_bytes)
    return await run_query(services.database, project, request.sql, request.params, limits=limits)


OPERATIONS = (
    Operation(
        name="query_memories_with_sql",
        scope="read",
        summary="Query the memory in SQL",
        request=QueryMemoriesWithSql,
        answer=SqlAnswer,
        run=query_memories_with_sql,
        lists=("rows",),
        less="select fewer or shorter columns, such as left(content, 200).",
        routes=(Route("POST", "/sql"),),
        tool=Tool(title="Query memory in SQL", description=DESCRIPTION),
        aliases={"query": "sql"},
        audited=True,
    ),
)
