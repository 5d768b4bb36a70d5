"""The time that `since` and `until` leave: in come the two as a caller gives them, out come points in time."""

from datetime import datetime

from service.errors import InvalidRequest
from service.search.parse import read_moment


def read_window(since: str | None, until: str | None) -> tuple[datetime | None, datetime | None]:
    """Both ends, each included; raises `InvalidRequest` where the first is later than the last."""
    start = read_moment("since", since) if since else None
    end = read_moment("until", until) if until else None
    if start is not None and end is not None and start > end:
        raise InvalidRequest(
            "since: later than until, so that nothing lies between.", hint="Give the earlier one as since, or leave one out."
        )
    return start, end
