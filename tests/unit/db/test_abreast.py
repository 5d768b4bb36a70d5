import asyncio

import pytest

from service.db.abreast import do_abreast


class Desk:
    """Serves numbers in an order of its own, and knows how many were at it at once."""

    def __init__(self, refused: int | None = None) -> None:
        self.there = self.most = 0
        self.served: list[int] = []
        self.refused = refused

    async def serve(self, number: int) -> int:
        self.there += 1
        self.most = max(self.most, self.there)
        try:
            for _ in range(10 - number):  # those that come later are served sooner
                await asyncio.sleep(0)
            if number == self.refused:
                raise LookupError(number)
            self.served.append(number)
            return number * number
        finally:
            self.there -= 1


@pytest.mark.parametrize(("few", "most"), [(1, 1), (3, 3), (50, 9), (0, 1)])
async def test_answers_stand_in_the_order_of_the_things(few: int, most: int) -> None:
    desk = Desk()
    assert await do_abreast(range(9), desk.serve, few) == [number * number for number in range(9)]
    assert desk.most == most
    assert (desk.served == sorted(desk.served)) is (most == 1)


async def test_nothing_gives_nothing() -> None:
    assert await do_abreast([], Desk().serve, 3) == []


@pytest.mark.parametrize("few", [1, 3])
async def test_the_first_error_ends_the_others_and_is_raised(few: int) -> None:
    desk = Desk(refused=2)
    with pytest.raises(LookupError):
        await do_abreast(range(9), desk.serve, few)
    assert desk.there == 0
    assert 8 not in desk.served


async def test_a_caller_that_leaves_takes_all_with_it() -> None:
    desk = Desk()
    call = asyncio.create_task(do_abreast(range(9), desk.serve, 3))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert desk.there == 3
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert desk.there == 0
