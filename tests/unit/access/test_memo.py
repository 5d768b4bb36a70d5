"""What is remembered, for how long, and what ends it."""

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace

import pytest

from service.access import memo
from service.access.memo import Memo


def _answers(*values: int | None) -> Callable[[], Awaitable[int | None]]:
    """A look-up that finds these, one after the other."""
    left = iter(values)

    async def look_up() -> int | None:
        return next(left)

    return look_up


async def test_what_was_found_is_looked_up_once_and_what_was_not_again() -> None:
    found: Memo[str, int] = Memo(10)
    look_up = _answers(1, 2)
    assert [await found.find("a", look_up) for _ in range(3)] == [1, 1, 1]
    look_up = _answers(None, 7)
    assert [await found.find("b", look_up) for _ in range(3)] == [None, 7, 7]


async def test_it_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    found: Memo[str, int] = Memo(10)
    now = 100.0
    monkeypatch.setattr(memo, "time", SimpleNamespace(monotonic=lambda: now))
    look_up = _answers(1, 2)
    assert await found.find("a", look_up) == 1
    now += memo.KEPT_S - 0.01
    assert await found.find("a", look_up) == 1
    now += 0.02
    assert await found.find("a", look_up) == 2


async def test_forgetting_one_and_all() -> None:
    found: Memo[str, int] = Memo(10)
    look_up = _answers(1, 2, 3, 4, 5)
    assert [await found.find(key, look_up) for key in "ab"] == [1, 2]
    found.forget("a")
    assert [await found.find(key, look_up) for key in "ab"] == [3, 2]
    found.forget()
    assert [await found.find(key, look_up) for key in "ab"] == [4, 5]


async def test_what_is_read_while_it_is_forgotten_is_not_remembered() -> None:
    """The look-up may have read what stood before the change."""
    found: Memo[str, int] = Memo(10)
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slowly() -> int:
        begun.set()
        await go_on.wait()
        return 1

    running = asyncio.create_task(found.find("a", slowly))
    await begun.wait()
    found.forget()
    go_on.set()
    assert await running == 1
    assert await found.find("a", _answers(2)) == 2


async def test_it_holds_no_more_than_it_may() -> None:
    found: Memo[int, int] = Memo(3)
    for n in range(5):
        await found.find(n, _answers(n))
    assert [await found.find(n, _answers(n + 10)) for n in range(4, -1, -1)] == [4, 3, 2, 11, 10]
