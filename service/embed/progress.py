"""How far a project's vectors are, and asking for more, from the API's side of the database.

In: a project, the space that it is to be in. Out: `Progress`. What is asked for stands in a row until a worker takes it up.
"""

from datetime import datetime

import msgspec

from service.db.pools import Database
from service.db.queries import load
from service.db.scope import ProjectRef, SpaceRef
from service.embed.provider import Space


class Progress(msgspec.Struct, frozen=True):
    """Passages that are done, left and given up; `working` while a worker has something to do, `held` while it waits to ask a provider
    again that gave nothing."""

    current: bool
    working: bool
    passages: int
    done: int
    left: int
    failed: int
    anew_from: datetime | None
    held: bool


async def ask_again(database: Database, project: ProjectRef, space: Space | None, *, anew: bool) -> None:
    """Has the project looked through; with `anew` its vectors made again, unless that is under way: asked twice is asked once."""
    if space is None:
        return
    under_way = (await read_progress(database, project, space)).anew_from  # also the proof that the role may enter the project
    if under_way is not None:
        anew = False
    await database.control("ask_embedding", project.project_id, anew)


async def read_progress(database: Database, project: ProjectRef, space: Space | None, *, statement_ms: int | None = None) -> Progress:
    """Exact counts; without a space nothing is to be done."""
    queries = load("project", "embed")
    (due,) = await database.control("find_due", project.project_id) or [None]
    asked = due["anew_from"] if due else None
    postponed = bool(due and not due["working"])
    async with database.read(project, statement_ms=statement_ms) as tx:
        (total,) = await tx.fetch(queries["count_passages"].sql)
        passages = total["passages"]
        known = await tx.fetchrow(queries["find_own_space"].sql, *msgspec.structs.astuple(space)) if space else None
        if known is None:
            left = passages if space else 0
            return Progress(False, bool(due and due["working"]), passages, 0, left, 0, asked, postponed and left > 0)
        tx.space = SpaceRef(known["id"], known["provider"], known["model"], known["dim"])
        fresh_from = max(filter(None, (known["fresh_from"], asked)), default=None)
        found = await tx.fetchrow(queries["count_due"].sql, known["id"], fresh_from)
    if found is None:
        raise AssertionError("a count gives a row")
    left = found["missing"] + found["changed"] + found["stale"] + found["waiting"]
    under_way = asked or (known["fresh_from"] if found["stale"] else None)
    working = bool(due and due["working"]) or found["missing"] + found["changed"] + found["stale"] > 0
    held = postponed and found["missing"] + found["changed"] > 0  # what can be embedded is put off only when it was tried in vain
    return Progress(known["current"], working, passages, passages - left - found["failed"], left, found["failed"], under_way, held)
