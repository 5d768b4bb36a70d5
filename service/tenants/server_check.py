"""Whether a Postgres server can hold Muniment: version, locale, the extension `vector`, the rights of the owner's login and of everybody.

In: a psycopg connection under the owner's login. Out: the schema of the extension; raises `UnsuitableDatabase`, which says what to do.
"""

from contextlib import suppress

import psycopg
from psycopg import sql

from service.db.queries import load
from service.errors import UnsuitableDatabase
from service.tenants.owner import Owner, Row, run

_OLDEST, _NEWEST = 15, 18
_VECTOR = (0, 7)


def check_server(owner: Owner, *, superuser_allowed: bool) -> str:
    """Checks the server and makes the extension where it is missing; gives the schema that the extension lives in."""
    server = run(owner, load("control", "migrate")["describe_server"])[0]
    major = server["version"] // 10_000
    if not _OLDEST <= major <= _NEWEST:
        raise UnsuitableDatabase(
            f"The server is Postgres {server['version_text']}; Muniment runs on {_OLDEST} to {_NEWEST}.",
            hint=f"Use a server of version {_OLDEST} to {_NEWEST}, or leave DATABASE_URL out to use the embedded one.",
        )
    if server["encoding"] != "UTF8":
        raise UnsuitableDatabase(
            f"The database's encoding is {server['encoding']}, not UTF8.", hint="Create it with ENCODING 'UTF8' TEMPLATE template0."
        )
    if server["provider"] == "c" and server["datctype"] in ("C", "POSIX"):
        raise UnsuitableDatabase(
            "The database's LC_CTYPE is C, which breaks upper and lower case outside ASCII.",
            hint="Create it with LC_CTYPE 'C.UTF-8' (or any UTF-8 locale) TEMPLATE template0.",
        )
    _check_owner(owner, superuser_allowed)
    return _ensure_vector(owner, server)


def _check_owner(owner: Owner, superuser_allowed: bool) -> None:
    login = run(owner, load("control", "migrate")["describe_owner"])[0]
    if login["rolsuper"] and not superuser_allowed:
        raise UnsuitableDatabase(
            f"DATABASE_URL logs in as {login['rolname']}, a superuser; the database could not keep workspaces apart under it.",
            hint="Make an owner: CREATE ROLE muniment_owner LOGIN CREATEROLE PASSWORD '…'; CREATE DATABASE muniment OWNER muniment_owner; "
            "and in it, as superuser, CREATE SCHEMA ext AUTHORIZATION muniment_owner; CREATE EXTENSION vector SCHEMA ext.",
        )
    if login["rolsuper"]:
        return
    if not login["rolcreaterole"]:
        raise UnsuitableDatabase(
            f"The login {login['rolname']} cannot create roles, and every workspace has a role of its own.",
            hint=f"As superuser: ALTER ROLE {login['rolname']} CREATEROLE.",
        )
    if not login["can_create"]:
        raise UnsuitableDatabase(
            f"The login {login['rolname']} cannot create schemas in this database.",
            hint=f"As superuser: GRANT CREATE ON DATABASE … TO {login['rolname']}, or make it the database's owner.",
        )


def _ensure_vector(owner: Owner, server: Row) -> str:
    version = server["installed"] or server["available"]
    if version is None:
        raise UnsuitableDatabase(
            "The server has no extension `vector` (pgvector).",
            hint="Install pgvector 0.7 or newer on the server (Debian: postgresql-NN-pgvector), then start again.",
        )
    if _numbers(version) < _VECTOR:
        raise UnsuitableDatabase(
            f"The extension `vector` is {version}; Muniment needs 0.7 or newer.",
            hint="Install a newer pgvector on the server, then run ALTER EXTENSION vector UPDATE in this database.",
        )
    if server["installed"]:
        return str(server["vector_schema"])
    try:
        with owner.transaction():
            owner.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS ext"))
            owner.execute(sql.SQL("CREATE EXTENSION vector SCHEMA ext"))
    except psycopg.errors.InsufficientPrivilege as error:
        raise UnsuitableDatabase(
            "The extension `vector` is not in this database, and this login may not create it.",
            hint="As superuser, in this database: CREATE SCHEMA IF NOT EXISTS ext AUTHORIZATION "
            f"{owner.info.user}; CREATE EXTENSION vector SCHEMA ext.",
        ) from error
    return "ext"


def close_to_all(owner: Owner) -> None:
    """Takes from PUBLIC what our roles would have through it: temporary tables, which outlive a transaction, and the schema public."""
    statements = {
        "temporary": sql.SQL("REVOKE TEMPORARY ON DATABASE {} FROM PUBLIC").format(sql.Identifier(owner.info.dbname)),
        "creating": sql.SQL("REVOKE CREATE ON SCHEMA public FROM PUBLIC"),
    }
    for right in _rights_of_all(owner):
        with suppress(psycopg.errors.InsufficientPrivilege), owner.transaction():
            owner.execute(statements[right])
    if left := _rights_of_all(owner):
        raise UnsuitableDatabase(
            "Every login may make temporary tables or objects of its own in this database, and this one may not end that.",
            hint=f"As superuser, in this database: {'; '.join(statements[right].as_string(owner) for right in left)}.",
        )


def _rights_of_all(owner: Owner) -> list[str]:
    return [right for right, found in run(owner, load("control", "migrate")["rights_of_all"])[0].items() if found]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
