"""A dead provider costs one call a window."""

from service.embed.breaker import Breaker


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def opened(clock: Clock) -> Breaker:
    breaker = Breaker(failures=2, window_s=30, clock=clock)
    breaker.failed()
    assert breaker.admits()
    breaker.failed()
    return breaker


def test_it_opens_after_failures_in_a_row() -> None:
    breaker = Breaker(failures=2, clock=Clock())
    for _ in range(5):
        breaker.failed()
        breaker.succeeded()
    assert not breaker.is_open
    assert breaker.admits()


def test_an_open_one_admits_one_call_a_window() -> None:
    clock = Clock()
    breaker = opened(clock)
    admitted = 0
    for _ in range(3_000):
        clock.now += 0.1
        if breaker.admits():
            admitted += 1
            breaker.failed()
    assert 9 <= admitted <= 10


def test_a_success_closes_it() -> None:
    clock = Clock()
    breaker = opened(clock)
    assert not breaker.admits()
    clock.now += 30
    assert breaker.admits()
    assert not breaker.admits()
    breaker.succeeded()
    assert breaker.admits()
    assert breaker.admits()


def test_a_lost_probe_does_not_hold_it_open_for_ever() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now += 30
    assert breaker.admits()
    clock.now += 30
    assert breaker.admits()
