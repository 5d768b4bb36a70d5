"""The migration runner: brings `control` and every project's schema to what this version of the code expects.

In: the owner's connection string and, where the API has a login of its own, the API's. Out: `MigrationReport`.
One ledger and one transaction per schema, under an advisory lock; a project that fails is reported and the others go on; a re-run
finishes. What comes from a backup, without roles and rights, gets them again. Ledgers are read a hundred at a time, so that a start with
nothing to do is short. Migrations only go forward; the first line of each says whether it is safe before or after the new code is deployed.
"""

import hashlib
from collections.abc import Container, Sequence
from functools import cache
from typing import Final, Literal

import msgspec
import psycopg
from psycopg import sql

from service.db.queries import SQL_ROOT, load, read_sql
from service.errors import InvalidSetting
from service.tenants.owner import Owner, Row, first_line, owner_connection, run
from service.tenants.roles import ensure_roles
from service.tenants.server_check import check_server, close_to_all

Phase = Literal["before", "after", "all"]
Area = Literal["control", "project"]

PROJECTS_A_CONNECTION: Final = 100  # each schema that a connection touches costs the database memory until it ends


class MigrationReport(msgspec.Struct, frozen=True):
    """What was done. `failed` maps a project's schema to the reason; its transaction left nothing behind."""

    applied: dict[str, list[str]]
    failed: dict[str, str]
    api_url: str


def migrate(owner_url: str, api_url: str | None = None, *, phase: Phase = "all", superuser_allowed: bool = False) -> MigrationReport:
    """Applies what is missing, to `control` first; safe to run again and beside running servers.

    Raises `UnsuitableDatabase` or `DatabaseUnavailable`. Without `api_url` a login for the API is made and its string is reported.
    """
    with owner_connection(owner_url) as owner:
        vectors = check_server(owner, superuser_allowed=superuser_allowed or api_url is not None)
        run(owner, load("control", "migrate")["lock_migrations"])
        close_to_all(owner)
        applied: dict[str, list[str]] = {}
        failed: dict[str, str] = {}
        with owner.transaction():
            owner.execute("CREATE SCHEMA IF NOT EXISTS control")
            bare = run(owner, load("control", "migrate")["control_is_bare"])[0]["found"]
            done = apply_area(owner, "control", "control", vectors, phase, renewed=bare)
            login_url = ensure_roles(owner, owner_url, api_url, vectors)
            _save_templates(owner)
        if done:
            applied["control"] = done
        projects = run(owner, load("control", "migrate")["all_projects"])
        for first in range(0, len(projects), PROJECTS_A_CONNECTION):
            with owner_connection(owner_url) as fresh:
                changed, wrong = _apply_projects(fresh, projects[first : first + PROJECTS_A_CONNECTION], vectors, phase)
            applied.update(changed)
            failed.update(wrong)
        return MigrationReport(applied=applied, failed=failed, api_url=login_url)


def _apply_projects(owner: Owner, projects: Sequence[Row], vectors: str, phase: Phase) -> tuple[dict[str, list[str]], dict[str, str]]:
    """What was applied to each of some projects, and why others failed."""
    applied: dict[str, list[str]] = {}
    failed: dict[str, str] = {}
    ids = [row["id"] for row in projects]
    bare = {row["id"] for row in run(owner, load("control", "migrate")["bare_projects"], ids)}
    for row in _behind(owner, projects, bare, phase):
        schema = f"m_{row['id']:d}"
        try:
            with owner.transaction():
                done = apply_area(owner, "project", schema, vectors, phase, role=row["role"], renewed=row["id"] in bare)
        except (psycopg.Error, LookupError) as error:
            failed[schema] = first_line(error)
        else:
            if done:
                applied[schema] = done
    return applied, failed


