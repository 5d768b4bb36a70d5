"""A circuit breaker: a dead provider costs one call a window, not one a request.

In: how calls went. Out: whether the next one may be made.
"""

import time
from collections.abc import Callable

from service.embed.provider import UnavailableReason


class Breaker:
    """Opens after `failures` in a row; then lets one call through every `window_s` seconds until one succeeds."""

    def __init__(self, failures: int = 3, window_s: float = 30.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = failures
        self._window_s = window_s
        self._clock = clock
        self._failures = 0
        self._held_until = 0.0
        self.reason: UnavailableReason = "unavailable"

    @property
    def is_open(self) -> bool:
        """True while calls are held back."""
        return self._failures >= self._limit

    def admits(self) -> bool:
        """Asks for one call; when open, the caller that is let through uses up the window, whatever becomes of it."""
        if not self.is_open:
            return True
        now = self._clock()
        if now < self._held_until:
            return False
        self._held_until = now + self._window_s
        return True

    def succeeded(self) -> None:
        """Closes the breaker."""
        self._failures = 0

    def failed(self, reason: UnavailableReason = "unavailable") -> None:
        """Counts a failure, of which `reason` is kept; the one that opens the breaker begins a window."""
        self.reason = reason
        self._failures += 1
        if self.is_open:
            self._held_until = self._clock() + self._window_s
