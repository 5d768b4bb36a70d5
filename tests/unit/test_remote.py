"""Pauses that providers ask for, and addresses below an address."""

from datetime import UTC, datetime

import pytest

from service.remote import address_below, retry_after_s

NOW = datetime(2026, 5, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "Fri, 01 May 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Fri, 01 May 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "Fri, 01 May 2026 14:00:30 +0200"}, 30.0),
        ({"retry-after": "Friday, 01-May-26 12:00:30 GMT"}, 30.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "in a while"}, None),
        ({"retry-after": "Fri, 99 May 2026 12:00:30 GMT"}, None),
    ],
)
def test_a_pause_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://h/v1", "https://h/v1/rerank"),
        ("https://h/v1/", "https://h/v1/rerank"),
        ("https://h", "https://h/rerank"),
        ("https://h/v2/rerank", "https://h/v2/rerank"),
        ("https://h/prerank", "https://h/prerank/rerank"),
        ("https://h:8/d?api-version=1#top", "https://h:8/d/rerank?api-version=1"),
    ],
)
def test_a_path_goes_below_an_address_once(url: str, address: str) -> None:
    assert address_below(url, "rerank") == address
