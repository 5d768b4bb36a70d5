"""Making, renaming and deleting projects: a row, a schema, its tables and grants, all or nothing.

In: a workspace's id, a slug, a name, the embedding space. Out: the project's id and whether it is new.
"""

import re
from typing import Final

import asyncpg
import msgspec
import stamina

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import Conflict, DatabaseBusy, InvalidRequest, NotFound, TooLong, no_project
from service.memory.text import clean_name

_SLUG: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
LONGEST_NAME: Final = 200
_DROP_MS: Final = 60_000  # it waits ten seconds for those who read, and then has files to delete
_BUSY: Final = (asyncpg.LockNotAvailableError, DatabaseBusy)


def check_slug(slug: str, what: str) -> str:
    """A slug as it is stored; raises `InvalidRequest`."""
    if not _SLUG.fullmatch(slug):
        raise InvalidRequest(
            f"{what}: {slug[:80]!r} is no slug.",
            hint="Use 1 to 63 lower-case letters, digits and hyphens, beginning with a letter or digit.",
        )
    return slug


def check_name(name: str) -> str:
    cleaned = clean_name(name)
    if len(cleaned) > LONGEST_NAME:
        raise TooLong(f"name: at most {LONGEST_NAME} characters, not {len(cleaned)}.")
    return cleaned


async def delete_project(database: Database, project: ProjectRef) -> dict[str, int]:
    """Deletes a project with all it holds: how many rows each of its tables held. Raises `NotFound` or `DatabaseBusy`."""
    counts = await drop_project(database, project.workspace_id, project.project_id)
    if counts is None:
        raise no_project(project.project)
    return counts


async def drop_project(database: Database, workspace_id: int, project_id: int) -> dict[str, int] | None:
    """The same by its number; None when the workspace has no such project."""
    try:
        drop = stamina.retry(on=_BUSY, attempts=3, timeout=None)(database.control)
        (row,) = await drop("drop_project", workspace_id, project_id, allowed_ms=_DROP_MS)
    except _BUSY as error:
        raise DatabaseBusy("The project is being read for a long time, so it was not deleted.", hint="Try again.") from error
    return None if row["counts"] is None else msgspec.json.decode(row["counts"], type=dict[str, int])


async def rename_project(database: Database, project: ProjectRef, slug: str | None, name: str | None) -> None:
    """Gives a project another slug or name; raises `NotFound`, or `Conflict` for a slug that is taken."""
    try:
        (row,) = await database.control("rename_project", project.workspace_id, project.project_id, slug, name)
    except asyncpg.UniqueViolationError as error:
        raise Conflict(f"There is a project {slug!r} in this workspace already.", hint="Choose another slug.") from error
    if not row["found"]:
        raise no_project(project.project)


async def create_project(
    database: Database, workspace_id: int, slug: str, name: str | None, space: tuple[str, str, int] | None
) -> tuple[int, bool]:
    """Makes the project, or finds the one that stands under this slug."""
    check_slug(slug, "slug")
    space_id = (await database.control("add_space", *space))[0]["id"] if space else None
    try:
        (row,) = await database.control("create_project", workspace_id, slug, check_name(name or slug) or slug, space_id)
    except asyncpg.ForeignKeyViolationError as error:
        raise NotFound("The workspace is gone.") from error
    return row["id"], row["created"]
