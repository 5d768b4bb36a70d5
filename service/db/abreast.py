"""Doing the same for several things side by side, a few at a time: as where a call asks several projects.

In: the things, what to do for each, how many at once. Out: what came of each, in the order of the things.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


async def do_abreast(things: Sequence[A], do: Callable[[A], Awaitable[B]], few: int) -> list[B]:
    """What `do` gives for each thing, begun in their order, `few` at once; the first error ends the others and is raised."""
    done: dict[int, B] = {}
    waiting = iter(enumerate(things))

    async def work() -> None:
        for place, thing in waiting:  # all workers draw from one row
            done[place] = await do(thing)

    if min(few, len(things)) <= 1:
        await work()
        return list(done.values())
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(few, len(things))):
                group.create_task(work())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from errors.exceptions[0].__cause__
    return [done[place] for place in range(len(things))]
