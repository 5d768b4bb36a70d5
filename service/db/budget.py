"""How long a call may take: a deadline for the whole and a limit for each statement, in milliseconds."""

import time
from typing import Literal

from service.errors import MunimentError


class Cut(MunimentError):
    """A statement was stopped at its limit; the answer goes on without it."""

    code = "cut"
    status = 503

    def __init__(self, reason: Literal["statement_timeout", "deadline"]) -> None:
        super().__init__(f"stopped by the {reason.replace('_', ' ')}")
        self.reason: Literal["statement_timeout", "deadline"] = reason


class StatementFailed(Exception):
    """A statement failed by itself, not with the connection or the project; the transaction goes on without it.

    `kind` and `sqlstate` say how, without the database's text, which may hold what people wrote.
    """

    def __init__(self, kind: str, sqlstate: str | None) -> None:
        super().__init__(f"{kind} ({sqlstate})")
        self.kind = kind
        self.sqlstate = sqlstate


class Budget:
    """The time of one call, counted from when the budget is made."""

    def __init__(self, deadline_ms: int, statement_ms: int) -> None:
        self.deadline_ms = deadline_ms
        self.statement_ms = statement_ms
        self._started = time.monotonic()

    def elapsed_ms(self) -> int:
        return int((time.monotonic() - self._started) * 1000)

    def remaining_ms(self) -> int:
        return max(0, self.deadline_ms - self.elapsed_ms())

    def next_statement_ms(self) -> int:
        """The limit of a statement that starts now; raises `Cut` when nothing of the deadline is left."""
        left = self.remaining_ms()
        if left <= 0:
            raise Cut("deadline")
        return min(self.statement_ms, left)

    def cut(self, allowed_ms: int) -> Cut:
        """What stopped a statement that was allowed `allowed_ms`."""
        return Cut("statement_timeout" if allowed_ms >= self.statement_ms else "deadline")
