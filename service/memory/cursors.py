"""Cursors of lists: where an answer ended, as text that goes into an address as it is and says nothing to a reader.

In: what a list writes of its last entry. Out: base64url; and back.
"""

import base64
import binascii

from service.errors import InvalidRequest


def seal(place: str) -> str:
    """The cursor for a place."""
    return base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")


def unseal(cursor: str) -> str:
    """The place that a cursor stands for; raises `InvalidRequest` for what is none."""
    try:
        place = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise unknown_cursor() from error
    if "\x00" in place:  # no text that is stored holds it
        raise unknown_cursor()
    return place


def unknown_cursor() -> InvalidRequest:
    """The refusal of a cursor that this server did not give."""
    return InvalidRequest("cursor: not one that this server gave.", hint="Give the `next_cursor` of the answer before.")
