"""Very long texts are made ready and stored one after the other, so that a few of them at once take no more memory than one.

In: how long the text is. Out: a turn, at once for all others.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final
from weakref import WeakKeyDictionary

VERY_LONG: Final = 500_000
"""Characters from which a text waits for its turn."""

_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


@asynccontextmanager
async def take_turn(size: int) -> AsyncGenerator[None]:
    """Waits while another very long text has its turn; a text of `size` characters that is shorter does not wait."""
    if size < VERY_LONG:
        yield
        return
    async with _turns.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(1)):
        yield
