"""The Postgres that Muniment brings along, for one machine and no installation.

In: a data folder. Out: a running server and its address.
"""

from service.db.embedded.errors import DataFolderInUse, EmbeddedPostgresError
from service.db.embedded.server import EmbeddedServer, PostgresServer, start_embedded

__all__ = ["DataFolderInUse", "EmbeddedPostgresError", "EmbeddedServer", "PostgresServer", "start_embedded"]
