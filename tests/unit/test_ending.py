"""Tasks that are waited for to their end."""

import asyncio

import pytest

from service.ending import see_through


@pytest.mark.parametrize("times", [0, 1, 3])
async def test_tasks_end_before_the_cancelling_takes_effect(times: int) -> None:
    goes_on = asyncio.Event()
    held = asyncio.ensure_future(goes_on.wait())
    waiting = asyncio.ensure_future(see_through(held))
    await asyncio.sleep(0)
    for _ in range(times):
        waiting.cancel()
        await asyncio.sleep(0)
        assert not waiting.done()
    goes_on.set()
    await asyncio.wait((waiting,))
    assert held.result() is True
    assert waiting.cancelled() is (times > 0)
