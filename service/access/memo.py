"""What a server remembers of keys, members and projects, so that not every call has to look them up.

In: a key and a way to look it up. Out: what is known of it, at most two seconds old, and never older than the last `forget`.
"""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Generic, TypeVar

KEPT_S: Final = 2.0

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Memo(Generic[Key, Value]):
    """Remembers up to `most` things. What is not found is not remembered: made-up keys must not push out real ones."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: OrderedDict[Key, tuple[float, Value]] = OrderedDict()
        self._forgotten = 0

    async def find(self, key: Key, look_up: Callable[[], Awaitable[Value | None]]) -> Value | None:
        """What is remembered, or what `look_up` finds; None for what there is not."""
        now = time.monotonic()
        known = self._found.get(key)
        if known and known[0] > now:
            return known[1]
        forgotten = self._forgotten
        value = await look_up()
        if value is not None and forgotten == self._forgotten:  # else it may have been read before the change
            self._found[key] = (now + KEPT_S, value)
            self._found.move_to_end(key)
            if len(self._found) > self._most:
                self._found.popitem(last=False)
        return value

    def forget(self, key: Key | None = None) -> None:
        """Makes the next call look again: for one key, or for all."""
        self._forgotten += 1
        if key is None:
            self._found.clear()
        else:
            self._found.pop(key, None)
