"""Links between what is stored: entities that are one thing under two names.

In: a project and pairs of entities by name and type. Out: how many pairs are new or changed.
"""

from collections.abc import Sequence

import msgspec

from service.db.pools import Database
from service.db.queries import load
from service.db.scope import ProjectRef
from service.errors import InvalidRequest, NotFound
from service.memory.names import EntityInput
from service.memory.text import clean_name


class AliasInput(msgspec.Struct, frozen=True):
    """Two entities that are one thing; `confidence` is from 0 to 1."""

    a: EntityInput
    b: EntityInput
    confidence: float = 1.0


async def save_aliases(database: Database, project: ProjectRef, aliases: Sequence[AliasInput], author: str | None = None) -> int:
    """Stores pairs in one transaction, each once whichever name comes first, and counts those that are new or changed.

    Raises `NotFound` for a name that no entity carries and `InvalidRequest` for a pair that cannot be one; then nothing is stored.
    """
    for alias in aliases:
        if not 0 <= alias.confidence <= 1:
            raise InvalidRequest(f"confidence: from 0 to 1, not {alias.confidence}.")
    if not aliases:
        return 0
    queries = load("project", "links")
    named = [_cleaned(entity) for alias in aliases for entity in (alias.a, alias.b)]
    async with database.write(project) as tx:
        await tx.fetch(queries["lock_project"].sql)
        rows = await tx.fetch(queries["number_entities"].sql, [entity.name for entity in named], [entity.type for entity in named])
        numbers = [_number(row["id"], entity) for row, entity in zip(rows, named, strict=True)]
        pairs: dict[tuple[int, int], float] = {}
        for a, b, alias in zip(numbers[::2], numbers[1::2], aliases, strict=True):
            if a == b:
                raise InvalidRequest(f"{alias.a.name[:80]!r} is named as an alias of itself.")
            pairs[min(a, b), max(a, b)] = alias.confidence
        changed = await tx.fetch(queries["add_aliases"].sql, [a for a, _ in pairs], [b for _, b in pairs], [*pairs.values()], author)
    return len(changed)


def _cleaned(entity: EntityInput) -> EntityInput:
    return EntityInput(clean_name(entity.name), clean_name(entity.type))


def _number(found: int | None, entity: EntityInput) -> int:
    if found is None:
        raise NotFound(
            f"There is no entity {entity.name[:80]!r} of type {entity.type[:80]!r}.",
            hint="Give the stored spelling and type; find_memories_by_entity shows them.",
        )
    return found
