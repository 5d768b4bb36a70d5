"""Where the server is and with which key: from the command's options, else the environment, else the file that `serve` leaves.

In: `Options`. Out: `Connection`; when there is none, a `Failure` that says how to get one.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec
import platformdirs

from service.surface.cli.failure import Failure, unreachable, wrong_usage
from service.surface.connection_file import FILE_NAME

_START: Final = (
    "Start one with `muniment serve`; name the folder of one that runs with --data (MUNIMENT_DATA), or its address with --url and --key"
    " (MUNIMENT_URL, MUNIMENT_KEY)."
)
_SURFACE: Final = re.compile(r"(?<=[^:/])/*(?:/mcp|/api(?:/v1)?)?/*\Z")


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """A server and what to say to it. In the file, `mcp` is the address for agents and `database` that of the embedded Postgres."""

    url: str
    key: str | None = None
    workspace: str | None = None
    project: str | None = None
    mcp: str | None = None
    database: str | None = None

    @property
    def mcp_url(self) -> str:
        return self.mcp or f"{self.url}/mcp"


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What every command takes; `projects` are two or more, in the place of `project`."""

    url: str | None = None
    key: str | None = None
    workspace: str | None = None
    project: str | None = None
    projects: tuple[str, ...] = ()
    data: Path | None = None
    as_json: bool = False


def data_folder(given: Path | None, environment: Mapping[str, str] = os.environ) -> Path:
    """The folder that a server of the user's own keeps its data in: --data, else MUNIMENT_DATA, else the platform's own place."""
    return given or Path(environment.get("MUNIMENT_DATA") or platformdirs.user_data_dir("muniment"))


def read_connection(folder: Path) -> Connection | None:
    """What the file says; None when there is none."""
    path = folder / FILE_NAME
    try:
        return msgspec.json.decode(path.read_bytes(), type=Connection)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise unreachable(f"{path} cannot be read: {error}.", "Delete it and start `muniment serve` again.") from error


def find_connection(options: Options, environment: Mapping[str, str] = os.environ) -> Connection:
    """The server that a command speaks to."""
    named = options.url or environment.get("MUNIMENT_URL")
    folder = data_folder(options.data, environment)
    left = read_connection(folder)
    if named is None and left is None:
        raise unreachable(f"There is no server to speak to: none runs in the data folder {folder}.", _START)
    url = check_url(named) if named else left.url if left else ""
    # What the file says holds for its own server only: its key must not be sent to another.
    own = left if left and left.url == url else Connection(url=url)
    given = check_key(options.key or environment.get("MUNIMENT_KEY"))
    if given is not None and given != own.key:
        own = msgspec.structs.replace(own, workspace=None, project=None)  # those of the file's key: another has its own
    return Connection(
        url=url,
        key=given or check_key(own.key),
        workspace=options.workspace or environment.get("MUNIMENT_WORKSPACE") or own.workspace,
        project=options.project or environment.get("MUNIMENT_PROJECT") or own.project,
        mcp=own.mcp,
    )


def check_url(url: str) -> str:
    """The server's address, without the part that leads to its MCP or REST surface and without a slash at its end."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise wrong_usage(f"{url[:200]!r} is no address of a server.", "Give one such as http://127.0.0.1:8000.")
    return _SURFACE.sub("", url)


def check_key(key: str | None) -> str | None:
    if key is None:
        return None
    cleaned = key.strip()
    if not cleaned.isascii() or not cleaned.isprintable() or " " in cleaned:
        raise wrong_usage("The key has characters that no key has.", "Keys look like mun_…; MUNIMENT_KEY or --key gives one.")
    return cleaned


def require_key(connection: Connection) -> str:
    """The key; without one a `Failure`."""
    if connection.key is None:
        raise _no_key(connection)
    return connection.key


def _no_key(connection: Connection) -> Failure:
    return wrong_usage(f"There is no key for {connection.url}.", "Give --key or MUNIMENT_KEY; `muniment key create` makes one.")
