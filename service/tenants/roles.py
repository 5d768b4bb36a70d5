"""The roles of an installation: the API's login, and the group that holds what every workspace's role may do in `control`.

In: the owner's connection and the logins' strings. Out: the string under which the API logs in. All names carry the installation's tag,
so that two installations can share a cluster.
"""

import hashlib
import hmac
import secrets
from typing import Any, LiteralString, cast
from urllib.parse import quote, urlsplit, urlunsplit

from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from service.db.queries import load, read_sql
from service.errors import InvalidSetting
from service.tenants.owner import Owner, run, run_one


def ensure_roles(owner: Owner, owner_url: str, api_url: str | None, vectors: str) -> str:
    """Makes the API's login and the group of the workspaces' roles, and grants each what it may call."""
    queries = load("control", "migrate")
    instance = run_one(owner, queries["find_instance"])
    tag: str = instance["tag"] if instance else secrets.token_hex(4)
    target = conninfo_to_dict(api_url) if api_url else _derived_login(owner_url, tag)
    login = str(target.get("user") or "")
    if not login:
        raise InvalidSetting("DATABASE_URL names no user.")
    _ensure_login(owner, login, target.get("password"), derived=api_url is None)
    group = f"mun_{tag}_workspace"
    if run_one(owner, queries["find_role"], group) is None:
        owner.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(group)))
    if instance is None:
        run(owner, queries["add_instance"], tag, login, vectors)
    else:
        run(owner, queries["update_instance"], login, vectors)
    names = {"login": sql.Identifier(login), "group": sql.Identifier(group), "vectors": sql.Identifier(vectors)}
    grants = cast("LiteralString", read_sql("control", "grants.sql"))
    owner.execute(sql.SQL(grants).format(**names))
    for row in run(owner, queries["roles_missing"]):
        owner.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(row["role"])))
        owner.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(group), sql.Identifier(row["role"])))
    for row in run(owner, queries["roles_not_held"], login):
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
    role = run_one(owner, load("control", "migrate")["find_role"], login)
    if role is not None and not role["rolinherit"] and not derived:
        return
    verb = "CREATE ROLE {} LOGIN NOINHERIT" if role is None else "ALTER ROLE {} NOINHERIT"
    statement = sql.SQL(verb).format(sql.Identifier(login))
    if password and (derived or role is None):
        scram = owner.pgconn.encrypt_password(str(password).encode(), login.encode(), b"scram-sha-256").decode()
        statement = sql.SQL("{} PASSWORD {}").format(statement, sql.Literal(scram))
    owner.execute(statement)
