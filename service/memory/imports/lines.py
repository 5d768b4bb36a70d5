"""Lines of a file, however long: in comes a file, out come its lines one by one, of which no more than a bound is ever in memory."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

_BOM = b"\xef\xbb\xbf"
_PIECE = 1 << 20


class Line(msgspec.Struct, frozen=True):
    """A line without its ending: `number` counts from 1, `is_whole` is false for one that was longer than the bound (then `raw` is empty)
    and `is_ended` for a last line that no line end follows."""

    number: int
    raw: bytes
    is_whole: bool = True
    is_ended: bool = True


def read_lines(file: Path, max_bytes: int) -> Iterator[Line]:
    """Read the lines of `file`, ended by LF or CRLF, without a byte order mark; what is longer than `max_bytes` is passed over."""
    number = 0
    with file.open("rb") as opened:
        while raw := opened.readline(max_bytes + 2):
            number += 1
            ended = raw.endswith(b"\n")
            whole = True
            while not ended and len(raw) >= max_bytes + 2:
                whole = False
                piece = opened.readline(_PIECE)
                ended = piece.endswith(b"\n") or not piece
                if ended:
                    break
            text = raw.removesuffix(b"\n").removesuffix(b"\r")
            whole = whole and len(text) <= max_bytes
            yield Line(number, (text.removeprefix(_BOM) if number == 1 else text) if whole else b"", whole, ended)
