"""The calls of docs/using.md, one after another on a running server: each is answered as the page shows it, and every route has one."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import msgspec

from service.db.embedded import EmbeddedServer
from service.db.scope import ProjectRef
from service.operations import CATALOGUE
from service.tenants import workspaces
from service.tenants.owner import owner_connection

PAGE = (Path(__file__).parents[3] / "docs" / "using.md").read_text(encoding="utf-8")
CALLS = re.findall(r"^call (.*)\n# (.*)$", PAGE, re.MULTILINE)


class Call(msgspec.Struct, frozen=True):
    """What curl makes of the arguments that the page uses."""

    method: str
    path: str
    query: dict[str, str]
    body: str | None


def read_call(line: str, workspace: str) -> Call:
    words = iter(shlex.split(line.replace("$P", "$API/workspaces/main/projects/notes")))
    method, path, data = "", "", list[str]()
    for word in words:
        if word == "-G":
            method = "GET"
        elif word == "-X":
            method = next(words)
        elif word in ("-d", "--data-urlencode"):
            data.append(next(words))
        else:
            path = re.sub("/workspaces/main(?=/|$)", f"/workspaces/{workspace}", word.replace("$API", "/api/v1"))
    if method == "GET":
        return Call(method, path, {name: value for name, _, value in (each.partition("=") for each in data)}, None)
    return Call(method or ("POST" if data else "GET"), path, {}, data[0] if data else None)


def differences(shown: Any, got: Any, place: str = "") -> Iterator[str]:
    """Where the answer is not as it is shown: in it there may be more fields and further elements."""
    if shown == "…":
        if got is None:
            yield f"{place}: nothing"
    elif isinstance(shown, dict) and isinstance(got, dict):
        yield from (f"{place}.{name}: absent" for name in shown.keys() - got.keys())
        for name in shown.keys() & got.keys():
            yield from differences(shown[name], got[name], f"{place}.{name}")
    elif isinstance(shown, list) and isinstance(got, list) and shown and len(shown) <= len(got):
        for index, value in enumerate(shown):
            yield from differences(value, got[index], f"{place}[{index}]")
    elif shown != got:
        yield f"{place}: {shown!r}, not {got!r}"


async def test_calls_are_answered_as_shown(client: httpx2.AsyncClient, project: ProjectRef, server: EmbeddedServer) -> None:
    wrong: dict[str, list[str]] = {}
    key_id = ""
    for line, shown in CALLS:
        call = read_call(line.replace("KEY_ID", key_id), project.workspace)
        if (call.method, call.path) == ("POST", "/api/v1/workspaces"):  # from here on the page's calls are the operator's
            with owner_connection(server.owner_url) as owner:
                workspaces.set_operator(owner, workspaces.find_workspace(owner, project.workspace), operates=True)
        headers = {"content-type": "application/json"}
        reply = await client.request(call.method, call.path, params=call.query or None, content=call.body, headers=headers)
        first = reply.text.splitlines()[0].replace(f'"{project.workspace}"', '"main"')
        if found := list(differences(msgspec.json.decode(shown), msgspec.json.decode(first))):
            wrong[line] = found
        assert reply.is_success, (line, reply.text)
        key_id = reply.json()["id"] if call.method == "POST" and call.path.endswith("/keys") else key_id
    assert wrong == {}
    assert len(CALLS) == PAGE.count("\ncall ")


def test_every_route_has_a_call() -> None:
    calls = {(call.method, call.path.removeprefix("/api/v1")) for call in (read_call(line, "w") for line, _ in CALLS)}
    for operation in CATALOGUE:
        for route in operation.routes:
            pattern = re.sub(r"\{\w+(\*?)\}", lambda name: ".+" if name[1] else "[^/:]+", route.path)
            assert any(method == route.method and re.fullmatch(pattern, path) for method, path in calls), route
