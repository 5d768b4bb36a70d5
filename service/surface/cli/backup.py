"""`backup` and `restore`: everything that the database holds, by the owner's login, with Postgres's own programs.

In: a file. Out: the file, or a database that is ready to serve; and what belongs to it and is not in it.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Final

import click
import rich_click

from service.db.embedded import start_embedded
from service.errors import InvalidSetting
from service.settings import Settings
from service.surface.cli.failure import wrong_usage
from service.surface.cli.owner_login import named_owner, owner_login
from service.surface.cli.server import DATA
from service.surface.cli.shell_settings import shell_settings
from service.surface.connection_file import running_server
from service.tenants.backup import restore_backup, write_backup
from service.tenants.migrate import migrate
from service.tenants.owner import explained
from service.tenants.pepper import FILE_NAME, find_pepper

_KEEP: Final = "Keep the secret that keys are hashed with too; it is not in the backup: {place}."


@rich_click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@DATA
def backup(file: Path, data: Path) -> None:
    """Write everything that the database holds to a file: all workspaces, projects and keys. A server may run meanwhile."""
    settings, data = shell_settings(), data.expanduser().absolute()
    if file.exists():
        raise wrong_usage(f"{file} is there already.", "Name a new file.")
    with owner_login(settings, data) as url, explained():
        write_backup(url, file)
    click.echo(f"Everything is in {file}.")
    place = "MUNIMENT_KEY_PEPPER" if settings.key_pepper else data / FILE_NAME
    if settings.key_pepper or (data / FILE_NAME).exists():
        click.echo(_KEEP.format(place=place), err=True)


@rich_click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@DATA
def restore(file: Path, data: Path) -> None:
    """Put a backup into an empty database: the one that the settings name, else a new one in the data folder."""
    settings, data = shell_settings(), data.expanduser().absolute()
    named = named_owner(settings)
    with ExitStack() as closing:
        if named is None and running_server(data) is not None:
            raise wrong_usage(f"A server runs on {data}.", "Name a new data folder, or the owner's login with MUNIMENT_OWNER_URL.")
        url = named or _started(data, closing)
        with explained():
            restore_backup(url, file, superuser_allowed=named is None)
            api_url = settings.database_url if settings.owner_url else None
            report = migrate(url, api_url, superuser_allowed=named is None)
            for schema, reason in report.failed.items():
                click.echo(f"{schema}: failed: {reason}", err=True)
            click.echo(f"{file} is restored.")
            _look_for_pepper(url, settings, data)


def _started(data: Path, closing: ExitStack) -> str:
    server = start_embedded(data)
    closing.callback(server.stop)
    return server.owner_url


def _look_for_pepper(url: str, settings: Settings, data: Path) -> None:
    """What is still missing for the keys in the backup to open anything."""
    try:
        find_pepper(url, settings, data)
    except InvalidSetting as error:
        click.echo(f"{error.message} {error.hint}", err=True)
