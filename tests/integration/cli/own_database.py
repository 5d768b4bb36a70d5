"""A Postgres of the operator's own for a test, beside Muniment's embedded one: its owner is no superuser."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from service.db.embedded import start_embedded
from service.tenants.owner import owner_connection


class OwnDatabase:
    """`admin_url` is a superuser's in the database, `url` its owner's. No login needs a password."""

    def __init__(self, server_url: str) -> None:
        self.admin_url = server_url.replace("/muniment?", "/memory?")
        self.url = self.admin_url.replace("muniment_owner@", "keeper@")


@contextmanager
def own_database(folder: Path) -> Iterator[OwnDatabase]:
    """Made as docs/operating.md says, on a server that runs as long as the block."""
    server = start_embedded(folder)
    try:
        made = OwnDatabase(server.owner_url)
        with owner_connection(server.owner_url) as admin:
            admin.execute("CREATE ROLE keeper LOGIN CREATEROLE")
            admin.execute("CREATE DATABASE memory OWNER keeper")
        with owner_connection(made.admin_url) as admin:
            admin.execute("CREATE SCHEMA ext AUTHORIZATION keeper")
            admin.execute("CREATE EXTENSION vector SCHEMA ext")
        yield made
    finally:
        server.stop()
