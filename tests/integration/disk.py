"""A disk that a test may fill."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def disk(folder: Path, size: str) -> Iterator[None]:
    """A disk of its own, where the system lets us mount one."""
    folder.mkdir(exist_ok=True)
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "muniment-test", folder], capture_output=True)
    if made.returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)
