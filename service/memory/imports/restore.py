"""Storing lines of an export, in the order of its file.

In: lines that name others by their numbers in the project, as these were answered. Out: a result for each. A number is kept where it was
never given in the project, as in an empty one; else the line gets a new one. What is there already is found by its key, or by its number
and the time it was stored, so that a line sent twice is stored once. Each call is one transaction; what cannot be stored fails alone.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Final, ParamSpec, TypeVar

import asyncpg
import msgspec

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import Conflict, MunimentError
from service.memory.export_format import KINDS
from service.memory.imports.restore_line import Ready, passages_of, read_line
from service.memory.imports.restore_rows import Restoring, Stored
from service.memory.redact import STANDARD, Redactor

LINES_A_PAUSE: Final = 20
LARGE: Final = 10_000
HUGE: Final = 100_000
_WITH_TEXT: Final = ("event", "page")
P = ParamSpec("P")
T = TypeVar("T")


class LineResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of a line: the number that it has here, or the error that kept it out.

    `known`: it was here before. `differs`: it is here with another text or history, which stands.
    """

    id: int | None = None
    known: bool = False
    differs: bool = False
    error: str | None = None
    code: str | None = None
    hint: str | None = None


async def restore_lines(database: Database, project: ProjectRef, lines: Sequence[Any], redactor: Redactor = STANDARD) -> list[LineResult]:
    """Stores lines in one transaction; gives what became of each, in order. Raises `Conflict` for lines that cannot stand together."""
    results: list[LineResult] = [LineResult()] * len(lines)
    ready: defaultdict[str, list[tuple[int, Ready]]] = defaultdict(list)
    for place, raw in enumerate(lines):
        try:
            line = await _beside_others(place, _size(raw), read_line, raw, redactor)
            ready[line.kind].append((place, line))
        except MunimentError as error:
            results[place] = _failed(error)
    if not ready:
        return results
    for kind in _WITH_TEXT:
        if ready[kind]:
            ready[kind] = await _with_passages(database, project, kind, ready[kind])
    try:
        async with database.write(project) as tx:
            restoring = Restoring(tx)
            for kind in (*KINDS, "finish"):
                if ready[kind]:
                    stored = await restoring.store(kind, [line for _, line in ready[kind]])
                    for (place, _), found in zip(ready[kind], stored, strict=True):
                        results[place] = _result(found)
    except (asyncpg.IntegrityConstraintViolationError, asyncpg.DataError, asyncpg.ProgramLimitExceededError) as error:
        raise Conflict("One of these lines contradicts the others or what is stored.", hint="Send them one by one to see which.") from error
    return results


async def _with_passages(database: Database, project: ProjectRef, kind: str, lines: Sequence[tuple[int, Ready]]) -> list[tuple[int, Ready]]:
    """The lines with their passages, except those that are stored already."""
    async with database.read(project) as tx:
        known = await Restoring(tx).known(kind, [line for _, line in lines])
    made: list[tuple[int, Ready]] = []
    for at, (place, line) in enumerate(lines):
        if at not in known:
            passages = await _beside_others(at, _size(line.row), passages_of, line)
            made.append((place, msgspec.structs.replace(line, passages=passages)))
        else:
            made.append((place, line))
    return made


async def _beside_others(place: int, size: int, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Does the work on one line so that other calls go on meanwhile."""
    if size > HUGE:
        return await asyncio.to_thread(work, *args, **named)
    if size > LARGE or place % LINES_A_PAUSE == 0:
        await asyncio.sleep(0)
    return work(*args, **named)


def _size(raw: Any) -> int:
    """Characters of the long text that a line may hold."""
    if not isinstance(raw, dict):
        return 0
    text: Any = raw.get("body") or raw.get("content")
    return len(text) if isinstance(text, str) else 0


def _result(found: Stored | MunimentError) -> LineResult:
    return _failed(found) if isinstance(found, MunimentError) else LineResult(found.id, found.known, found.differs)


def _failed(error: MunimentError) -> LineResult:
    return LineResult(error=error.message, code=error.code, hint=error.hint)
