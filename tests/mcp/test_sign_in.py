"""A client without a key finds the issuer by itself: the metadata of the protected resource, and the way there from every 401."""

import json
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from mcp import Client
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import InvalidSetting
from service.settings import Settings
from service.surface.resource import ProtectedResource
from tests.integration.access.issuer import AUDIENCE, Issuer
from tests.mcp.conftest import INITIALIZE, Running, post, run_app

WELL_KNOWN = "/.well-known/oauth-protected-resource"
PUBLIC = {"host": "memory.example"}


class SigningIssuer(Issuer):
    """Also says where its tokens are had, and gives one for `workspace` to every client."""

    workspace = ""
    asked: dict[str, str]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        issuer, base = self, super()._handler()

        class Handler(base):  # type: ignore[misc, valid-type]
            def do_GET(self) -> None:  # noqa: N802
                if self.path != "/.well-known/oauth-authorization-server/realm":
                    super().do_GET()
                    return
                named = {name: f"{issuer.url}/{path}" for name, path in (("authorization_endpoint", "login"), ("token_endpoint", "token"))}
                self.give({"issuer": issuer.url, **named, "response_types_supported": ["code"]})

            def do_POST(self) -> None:  # noqa: N802
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                issuer.asked = dict(httpx2.QueryParams(body))
                token = issuer.token(issuer.claims(issuer.workspace), "rsa")
                self.give({"access_token": token, "token_type": "Bearer", "expires_in": 600})

            def give(self, value: Any) -> None:
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps(value).encode())

        return Handler


class Store:
    """Remembers what a client was given."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.info: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.info

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.info = client_info


@pytest.fixture(scope="module")
def issuer() -> Iterator[SigningIssuer]:
    started = SigningIssuer()
    started.add_rsa("rsa")
    yield started
    started.stop()


def _settings(issuer: Issuer, **more: Any) -> Settings:
    return Settings(embedding_provider="none", oidc_issuer=issuer.url, oidc_audience=[AUDIENCE], **more)


@pytest_asyncio.fixture
async def signed(database: Database, issuer: SigningIssuer) -> AsyncIterator[Running]:
    async with run_app(database, _settings(issuer)) as served:
        yield served


async def _metadata(client: httpx2.AsyncClient, reply: httpx2.Response) -> tuple[str, dict[str, Any]]:
    """The address in a refusal's challenge, and what its path answers."""
    challenge = reply.headers["www-authenticate"]
    assert challenge.startswith('Bearer realm="muniment", resource_metadata="')
    address = challenge.split('"')[3]
    found = await client.get(httpx2.URL(address).raw_path.decode())
    assert found.status_code == 200, found.text
    return address, found.json()


async def test_the_official_client_signs_in_by_itself(signed: Running, issuer: SigningIssuer, project: ProjectRef) -> None:
    issuer.workspace = project.workspace
    url = f"{signed.url}/mcp"
    auth = ClientCredentialsOAuthProvider(url, Store(), "someone", "a secret", issuer=issuer.url)
    async with (
        httpx2.AsyncClient(auth=auth, timeout=30, trust_env=False) as http,
        Client(streamable_http_client(url, http_client=http), mode="legacy") as client,
    ):
        found = await client.call_tool("list_projects", {})
    assert [each["project"] for each in found.structured_content["projects"]] == [project.project]
    assert (issuer.asked["resource"], issuer.asked["scope"]) == (url, "read write admin")


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
async def test_a_401_on_mcp_leads_to_its_description(signed: Running, issuer: SigningIssuer, path: str) -> None:
    async with signed.client() as anonymous:
        address, described = await _metadata(anonymous, await post(anonymous, INITIALIZE, path))
    assert address == f"{signed.url}{WELL_KNOWN}/mcp"
    assert described["resource"] == f"{signed.url}/mcp"
    assert described["authorization_servers"] == [issuer.url]


@pytest.mark.parametrize("token", [None, "mun_" + "a" * 12 + "_" + "b" * 43, "a.b.c", "x"])
@pytest.mark.parametrize(("method", "path"), [("GET", "/api/v1/workspaces/w/projects"), ("POST", "/api/v1/search")])
async def test_a_401_on_rest_leads_to_the_server_s_description(signed: Running, token: str | None, method: str, path: str) -> None:
    async with signed.client(token) as client:
        reply = await client.request(method, path)
        address, described = await _metadata(client, reply)
    assert (reply.status_code, reply.json()["code"]) == (401, "unauthenticated")
    assert (address, described["resource"]) == (f"{signed.url}{WELL_KNOWN}", signed.url)


@pytest.mark.parametrize("prefix", ["", "/memory"])
async def test_behind_a_proxy_the_public_address_is_told(database: Database, issuer: SigningIssuer, prefix: str) -> None:
    settings = _settings(issuer, public_url=f"https://memory.example{prefix}/")
    async with run_app(database, settings) as served, served.client() as inside:
        address, described = await _metadata(inside, await post(inside, INITIALIZE, **PUBLIC))
        whole = await inside.get(f"{WELL_KNOWN}{prefix}", headers=PUBLIC)
        refused = await inside.get(WELL_KNOWN, headers={"host": "evil.example"})
    assert address == f"https://memory.example{WELL_KNOWN}{prefix}/mcp"
    assert (described["resource"], whole.json()["resource"]) == (f"https://memory.example{prefix}/mcp", f"https://memory.example{prefix}")
    assert refused.status_code == 403


async def test_forwarded_names_change_nothing(signed: Running) -> None:
    async with signed.client(
        **{"x-forwarded-host": "evil.example", "x-forwarded-prefix": "/evil", "forwarded": "host=evil.example"}
    ) as client:
        address, described = await _metadata(client, await client.get("/api/v1/workspaces/w/projects"))
    assert (address, described["resource"]) == (f"{signed.url}{WELL_KNOWN}", signed.url)


async def test_without_an_issuer_there_is_nothing_to_lead_to(running: Running) -> None:
    async with running.client() as anonymous:
        replies = [await post(anonymous, INITIALIZE), await anonymous.get("/api/v1/workspaces/w/projects")]
    assert {reply.headers["www-authenticate"] for reply in replies} == {'Bearer realm="muniment"'}


@pytest.mark.parametrize(
    "wrong",
    ["memory.example", "ftp://memory.example", "https://", "https://a b", 'https://a"b', "https://m.example/?q", "https://u:p@m.example"],
)
def test_an_address_that_is_none_stops_the_start(wrong: str) -> None:
    with pytest.raises(InvalidSetting, match="MUNIMENT_PUBLIC_URL"):
        ProtectedResource(Settings(public_url=wrong))
