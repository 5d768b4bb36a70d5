"""Links between what is stored, made and taken back one by one.

In: a project and the two ends of a link, by id, entities by name too. Out: `Linked`, which says what changed. Asserting what stands and
taking back what does not stand change nothing.
"""

from typing import Any, Final, Literal

import msgspec

from service.db.pools import Database
from service.db.queries import load
from service.db.scope import ProjectRef
from service.db.transaction import Tx
from service.errors import Conflict, InvalidRequest, NotFound, no_event
from service.memory.ids import number_of, public_id, require_number
from service.memory.text import clean_name

Source = Literal["thread", "file_name", "folder_name", "topic_segment", "user_manual", "version_up"]
LinkOutcome = Literal["created", "changed", "revived", "revoked", "unchanged"]
MOST_SHOWN: Final = 20


class Linked(msgspec.Struct, frozen=True):
    """The ids of both ends, and what became of the link between them."""

    start: str
    end: str
    outcome: LinkOutcome


async def link_next(database: Database, project: ProjectRef, first: str, then: str, source: Source, *, revoke: bool = False) -> Linked:
    """Says that one event follows another, or takes it back; raises `NotFound`.

    `InvalidRequest` is for one event twice, `Conflict` for a pair that is linked the other way.
    """
    name = "remove_next" if revoke else "add_next"
    return await _link_events(database, project, first, then, name, source)


async def link_resolution(
    database: Database, project: ProjectRef, plan: str, evidence: str, author: str | None, *, revoke: bool = False
) -> Linked:
    """Says that a plan was realized by an event, or takes it back: the link is then kept as revoked. Raises as `link_next`."""
    if revoke:
        return await _link_events(database, project, plan, evidence, "revoke_resolution")
    return await _link_events(database, project, plan, evidence, "add_resolution", author)


async def link_alias(
    database: Database, project: ProjectRef, a: str, b: str, confidence: float, author: str | None, *, revoke: bool = False
) -> Linked:
    """Says that two entities are one thing, or takes it back. Raises as `link_next`, and `InvalidRequest` for an ambiguous name."""
    if not 0 <= confidence <= 1:
        raise InvalidRequest(f"confidence: from 0 to 1, not {confidence}.")
    async with database.write(project) as tx:
        await tx.fetch(load("project", "links")["lock_project"].sql)
        numbers = [await find_entity(tx, text, field) for text, field in ((a, "from"), (b, "to"))]
        if numbers[0] == numbers[1]:
            raise InvalidRequest("from, to: both name the same entity.")
        given = (*sorted(numbers), *(() if revoke else (confidence, author)))
        outcome = await _run(tx, "remove_alias" if revoke else "add_alias", given)
    return Linked(public_id("ent", numbers[0]), public_id("ent", numbers[1]), outcome)


async def find_entity(tx: Tx, text: str, field: str) -> int:
    """The number of the entity that an id or a name means; raises `NotFound`, and `InvalidRequest` where a name means several."""
    number, name = number_of("ent", text), clean_name(text)
    rows = await tx.fetch(load("project", "links")["named_entities"].sql, number, name)
    if not rows:
        raise NotFound(f"{field}: there is no entity {name[:80]!r}.", hint="find_memories_by_entity shows how names are stored.")
    if len(rows) > 1:
        ids = ", ".join(f"{public_id('ent', row['id'])} ({row['type']})" for row in rows[:MOST_SHOWN])
        raise InvalidRequest(f"{field}: {name[:80]!r} is the name of several entities.", hint=f"Give the id of one: {ids}.")
    return rows[0]["id"]


async def _link_events(database: Database, project: ProjectRef, start: str, end: str, name: str, *more: Any) -> Linked:
    numbers = (require_number("evt", start, "from"), require_number("evt", end, "to"))
    if numbers[0] == numbers[1]:
        raise InvalidRequest("from, to: an event cannot be linked to itself.")
    async with database.write(project) as tx:
        await tx.fetch(load("project", "links")["lock_project"].sql)
        known = {row["id"] for row in await tx.fetch(load("project", "links")["find_events"].sql, list(numbers))}
        for number, field in zip(numbers, ("from", "to"), strict=True):
            if number not in known:
                raise no_event(public_id("evt", number), field)
        if name == "add_next" and await tx.fetchval(load("project", "links")["follows_already"].sql, *numbers):
            raise Conflict(
                f"{public_id('evt', numbers[1])} is followed by {public_id('evt', numbers[0])} already, and cannot follow it too.",
                hint="Revoke that link first, with `from` and `to` the other way round, or link the other way.",
            )
        outcome = await _run(tx, name, (*numbers, *more))
    return Linked(public_id("evt", numbers[0]), public_id("evt", numbers[1]), outcome)


async def _run(tx: Tx, name: str, given: tuple[Any, ...]) -> LinkOutcome:
    return await tx.fetchval(load("project", "links")[name].sql, *given) or "unchanged"
