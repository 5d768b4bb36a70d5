"""A page that has no room in one answer, in pieces.

In: the page, where to begin, the bytes of an answer. Out: the page with a piece of its body, and where the next one begins.
"""

import msgspec

from service.memory.pages import Page
from service.operations.bounds import NOTE_ROOM, cut_text, size_of


def piece_of(page: Page, start: int, limit: int) -> Page:
    """The page with as much of its body as an answer holds; half of it is enough for everything else."""
    others = size_of(msgspec.structs.replace(page, body="")) + NOTE_ROOM
    body = cut_text(page.body[start:], limit - min(others, limit // 2))
    if len(body) == len(page.body):
        return page
    end = start + len(body)
    more = end < len(page.body)
    note = f"body: characters {start} to {end} of {len(page.body)}" if body else f"body: it ends at character {len(page.body)}"
    note += f"; go on with start={end}, and do not write the page back without the rest" if more else ""
    return msgspec.structs.replace(page, body=body, start=start, next_start=end if more else None, truncated=more, notes=[note])
