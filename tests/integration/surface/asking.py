"""What tests of administration share: answers in short, and times to come."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2

Make = Callable[..., Awaitable[dict[str, Any]]]


async def code_of(reply: Awaitable[httpx2.Response]) -> tuple[int, str]:
    got = await reply
    return got.status_code, got.json().get("code", "")


def in_days(days: float) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).isoformat()
