"""The migration runner: brings `control` and every project's schema to what this version of the code expects.

In: the owner's connection string and, where the API has a login of its own, the API's. Out: `MigrationReport`.
One ledger and one transaction per schema, under an advisory lock; a project that fails is reported and the others go on; a re-run
finishes. Migrations only go forward; the first line of each says whether it is safe before or after the new code is deployed.
"""

import hashlib
import hmac
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal
from urllib.parse import quote, urlsplit, urlunsplit

import msgspec
import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row

from service.db.queries import SQL_ROOT, load, read_sql
from service.errors import DatabaseUnavailable, InvalidSetting
from service.tenants.server_check import Owner, check_server

Phase = Literal["before", "after", "all"]
Area = Literal["control", "project"]


class MigrationReport(msgspec.Struct, frozen=True):
    """What was done. `failed` maps a project's schema to the reason; its transaction left nothing behind."""

    applied: dict[str, list[str]]
    failed: dict[str, str]
    api_url: str


@contextmanager
def owner_connection(url: str) -> Iterator[Owner]:
    """A connection under the owner's login, each statement its own transaction unless one is opened."""
    try:
        connection = psycopg.connect(
            url, autocommit=True, row_factory=dict_row, cursor_factory=psycopg.RawCursor, connect_timeout=10, application_name="muniment"
        )
    except psycopg.OperationalError as error:
        raise DatabaseUnavailable("The database does not answer under the owner's login.", hint=_first_line(error)) from error
    with connection:
        yield connection


def migrate(owner_url: str, api_url: str | None = None, *, phase: Phase = "all", superuser_allowed: bool = False) -> MigrationReport:
    """Applies what is missing, to `control` first; safe to run again and beside running servers.

    Raises `UnsuitableDatabase` or `DatabaseUnavailable`. Without `api_url` a login for the API is made and its string is reported.
    """
    with owner_connection(owner_url) as owner:
        vectors = check_server(owner, superuser_allowed=superuser_allowed or api_url is not None)
        owner.execute(load("control", "migrate")["lock_migrations"].sql)
        applied: dict[str, list[str]] = {}
        failed: dict[str, str] = {}
        with owner.transaction():
            owner.execute("CREATE SCHEMA IF NOT EXISTS control")
            done = apply_area(owner, "control", "control", vectors, phase)
            login_url = _ensure_roles(owner, owner_url, api_url, vectors)
            _save_templates(owner)
        if done:
            applied["control"] = done
        for row in owner.execute(load("control", "migrate")["all_projects"].sql).fetchall():
            schema = f"m_{row['id']:d}"
            try:
                with owner.transaction():
                    done = apply_area(owner, "project", schema, vectors, phase, role=row["role"])
            except (psycopg.Error, LookupError) as error:
                failed[schema] = _first_line(error)
            else:
                if done:
                    applied[schema] = done
        return MigrationReport(applied=applied, failed=failed, api_url=login_url)


def apply_area(owner: Owner, area: Area, schema: str, vectors: str, phase: Phase, role: str | None = None) -> list[str]:
    """Applies to one schema what its ledger lacks, inside the caller's transaction; gives the names of what was applied."""
    queries = load("control", "migrate")
    owner.execute(queries["lock_schema"].sql, (schema,))
    owner.execute(queries["set_timeouts"].sql)
    if not _value(owner, queries["schema_exists"].sql, schema):
        raise LookupError("its schema is missing: restore it, or drop the project")
    owner.execute(queries["set_search_path"].sql, (f'{schema}, "{vectors}", pg_temp',))
    known: set[str] = set()
    if _value(owner, queries["ledger_exists"].sql):
        known = {row["name"] for row in owner.execute(queries["ledger"].sql).fetchall()}
    pending = [(name, text) for name, text in migrations(area) if name not in known and _wanted(text, phase)]
    functions = functions_of(area)
    mark = "functions:" + hashlib.sha256(functions.encode()).hexdigest()[:16]
    if mark not in known:
        pending.append((mark, functions))
    for name, text in pending:
        owner.execute(text.encode())
        owner.execute(queries["note_migration"].sql, (name,))
    if pending and role:
        owner.execute(read_sql("project", "grants.sql").replace("{role}", role).encode())
    owner.execute(queries["forget_functions"].sql, (mark,))
    return [name for name, _ in pending]


def migrations(area: Area) -> list[tuple[str, str]]:
    """The migrations of an area in order: name and text."""
    return [(path.stem, path.read_text(encoding="utf-8")) for path in sorted((SQL_ROOT / area / "migrations").glob("*.sql"))]


