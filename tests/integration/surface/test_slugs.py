"""Slugs that want to be more than slugs: refused, or a name like any other, since no schema and no role is named by one."""

import itertools
import re
from typing import Any

import httpx2
import pytest

from service.db.embedded import EmbeddedServer
from service.operations import CATALOGUE
from service.tenants.owner import owner_connection
from tests.integration.surface.asking import code_of

HOSTILE = [
    'x"; DROP SCHEMA public CASCADE; --', "x'; --", "../x", "a/b", "a b", "a_b", "A-B", "pg_catalog", "pg_temp", "information_schema", "", " ",
    "-a", "a.b", "a\u0000b", "é", "ａ", "a" * 64, "a" * 10_000,
]  # fmt: skip
PLAIN = [
    "public", "control", "ext", "m-1", "0", "a" * 63, "a-b", "all", "none", "global", "null", "default", "user", "postgres", "pg-temp", "con",
    "workspaces", "projects", "search", "sql", "graph", "events", "export", "api", "mcp",
]  # fmt: skip


def _names(server: EmbeddedServer) -> set[str]:
    """Schemas and roles that there are."""
    with owner_connection(server.owner_url) as owner:
        rows = owner.execute("SELECT nspname AS name FROM pg_namespace UNION ALL SELECT rolname FROM pg_roles").fetchall()
    return {row["name"] for row in rows}


@pytest.mark.parametrize("slug", HOSTILE, ids=lambda slug: repr(slug[:20]))
async def test_what_is_no_slug_is_refused_and_makes_nothing(
    client: httpx2.AsyncClient, server: EmbeddedServer, root: str, base: str, slug: str
) -> None:
    before = _names(server)
    calls: list[Any] = [
        client.post(f"{root}/projects", json={"slug": slug}),
        client.patch(base, json={"slug": slug}),
        client.patch(root, json={"slug": slug}),
    ]
    for call in calls:
        status, code = await code_of(call)
        assert (status, code) in {(422, "invalid_request"), (403, "forbidden")}, slug
    assert _names(server) == before


async def test_any_slug_names_a_project_and_never_a_schema(client: httpx2.AsyncClient, server: EmbeddedServer, root: str) -> None:
    before = _names(server)
    for slug in PLAIN:
        assert (await client.post(f"{root}/projects", json={"slug": slug})).status_code == 201
        saved = await client.post(f"{root}/projects/{slug}/events", json={"summary": f"in {slug}"})
        assert saved.json()["id"] == "evt_1"
    assert all(re.fullmatch(r"m_[0-9]+|mun_[0-9a-f]{8}_r[0-9]+", name) for name in _names(server) - before)
    for slug in PLAIN:
        (event,) = (await client.get(f"{root}/projects/{slug}/timeline")).json()["events"]
        assert event["summary"] == f"in {slug}"
    assert await code_of(client.get(f"{root}/projects/{'A-B'}/status")) == (404, "not_found")
    assert [reply.json()["created"] for reply in [await client.post(f"{root}/projects", json={"slug": slug}) for slug in PLAIN[:2]]] == [
        False,
        False,
    ]


def test_any_slug_names_a_workspace_and_never_a_role(server: EmbeddedServer) -> None:
    before = _names(server)
    with owner_connection(server.owner_url) as owner:
        for slug in PLAIN:
            (made,) = owner.execute("SELECT control.create_workspace($1, $1) AS id", (slug,)).fetchall()
            (new,) = _names(server) - before
            assert re.fullmatch(rf"mun_[0-9a-f]{{8}}_w{made['id']}", new)
            assert owner.execute("SELECT control.drop_workspace($1) AS gone", (made["id"],)).fetchall() == [{"gone": True}]


def test_no_address_has_a_word_of_its_own_where_another_has_a_slug() -> None:
    """So a slug may be any word: what is said by words stands before it or behind."""
    addresses = [route.path.split("/") for operation in CATALOGUE for route in operation.routes]
    slugs = {"{workspace}", "{project}"}
    assert slugs <= {part for address in addresses for part in address}
    for one, other in itertools.combinations(addresses, 2):
        apart = next(({mine, its} for mine, its in zip(one, other, strict=False) if mine != its), set[str]())
        assert not apart & slugs, (one, other)