def apply_area(
    owner: Owner, area: Area, schema: str, vectors: str, phase: Phase, *, role: str | None = None, renewed: bool = False
) -> list[str]:
    """Applies to one schema what its ledger lacks, inside the caller's transaction; gives the names of what was applied.

    `renewed`: the schema comes from a backup, without rights: its functions are made again, and all rights are given.
    """
    queries = load("control", "migrate")
    run(owner, queries["lock_schema"], schema)
    run(owner, queries["set_timeouts"])
    if not run(owner, queries["schema_exists"], schema)[0]["found"]:
        raise LookupError("its schema is missing: restore it, or drop the project")
    run(owner, queries["set_search_path"], f'{schema}, "{vectors}", pg_temp')
    known: set[str] = set()
    if run(owner, queries["ledger_exists"])[0]["found"]:
        known = {row["name"] for row in run(owner, queries["ledger"])}
    pending = [(name, text) for name, text in migrations(area) if name not in known and _wanted(text, phase)]
    mark = functions_mark(area)
    if mark not in known or renewed:
        pending.append((mark, functions_of(area)))
    for name, text in pending:
        owner.execute((text.replace("m_0_", f"{schema}_") if area == "project" else text).encode())
        run(owner, queries["note_migration"], name)
    if pending:
        run(owner, queries["close_functions"], schema)
    if pending and role:
        owner.execute(read_sql("project", "grants.sql").replace("m_0_", f"{schema}_").replace("{role}", role).encode())
        run(owner, queries["add_reader"], schema, role)
        if renewed:
            run(owner, queries["grant_project"], schema, role)
    run(owner, queries["forget_functions"], mark)
    return [name for name, _ in pending]


@cache
def migrations(area: Area) -> list[tuple[str, str]]:
    """The migrations of an area in order: name and text."""
    return [(path.stem, path.read_text(encoding="utf-8")) for path in sorted((SQL_ROOT / area / "migrations").glob("*.sql"))]


@cache
def functions_of(area: Area) -> str:
    """All functions of an area as one text; each file replaces what stands."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((SQL_ROOT / area / "functions").glob("*.sql")))


@cache
def functions_mark(area: Area) -> str:
    """The ledger's name for an area's functions, and for what is renewed with them, as they are now."""
    texts = functions_of(area)
    if area == "project":
        texts += read_sql("project", "reader.sql") + read_sql("project", "grants.sql")
    return "functions:" + hashlib.sha256(texts.encode()).hexdigest()[:16]


def project_template() -> str:
    """The text that makes a project at once: its schema as it is now, its functions, its grants, its ledger filled."""
    names = [name for name, _ in migrations("project")] + [functions_mark("project")]
    ledger = sql.SQL("INSERT INTO migration (name) VALUES {};").format(
        sql.SQL(", ").join(sql.SQL("({})").format(sql.Literal(name)) for name in names)
    )
    tables = [read_sql("project", "schema.sql"), read_sql("project", "views.sql")]
    return "\n".join([*tables, functions_of("project"), read_sql("project", "grants.sql"), ledger.as_string()])


def _behind(owner: Owner, projects: Sequence[Row], bare: Container[int], phase: Phase) -> list[Row]:
    """The projects without rights, and those whose ledgers lack something or cannot be read."""
    expected = {name for name, text in migrations("project") if _wanted(text, phase)} | {functions_mark("project")}
    with owner.transaction():
        run(owner, load("control", "migrate")["set_timeouts"])
        rows = run(owner, load("control", "migrate")["ledgers"], [row["id"] for row in projects])
    known = {row["project_id"]: set(row["names"] or ()) for row in rows}
    return [row for row in projects if row["id"] in bare or not expected <= known[row["id"]]]


def _wanted(text: str, phase: Phase) -> bool:
    first = text.partition("\n")[0]
    if first not in ("-- deploy: before", "-- deploy: after"):
        raise InvalidSetting("A migration does not say whether it is safe before or after a deploy.")
    return phase == "all" or first.endswith(phase)


def _save_templates(owner: Owner) -> None:
    query = load("control", "migrate")["save_template"]
    run(owner, query, "project", project_template())
    for name in ("space", "reader"):
        run(owner, query, name, read_sql("project", f"{name}.sql"))
