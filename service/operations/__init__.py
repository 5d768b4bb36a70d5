"""The catalogue: each operation once, with its scope, its types, its function and how it shows on each surface.

A surface walks `CATALOGUE` and knows no operation by name, so that a new one is on all of them at once, under the same rules.
"""

from typing import Final

from service.operations import (
    audit,
    browsing,
    connections,
    correcting,
    embedding,
    forgetting,
    grants,
    keys,
    linking,
    meaning,
    members,
    moving,
    projects,
    reading,
    searching,
    sessions,
    sql,
    workspaces,
    writing,
)
from service.operations.operation import Operation

CATALOGUE: Final[tuple[Operation, ...]] = (
    *searching.OPERATIONS,
    *meaning.OPERATIONS,
    *connections.OPERATIONS,
    *sql.OPERATIONS,
    *reading.OPERATIONS,
    *browsing.OPERATIONS,
    *writing.OPERATIONS,
    *correcting.OPERATIONS,
    *linking.OPERATIONS,
    *forgetting.OPERATIONS,
    *moving.OPERATIONS,
    *sessions.OPERATIONS,
    *projects.OPERATIONS,
    *embedding.OPERATIONS,
    *keys.OPERATIONS,
    *members.OPERATIONS,
    *grants.OPERATIONS,
    *workspaces.OPERATIONS,
    *audit.OPERATIONS,
)
