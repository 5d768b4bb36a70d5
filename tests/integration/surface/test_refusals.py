"""What a refusal says: which values are allowed, and what to do next, in words that fit keys and tokens."""

from typing import Any

import httpx2
import pytest

from service.access.keys import Caller
from service.errors import Forbidden, InvalidSetting
from service.settings import load_settings
from tests.mcp.conftest import call


@pytest.mark.parametrize(
    ("method", "path", "body", "allowed"),
    [
        ("POST", "{base}/links", {"relation": "BLA", "from": "evt_1", "to": "evt_2"}, ["RESOLVED_BY", "NEXT", "SAME_AS"]),
        ("PUT", "{root}/members/ada", {"role": "owner"}, ["none", "reader", "writer", "admin"]),
        ("POST", "{root}/keys", {"scopes": ["own"]}, ["read", "write", "admin"]),
        ("PUT", "{root}/embedding", {"provider": "mine"}, ["local", "openai", "ollama", "none"]),
    ],
)
async def test_a_wrong_choice_is_told_the_right_ones(
    client: httpx2.AsyncClient, base: str, root: str, method: str, path: str, body: Any, allowed: list[str]
) -> None:
    problem = (await client.request(method, path.format(base=base, root=root), json=body)).json()
    assert (problem["status"], set(problem["allowed_values"])) == (422, set(allowed))
    assert all(value in problem["hint"] for value in allowed)
    assert "enum" not in problem["detail"]


async def test_agents_are_told_the_right_choices_too(client: httpx2.AsyncClient) -> None:
    result = await call(client, "list_memory_timeline", {"order": "sideways"})
    assert result["isError"]
    assert "oldest" in result["content"][0]["text"]
    assert "newest" in result["content"][0]["text"]


def test_a_setting_is_told_the_right_choices() -> None:
    with pytest.raises(InvalidSetting) as refusal:
        load_settings({"MUNIMENT_LOG_FORMAT": "xml"})
    assert refusal.value.hint == "Choose of: json, text." or refusal.value.hint == "Choose of: text, json."


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/workspaces/no-such/projects/none/status"),
        ("GET", "{root}/projects/no-such/status"),
        ("GET", "{base}/pages/no-such.md"),
        ("DELETE", "{base}/pages/no-such.md"),
        ("DELETE", "{base}/events/evt_99"),
        ("PATCH", "{base}/events/evt_99"),
        ("POST", "{base}/events"),
        ("GET", "{base}/timeline?session=no-such"),
        ("GET", "{base}/connections?id=evt_99"),
    ],
)
async def test_a_refusal_says_what_to_do(client: httpx2.AsyncClient, base: str, root: str, method: str, path: str) -> None:
    content = b'{"kind": "fix"}' if method == "PATCH" else b"{no json" if method == "POST" else None
    reply = await client.request(method, path.format(base=base, root=root), content=content, headers={"content-type": "application/json"})
    assert reply.status_code in (400, 404), reply.text
    assert reply.json().get("hint"), reply.text


async def test_a_page_that_is_too_large_is_told_so(client: httpx2.AsyncClient, base: str) -> None:
    refused = (await client.put(f"{base}/pages/big.md", json={"body": "x" * 1_100_000})).json()
    assert refused["code"] == "body_too_large"
    assert "as several pages" in refused["hint"]


def test_people_are_not_told_of_keys() -> None:
    person = Caller("oidc:ada", 1, "main", "r", frozenset({"read"}), None, None)
    with pytest.raises(Forbidden) as refusal:
        person.require("write")
    assert "key" not in refusal.value.message + str(refusal.value.hint)
    assert "role" in str(refusal.value.hint)
