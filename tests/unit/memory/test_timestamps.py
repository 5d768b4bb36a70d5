"""Timestamps in every spelling: UTC, or refused."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.memory.timestamps import InvalidTimestamp, parse_timestamp


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2026-01-01T00:00:00", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T00:00:00Z", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T00:00:00+09:00", datetime(2025, 12, 31, 15, tzinfo=UTC)),
        ("2026-01-01 00:00:00 -0530", datetime(2026, 1, 1, 5, 30, tzinfo=UTC)),
        ("2026-01-01 12:30+00", datetime(2026, 1, 1, 12, 30, tzinfo=UTC)),
        (" 2026-01-01 ", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01t00:00:00z", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T00:00:00.123456789Z", datetime(2026, 1, 1, 0, 0, 0, 123456, tzinfo=UTC)),
        ("2026-01-01T00:00:00,5", datetime(2026, 1, 1, 0, 0, 0, 500000, tzinfo=UTC)),
        ("0001-01-01", datetime(1, 1, 1, tzinfo=UTC)),
        ("9999-12-31T23:59:59Z", datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
        ("2016-12-31T23:59:60Z", datetime(2017, 1, 1, tzinfo=UTC)),
        ("2017-01-01T08:59:60.25+09:00", datetime(2017, 1, 1, 0, 0, 0, 250000, tzinfo=UTC)),
        (1767225600, datetime(2026, 1, 1, tzinfo=UTC)),
        (1767225600.5, datetime(2026, 1, 1, 0, 0, 0, 500000, tzinfo=UTC)),
        (1767225600123, datetime(2026, 1, 1, 0, 0, 0, 123000, tzinfo=UTC)),
        ("1767225600", datetime(2026, 1, 1, tzinfo=UTC)),
        ("1767225600123", datetime(2026, 1, 1, 0, 0, 0, 123000, tzinfo=UTC)),
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (-1, datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)),
    ],
)
def test_spellings(written: str | float, meant: datetime) -> None:
    read = parse_timestamp(written)
    assert read == meant
    assert read.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    "written",
    ["2026-02-30", "2026-13-01", "2026-01-01T24:00:00", "2026-01-01T12:00:60Z", "9999-12-31T23:59:60Z", "0001-01-01T00:00:00+09:00",
     "9999-12-31T23:59:59-01:00", "0000-01-01", "10000-01-01", "2026", "20260101", "yesterday", "", "2026-01-01T00:00:00+25:00",
     "2026-01-01T00:00:00+09:60", "２０２６-01-01", "2026-01-01\x00", "2026-01-01T", float("nan"), float("inf"), True, 10**18, -(10**18),
     10**400, "9" * 5000, "2026-01-01T00:00:00." + "1" * 10],
)  # fmt: skip
def test_no_timestamps(written: str | float) -> None:
    with pytest.raises(InvalidTimestamp) as refused:
        parse_timestamp(written)
    assert (refused.value.code, refused.value.status) == ("invalid_timestamp", 422)
    assert len(refused.value.message) < 500


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31)), st.integers(-23 * 60, 23 * 60))
def test_what_python_writes_is_read_back(moment: datetime, offset: int) -> None:
    aware = moment.replace(tzinfo=timezone(timedelta(minutes=offset)))
    assert parse_timestamp(aware.isoformat()) == aware


@given(st.text() | st.floats() | st.integers())
def test_anything_else_is_refused_and_nothing_worse(written: str | float) -> None:
    with suppress(InvalidTimestamp):
        assert parse_timestamp(written).tzinfo is UTC
