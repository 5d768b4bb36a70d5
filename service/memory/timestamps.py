"""Points in time as callers write them: in comes ISO-8601 text or an epoch number, out comes an aware datetime in UTC."""

import math
import re
from datetime import UTC, datetime, timedelta, timezone

from service.errors import InvalidRequest

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# As seconds this is the year 5138, as milliseconds 1973: no reading of it is plausible both ways.
_FIRST_MILLISECONDS = 100_000_000_000
_ISO = re.compile(
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?:[Tt ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,9}))?)?"
    r" ?(?P<zone>[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)
# Nine digits and more: shorter ones could as well be a year or a date without hyphens.
_NUMBER = re.compile(r"-?[0-9]{9,15}(?:\.[0-9]{1,9})?")


class InvalidTimestamp(InvalidRequest):
    """A timestamp could not be read as a point in time between the years 0001 and 9999."""

    code = "invalid_timestamp"
    hint = "Write ISO-8601, such as 2026-01-31T12:00:00+09:00 or 2026-01-31 (without a zone it is UTC), or epoch seconds or milliseconds."


def parse_timestamp(value: str | int | float) -> datetime:
    """Read ISO-8601 text (no zone: UTC; date alone: midnight) or epoch seconds or milliseconds as an aware UTC datetime.

    Fractions are cut to microseconds. A leap second (23:59:60 UTC) is the second after it. Numbers from 1e11 on are milliseconds.
    Raises InvalidTimestamp for everything else, days that no calendar has and years outside 0001 to 9999 included.
    """
    try:
        return _from_text(value.strip()) if isinstance(value, str) else _from_number(value)
    except (ValueError, OverflowError):
        shown = repr(value[:80]) if isinstance(value, str) else "This number"
        raise InvalidTimestamp(f"{shown} is no timestamp") from None


def _from_number(value: int | float) -> datetime:
    if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError
    if abs(value) >= _FIRST_MILLISECONDS:
        return _EPOCH + timedelta(milliseconds=value)
    return _EPOCH + timedelta(seconds=value)


def _from_text(text: str) -> datetime:
    if _NUMBER.fullmatch(text):
        return _from_number(float(text) if "." in text else int(text))
    found = _ISO.fullmatch(text)
    if found is None:
        raise ValueError
    part = found.groupdict(default="")
    second = int(part["second"] or 0)
    leap = second == 60
    moment = datetime(
        int(part["year"]),
        int(part["month"]),
        int(part["day"]),
        int(part["hour"] or 0),
        int(part["minute"] or 0),
        59 if leap else second,
        int(part["fraction"].ljust(6, "0")[:6]),
        tzinfo=_zone(part["zone"]),
    ).astimezone(UTC)
    if leap and (moment.hour, moment.minute) != (23, 59):
        raise ValueError
    return moment + timedelta(seconds=1) if leap else moment


def _zone(text: str) -> timezone:
    if text in {"", "Z", "z"}:
        return UTC
    digits = text[1:].replace(":", "").ljust(4, "0")
    if int(digits[2:]) > 59:
        raise ValueError
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)
