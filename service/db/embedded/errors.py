"""What keeps the embedded Postgres from starting, in words that say what to do.

In: an `OSError`, or what Postgres wrote before it gave up. Out: `EmbeddedPostgresError` with a hint.
"""

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from service.errors import MunimentError


class EmbeddedPostgresError(MunimentError):
    """The embedded Postgres cannot be started or stopped."""

    code = "embedded_postgres"
    status = 500


class DataFolderInUse(EmbeddedPostgresError):
    """Another process runs the embedded Postgres of this data folder."""

    code = "data_folder_in_use"
    status = 500
    hint = "Stop that process, or choose another data folder."


_FULL = ("the disk is full", "Free some space, then start again: nothing committed is lost.")
_READ_ONLY = ("the disk is read-only", "Mount it writable, or choose another data folder.")
_CLOSED = ("access is denied", "Give the account that runs Muniment the right to write there, or choose another data folder.")
_REASONS = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EROFS: _READ_ONLY,
    errno.EACCES: _CLOSED,
    errno.EPERM: _CLOSED,
}


@contextmanager
def explained(data: Path) -> Generator[None]:
    """Turns an `OSError` of the block into an error that names the data folder and says what to do."""
    try:
        yield
    except OSError as error:
        reason, hint = _REASONS.get(error.errno or 0, (error.strerror or str(error), None))
        place = f" ({error.filename})" if error.filename and str(error.filename) != str(data) else ""
        raise EmbeddedPostgresError(f"Cannot use the data folder {data}: {reason}{place}.", hint=hint) from error


def failed(action: str, data: Path, output: str) -> EmbeddedPostgresError:
    """The error for a program of Postgres that gave up; `output` holds its last lines, oldest first."""
    for number, (reason, hint) in _REASONS.items():
        if os.strerror(number) in output:
            return EmbeddedPostgresError(f"{action} in {data} failed: {reason}. Postgres said:\n{output}", hint=hint)
    return EmbeddedPostgresError(f"{action} in {data} failed. Postgres said:\n{output}")
