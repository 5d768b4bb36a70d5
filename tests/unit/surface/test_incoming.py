"""Work that ends when its client leaves, or when the server does."""

import asyncio

import anyio
import pytest

from service.surface.incoming import ClientLeft, while_connected


async def test_the_result_comes_where_the_client_stays() -> None:
    async def work() -> int:
        return 7

    assert await while_connected(work(), asyncio.Event().wait()) == 7


@pytest.mark.parametrize("turns", [1, 50])
async def test_work_gives_back_what_it_held_before_the_client_s_leaving_is_told(turns: int) -> None:
    steps: list[str] = []
    with pytest.raises(ClientLeft):
        await while_connected(_hold(steps, turns), asyncio.sleep(0))
    assert steps == ["held", "given back"]


@pytest.mark.parametrize("turns", [1, 50])
async def test_work_gives_back_what_it_held_before_a_cancelled_scope_ends(turns: int) -> None:
    """A scope of anyio cancels what runs in it again and again, the giving back too."""
    steps: list[str] = []
    held = asyncio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(while_connected, _hold(steps, turns, held), asyncio.Event().wait())
        await held.wait()
        group.cancel_scope.cancel()
    assert steps == ["held", "given back"]


async def _hold(steps: list[str], turns: int, held: asyncio.Event | None = None) -> None:
    steps.append("held")
    if held is not None:
        held.set()
    try:
        await asyncio.Event().wait()
    finally:
        for _ in range(turns):
            await asyncio.sleep(0)
        steps.append("given back")
