"""What a server needs before it can serve: a database that is set up, and someone who may use it.

In: settings and a data folder. Out: `Prepared`. With no database named, the embedded one is started in the folder; with the owner's
login at hand the schemas are brought up to date; with the API's alone nothing is changed.
"""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from service.access.keys import FIRST_KEY, NewKey
from service.db.embedded import EmbeddedServer, start_embedded
from service.errors import InvalidSetting
from service.settings import Settings
from service.tenants import workspaces
from service.tenants.migrate import MigrationReport, migrate
from service.tenants.owner import explained, owner_connection

WORKSPACE = "main"
PROJECT = "memory"


class Prepared(msgspec.Struct, frozen=True):
    """A database ready to serve: the logins' strings, and the server when it is ours to stop."""

    api_url: str
    owner_url: str | None
    embedded: Any = None
    migrated: MigrationReport | None = None

    def stop(self) -> None:
        """Stops the embedded server; a database of the operator's stays as it is."""
        if isinstance(self.embedded, EmbeddedServer):
            self.embedded.stop()


def prepare_database(settings: Settings, data: Path, *, owner_needed: bool) -> Prepared:
    """Starts or reaches the database and migrates it where the owner's login is known; raises what keeps it from serving.

    `owner_needed`: DATABASE_URL alone is then taken for the owner's login, and the API gets one of its own.
    """
    if settings.database_url is None:
        if settings.owner_url is not None:
            raise InvalidSetting("MUNIMENT_OWNER_URL is set, but DATABASE_URL is not.", hint="Set DATABASE_URL to the API's login.")
        server = start_embedded(data)
        try:
            report = migrate(server.owner_url, superuser_allowed=True)
        except BaseException:
            server.stop()
            raise
        return Prepared(report.api_url, server.owner_url, server, report)
    if settings.owner_url is not None:
        with explained():
            report = migrate(settings.owner_url, settings.database_url)
        return Prepared(report.api_url, settings.owner_url, None, report)
    if owner_needed:
        with explained():
            report = migrate(settings.database_url)
        return Prepared(report.api_url, settings.database_url, None, report)
    return Prepared(settings.database_url, None)


def ensure_first_key(owner_url: str, pepper: str, space: tuple[str, str, int] | None) -> NewKey:
    """A workspace and a project where there is none yet, and a fresh key with all scopes."""
    with owner_connection(owner_url) as owner:
        workspace = workspaces.create_workspace(owner, WORKSPACE, "Main")
        project = workspaces.create_project(owner, workspace, PROJECT, "Memory", space)
        workspaces.drop_unused_keys(owner, workspace, FIRST_KEY)
        return workspaces.create_key(owner, workspace, pepper=pepper, name=FIRST_KEY, default_project=project)


def without_password(url: str) -> str:
    """A connection string that may be shown."""
    parts = urlsplit(url)
    login, _, host = parts.netloc.rpartition("@")
    user = login.partition(":")[0]
    return urlunsplit(parts._replace(netloc=f"{user}@{host}" if user else host))
