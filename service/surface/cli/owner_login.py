"""The owner's login for commands that talk to the database: of the settings, of the server that runs on the data folder, or of one that is
started for the command.

In: settings and a data folder. Out: a connection string, or a connection, for as long as the block lasts.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec

from service.access.changes import announce_change
from service.errors import InvalidSetting
from service.settings import Settings, load_settings
from service.tenants.bootstrap import ensure_pepper, prepare_database
from service.tenants.owner import Owner, owner_connection


def named_owner(settings: Settings) -> str:
    """The owner's login that the settings name; raises `InvalidSetting` when they name none."""
    url = settings.owner_url or settings.database_url
    if url is None:
        raise InvalidSetting("No database is named.", hint="Set MUNIMENT_OWNER_URL to the owner's login.")
    return url


@contextmanager
def owner_login(settings: Settings, data: Path) -> Generator[str]:
    """The owner's connection string; an embedded server that was started for it is stopped at the end."""
    running = data / "connection.json"
    if settings.database_url is not None or settings.owner_url is not None:
        yield named_owner(settings)
    elif running.exists():
        known: dict[str, Any] = msgspec.json.decode(running.read_bytes())
        yield known["database"]
    else:
        os.makedirs(data, exist_ok=True)
        prepared = prepare_database(settings, data, owner_needed=True)
        try:
            yield prepared.owner_url or prepared.api_url
        finally:
            prepared.stop()


@contextmanager
def owning(data: Path) -> Generator[tuple[Owner, str]]:
    """The owner's connection, and the secret that keys are hashed with. At the end servers are told to look again at what they remember."""
    settings = load_settings()
    data = data.expanduser().absolute()
    with owner_login(settings, data) as url, owner_connection(url) as owner:
        try:
            yield owner, settings.key_pepper if settings.owner_url is not None else ensure_pepper(settings, data)
        finally:
            if not announce_change(settings.redis_url):
                click.echo("Redis does not answer: servers see this within seconds.", err=True)
