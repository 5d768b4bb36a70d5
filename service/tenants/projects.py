"""Making projects: a row, a schema, its tables and grants, all or nothing.

In: a workspace's id, a slug, a name, the embedding space. Out: the project's id and whether it is new.
"""

import re
from typing import Final

from service.db.pools import Database
from service.errors import InvalidRequest, TooLong
from service.memory.text import clean_name

_SLUG: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
LONGEST_NAME: Final = 200


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


async def create_project(
    database: Database, workspace_id: int, slug: str, name: str | None, space: tuple[str, str, int] | None
) -> tuple[int, bool]:
    """Makes the project, or finds the one that stands under this slug."""
    check_slug(slug, "slug")
    space_id = (await database.control("add_space", *space))[0]["id"] if space else None
    (row,) = await database.control("create_project", workspace_id, slug, check_name(name or slug) or slug, space_id)
    return row["id"], row["created"]
