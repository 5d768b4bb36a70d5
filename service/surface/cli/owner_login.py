"""The owner's login for commands that talk to the database: of the settings, of the server that runs on the data folder, or of one that is
started for the command.

In: settings and a data folder. Out: a connection string, or a connection, for as long as the block lasts.
"""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import click
import msgspec

from service.access.changes import announce_change
from service.db.embedded import start_embedded
from service.db.queries import load
from service.errors import InvalidSetting
from service.settings import Settings
from service.surface.cli.shell_settings import shell_settings
from service.surface.connection_file import running_server
from service.tenants.bootstrap import prepare_database
from service.tenants.owner import Owner, explained, owner_connection, run
from service.tenants.pepper import find_pepper


def named_owner(settings: Settings) -> str | None:
    """The owner's login that the settings name; None where they name no database, so that the data folder's is meant."""
    return settings.owner_url or settings.database_url


class Running(msgspec.Struct, frozen=True):
    """What a server says of its database; `embedded`: whether that is the one in the data folder."""

    database: str
    embedded: bool = True


def running_owner(data: Path) -> Running | None:
    """The owner's login of the server that runs on the data folder; None where none does."""
    told = running_server(data)
    return None if told is None else msgspec.json.decode(told, type=Running)


@contextmanager
def owner_login(settings: Settings, data: Path) -> Generator[str]:
    """The owner's connection string; an embedded server that was started for it is brought up to date, and stopped at the end.

    Raises `InvalidSetting` where there is no database yet: only `serve` makes one.
    """
    if (named := named_owner(settings)) is not None:
        yield named
        return
    if (running := running_owner(data)) is not None:
        yield running.database
        return
    _require_cluster(data)
    prepared = prepare_database(settings, data, owner_needed=True)
    try:
        yield prepared.owner_url or prepared.api_url
    finally:
        prepared.stop()


@contextmanager
def embedded_login(data: Path) -> Generator[str]:
    """The owner's connection string of the database in the data folder, as it is; raises `InvalidSetting` where there is none."""
    running = running_owner(data)
    if running is not None and running.embedded:
        yield running.database
        return
    _require_cluster(data)
    server = start_embedded(data)
    try:
        yield server.owner_url
    finally:
        server.stop()


def _require_cluster(data: Path) -> None:
    if not (data / "postgres").exists():
        raise InvalidSetting(
            f"No database is named, and there is none in {data}.",
            hint="Name the folder of `muniment serve` with --data (MUNIMENT_DATA), or the owner's login with MUNIMENT_OWNER_URL.",
        )


@contextmanager
def owning(data: Path) -> Generator[Owner]:
    """The owner's connection. At the end servers are told to look again at what they remember."""
    settings = shell_settings()
    with owner_login(settings, _absolute(data)) as url, _connected(settings, url) as owner:
        yield owner


@contextmanager
def owning_keys(data: Path) -> Generator[tuple[Owner, str]]:
    """The same, and the secret that keys are hashed with; raises `InvalidSetting` where it is not at hand."""
    settings, data = shell_settings(), _absolute(data)
    with owner_login(settings, data) as url, _connected(settings, url) as owner:
        yield owner, find_pepper(url, settings, data)


def owner_pepper(url: str, settings: Settings, data: Path) -> str:
    """The secret that keys are hashed with, for who works under the owner's login; raises `UnsuitableDatabase` where it is another's."""
    with explained(), owner_connection(url) as owner:
        run(owner, load("control", "migrate")["find_instance"])
        return find_pepper(url, settings, data)


def _absolute(data: Path) -> Path:
    return data.expanduser().absolute()


@contextmanager
def _connected(settings: Settings, url: str) -> Generator[Owner]:
    with explained(), owner_connection(url) as owner:
        try:
            yield owner
        finally:
            if not announce_change(settings.redis_url):
                click.echo("Redis does not answer: servers see this within seconds.", err=True)
