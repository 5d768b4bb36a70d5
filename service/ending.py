"""Work that gives back what it held is seen through to its end, however often whoever waits for it is cancelled.

In: tasks. Out: they have ended; then the cancelling takes effect.
"""

import asyncio
from typing import Any

from anyio import CancelScope


async def see_through(*tasks: "asyncio.Future[Any]") -> None:
    """Returns when all have ended; raises `CancelledError` then, and not before, if this was cancelled meanwhile."""
    if all(task.done() for task in tasks):
        return
    cancelled = False
    # The scopes of anyio, in which calls over MCP run, cancel again at every turn of the loop: shielded, they let it rest.
    with CancelScope(shield=True):
        while not all(task.done() for task in tasks):
            try:
                await asyncio.wait(tasks)
            except asyncio.CancelledError:
                cancelled = True
    if cancelled:
        raise asyncio.CancelledError
