"""The file by which a server tells the commands on its machine where it is: `connection.json` in the data folder, for as long as it runs.

In: a folder, and what is to be said. Out: what the server says that runs now. The server keeps the file locked, so that one which a killed
server left behind is told from one that holds, whatever became of the server's process number.
"""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

FILE_NAME: Final = "connection.json"


@contextmanager
def connection_file(data: Path, content: bytes) -> Generator[None]:
    """Leaves the file, readable by its user alone, until the block ends."""
    path = data / FILE_NAME
    data.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(content)
        file.flush()
        fresh.replace(path)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def running_server(data: Path) -> bytes | None:
    """What the server says that runs on the folder; None where none does."""
    try:
        with (data / FILE_NAME).open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return None