def functions_of(area: Area) -> str:
    """All functions of an area as one text; each file replaces what stands."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((SQL_ROOT / area / "functions").glob("*.sql")))


def project_template() -> str:
    """The text that makes a project at once: its schema as it is now, its functions, its grants, its ledger filled."""
    functions = functions_of("project")
    mark = "functions:" + hashlib.sha256(functions.encode()).hexdigest()[:16]
    names = [name for name, _ in migrations("project")] + [mark]
    ledger = sql.SQL("INSERT INTO migration (name) VALUES {};").format(
        sql.SQL(", ").join(sql.SQL("({})").format(sql.Literal(name)) for name in names)
    )
    return "\n".join([read_sql("project", "schema.sql"), functions, read_sql("project", "grants.sql"), ledger.as_string()])


def _wanted(text: str, phase: Phase) -> bool:
    first = text.partition("\n")[0]
    if first not in ("-- deploy: before", "-- deploy: after"):
        raise InvalidSetting("A migration does not say whether it is safe before or after a deploy.")
    return phase == "all" or first.endswith(phase)


def _save_templates(owner: Owner) -> None:
    queries = load("control", "migrate")
    owner.execute(
        queries["save_template"].sql,
        (
            "project",
            project_template(),
        ),
    )
    owner.execute(
        queries["save_template"].sql,
        (
            "space",
            read_sql("project", "space.sql"),
        ),
    )


def _ensure_roles(owner: Owner, owner_url: str, api_url: str | None, vectors: str) -> str:
    """Makes the API's login and the group of the workspaces' roles, and grants each what it may call."""
    queries = load("control", "migrate")
    instance = owner.execute(queries["find_instance"].sql).fetchone()
    tag: str = instance["tag"] if instance else secrets.token_hex(4)
    target = conninfo_to_dict(api_url) if api_url else _derived_login(owner_url, tag)
    login = str(target.get("user") or "")
    if not login:
        raise InvalidSetting("DATABASE_URL names no user.")
    _ensure_login(owner, login, target.get("password"), derived=api_url is None)
    group = f"mun_{tag}_workspace"
    if owner.execute(queries["find_role"].sql, (group,)).fetchone() is None:
        owner.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(group)))
    if instance is None:
        owner.execute(
            queries["add_instance"].sql,
            (
                tag,
                login,
                vectors,
            ),
        )
    else:
        owner.execute(
            queries["update_instance"].sql,
            (
                login,
                vectors,
            ),
        )
    names = {"login": sql.Identifier(login), "group": sql.Identifier(group), "vectors": sql.Identifier(vectors)}
    owner.execute(sql.SQL(read_sql("control", "grants.sql")).format(**names))  # pyright: ignore[reportArgumentType]
    for row in owner.execute(queries["workspace_roles"].sql).fetchall():
        owner.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(row["role"]), sql.Identifier(login)))
    return api_url or _with_login(owner_url, login, target.get("password"))


def _derived_login(owner_url: str, tag: str) -> dict[str, Any]:
    """The same login on every replica, from what they share: the owner's password."""
    target = dict(conninfo_to_dict(owner_url))
    password = target.pop("password", None)
    target["user"] = f"mun_{tag}_api"
    if password:
        target["password"] = hmac.new(str(password).encode(), f"muniment api login {tag}".encode(), hashlib.sha256).hexdigest()
    return target


def _with_login(url: str, login: str, password: Any) -> str:
    parts = urlsplit(url)
    user = quote(login, safe="") + (f":{quote(str(password), safe='')}" if password else "")
    return urlunsplit(parts._replace(netloc=f"{user}@{parts.netloc.rpartition('@')[2]}"))


def _ensure_login(owner: Owner, login: str, password: Any, *, derived: bool) -> None:
    """A login that stands keeps its password, unless it is ours and follows from the owner's."""
    role = owner.execute(load("control", "migrate")["find_role"].sql, (login,)).fetchone()
    if role is not None and not role["rolinherit"] and not derived:
        return
    verb = "CREATE ROLE {} LOGIN NOINHERIT" if role is None else "ALTER ROLE {} NOINHERIT"
    statement = sql.SQL(verb).format(sql.Identifier(login))
    if password and (derived or role is None):
        scram = owner.pgconn.encrypt_password(str(password).encode(), login.encode(), b"scram-sha-256").decode()
        statement = sql.SQL("{} PASSWORD {}").format(statement, sql.Literal(scram))
    owner.execute(statement)


def _value(owner: Owner, text: str, *args: Any) -> Any:
    row = owner.execute(text, args).fetchone()
    return next(iter(row.values())) if row else None


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
