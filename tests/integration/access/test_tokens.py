"""Tokens of a real issuer: whom they let in, what keeps them out, and how often the issuer is asked."""

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Iterator

import httpx2
import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.asymmetric import rsa

from service.access.identify import Identify, open_identify
from service.access.jwks import IssuerUnavailable, KeySet
from service.access.keys import KeyRing, make_key
from service.access.tokens import Tokens, token_rules
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import Forbidden, Unauthenticated
from service.settings import Settings, load_settings
from tests.conftest import Projects
from tests.integration.access.issuer import AUDIENCE, Issuer


@pytest.fixture(scope="module")
def shared_issuer() -> Iterator[Issuer]:
    started = Issuer()
    yield started
    started.stop()


@pytest.fixture
def issuer(shared_issuer: Issuer) -> Issuer:
    """The issuer as new: with an RSA and an EC key."""
    shared_issuer.keys.clear()
    shared_issuer.add_rsa("rsa")
    shared_issuer.add_ec("ec")
    shared_issuer.fetches, shared_issuer.down, shared_issuer.said_issuer = 0, False, None
    return shared_issuer


class Clock:
    """A clock that tests turn."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def _settings(issuer: Issuer, **more: str) -> Settings:
    return load_settings({"MUNIMENT_OIDC_ISSUER": issuer.url, "MUNIMENT_OIDC_AUDIENCE": AUDIENCE, **more})


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest_asyncio.fixture(loop_scope="session")
async def door(issuer: Issuer, database: Database, clock: Clock) -> AsyncIterator[Identify]:
    settings = _settings(issuer)
    rules = token_rules(settings)
    assert rules is not None
    async with httpx2.AsyncClient() as client:
        keys = KeySet(client, rules.issuer, settings.oidc_jwks_url, clock)
        yield Identify(KeyRing(database, ""), Tokens(database, keys, rules))
        await keys.close()


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@pytest.mark.parametrize(("kid", "algorithm"), [("rsa", "RS256"), ("ec", "ES256")])
async def test_a_good_token_gives_the_caller_that_a_key_gives(
    door: Identify, issuer: Issuer, project: ProjectRef, kid: str, algorithm: str
) -> None:
    caller = await door.identify(issuer.token(issuer.claims(project.workspace), kid, algorithm))
    assert (caller.key_id, caller.workspace_id, caller.workspace, caller.role) == (
        "oidc:ann",
        project.workspace_id,
        project.workspace,
        project.role,
    )
    assert (caller.scopes, caller.projects, caller.default_project) == (frozenset({"read", "write"}), None, None)
    with pytest.raises(Forbidden):
        caller.require("admin")


async def test_an_access_token_may_say_that_it_is_one(door: Identify, issuer: Issuer, project: ProjectRef) -> None:
    assert await door.identify(issuer.token(issuer.claims(project.workspace), "rsa", typ="at+jwt"))
    with pytest.raises(Unauthenticated):
        await door.identify(issuer.token(issuer.claims(project.workspace), "rsa", typ="logout+jwt"))


@pytest.mark.parametrize(
    "changed",
    [
        {"aud": "https://elsewhere.test"},
        {"aud": None},
        {"aud": []},
        {"iss": "https://elsewhere.test"},
        {"iss": None},
        {"exp": 1_000_000_000},
        {"exp": None},
        {"exp": "soon"},
        {"nbf": 4_000_000_000},
        {"iat": 4_000_000_000},
        {"sub": None},
        {"sub": ""},
        {"sub": "a" * 256},
        {"sub": "a\x00b"},
        {"sub": 7},
        {"workspace": None},
        {"workspace": "no-such-workspace"},
        {"workspace": 'x"; DROP SCHEMA control CASCADE; --'},
        {"workspace": "w\x00"},
        {"workspace": "w" * 10_000},
        {"workspace": ["w1"]},
    ],
    ids=str,
)
async def test_a_token_with_a_wrong_claim_is_refused(
    door: Identify, issuer: Issuer, project: ProjectRef, changed: dict[str, object]
) -> None:
    claims = issuer.claims(project.workspace)
    assert await door.identify(issuer.token(claims, "rsa"))
    wrong = {name: value for name, value in {**claims, **changed}.items() if value is not None}
    token = issuer.token(wrong, "rsa")
    with pytest.raises(Unauthenticated) as error:
        await door.identify(token)
    assert error.value.problem() == Unauthenticated().problem()


async def test_clocks_may_differ_a_little(door: Identify, issuer: Issuer, project: ProjectRef) -> None:
    now = int(time.time())
    assert await door.identify(issuer.token(issuer.claims(project.workspace, exp=now - 10, nbf=now + 10), "rsa"))


async def test_an_unsigned_token_is_refused(door: Identify, issuer: Issuer, project: ProjectRef) -> None:
    payload = _b64(json.dumps(issuer.claims(project.workspace)).encode())
    signature = issuer.token(issuer.claims(project.workspace), "rsa").rpartition(".")[2]
    for algorithm in ("none", "None", "NONE", "", None, 7, ["RS256"], {"a": 1}):
        for last in ("", signature):
            header = _b64(json.dumps({"alg": algorithm, "kid": "rsa"}).encode())
            with pytest.raises(Unauthenticated):
                await door.identify(f"{header}.{payload}.{last}")


async def test_the_public_key_is_no_secret_to_sign_with(door: Identify, issuer: Issuer, project: ProjectRef) -> None:
    payload = _b64(json.dumps(issuer.claims(project.workspace)).encode())
    shared = base64.urlsafe_b64decode("c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0ISE=")
    for kid, secret in (("rsa", issuer.public_pem("rsa")), ("ec", issuer.public_pem("ec")), ("shared", shared)):
        for algorithm in ("HS256", "RS256"):
            signed = f"{_b64(json.dumps({'alg': algorithm, 'kid': kid}).encode())}.{payload}"
            with pytest.raises(Unauthenticated):
                await door.identify(f"{signed}.{_b64(hmac.new(secret, signed.encode(), hashlib.sha256).digest())}")


async def test_the_algorithm_must_be_one_for_the_key_and_one_that_is_taken(door: Identify, issuer: Issuer, project: ProjectRef) -> None:
    claims = issuer.claims(project.workspace)
    for token in (
        issuer.token(claims, "ec", "RS256", issuer.keys["rsa"]),
        issuer.token(claims, "rsa", "ES256", issuer.keys["ec"]),
        issuer.token(claims, "rsa", "RS512"),
        issuer.token(claims, "rsa", "PS256"),
        issuer.token(claims, "rsa", key=rsa.generate_private_key(65537, 2048)),
    ):
        with pytest.raises(Unauthenticated):
            await door.identify(token)


async def test_a_changed_token_is_refused(door: Identify, issuer: Issuer, project: ProjectRef) -> None:
    header, _, signature = issuer.token(issuer.claims(project.workspace), "rsa").split(".")
    forged = _b64(json.dumps(issuer.claims(project.workspace, scope="admin")).encode())
    deep = _b64(("[" * 6000).encode())
    critical = issuer.token(issuer.claims(project.workspace), "rsa", crit=["exp"], exp=1)
    huge = issuer.token(issuer.claims(project.workspace, more="x" * 20_000), "rsa")
    for token in (f"{header}.{forged}.{signature}", f"{deep}.{forged}.{signature}", "..", "a.b.c", "a.b", "", "é.é.é", critical, huge):
        with pytest.raises(Unauthenticated):
            await door.identify(token)


async def test_a_new_key_is_known_as_soon_as_a_token_names_it(door: Identify, issuer: Issuer, project: ProjectRef, clock: Clock) -> None:
    old = issuer.token(issuer.claims(project.workspace), "rsa")
    assert await door.identify(old)
    issuer.keys.clear()
    issuer.add_rsa("next")
    new = issuer.token(issuer.claims(project.workspace), "next")
    clock.now += 31
    assert await door.identify(new)
    assert issuer.fetches == 2
    with pytest.raises(Unauthenticated):  # the key that the issuer has withdrawn
        await door.identify(old)


async def test_unknown_keys_make_one_fetch_an_interval(door: Identify, issuer: Issuer, project: ProjectRef, clock: Clock) -> None:
    claims = issuer.claims(project.workspace)
    good = issuer.token(claims, "rsa")
    flood = [issuer.token(claims, f"made-up-{number}", key=issuer.keys["rsa"]) for number in range(50)]
    for fetches in (1, 2, 3):
        results = await asyncio.gather(*(door.identify(token) for token in [*flood, good]), return_exceptions=True)
        assert {type(result) for result in results[:-1]} == {Unauthenticated}
        assert not isinstance(results[-1], BaseException)
        assert issuer.fetches == fetches
        clock.now += 31


async def test_keys_go_on_being_used_while_the_issuer_is_down(door: Identify, issuer: Issuer, project: ProjectRef, clock: Clock) -> None:
    good = issuer.token(issuer.claims(project.workspace), "rsa")
    assert await door.identify(good)
    issuer.down = True
    clock.now += 3600
    assert (await door.identify(good)).key_id == "oidc:ann"
    with pytest.raises(IssuerUnavailable):  # whether the key is the issuer's cannot be said now
        await door.identify(issuer.token(issuer.claims(project.workspace), "other", key=issuer.keys["rsa"]))
    clock.now += 86_400
    with pytest.raises(IssuerUnavailable):
        await door.identify(good)
    issuer.down = False
    clock.now += 6
    assert await door.identify(good)


async def test_an_issuer_that_was_never_reached_is_no_refusal(door: Identify, issuer: Issuer, project: ProjectRef, clock: Clock) -> None:
    issuer.down = True
    good = issuer.token(issuer.claims(project.workspace), "rsa")
    for _ in range(2):
        with pytest.raises(IssuerUnavailable):
            await door.identify(good)
    issuer.down = False
    with pytest.raises(IssuerUnavailable):  # it was asked a moment ago
        await door.identify(good)
    clock.now += 6
    assert await door.identify(good)


async def test_old_keys_are_renewed_without_anybody_waiting(door: Identify, issuer: Issuer, project: ProjectRef, clock: Clock) -> None:
    good = issuer.token(issuer.claims(project.workspace), "rsa")
    assert await door.identify(good)
    clock.now += 299
    assert await door.identify(good)
    assert issuer.fetches == 1
    while issuer.fetched.acquire(blocking=False):
        pass
    clock.now += 2
    assert await door.identify(good)
    assert await asyncio.to_thread(issuer.fetched.acquire, timeout=60)
    assert issuer.fetches == 2


async def test_a_token_without_a_key_id_is_read_where_only_one_key_can_be_meant(
    door: Identify, issuer: Issuer, project: ProjectRef
) -> None:
    token = issuer.token(issuer.claims(project.workspace), None)
    assert await door.identify(token)


async def test_two_keys_leave_a_token_without_a_key_id_unread(door: Identify, issuer: Issuer, project: ProjectRef) -> None:
    issuer.add_rsa("second")
    with pytest.raises(Unauthenticated):
        await door.identify(issuer.token(issuer.claims(project.workspace), None))


async def test_a_discovery_document_of_another_issuer_is_not_used(door: Identify, issuer: Issuer, project: ProjectRef) -> None:
    issuer.said_issuer = "https://elsewhere.test"
    with pytest.raises(IssuerUnavailable):
        await door.identify(issuer.token(issuer.claims(project.workspace), "rsa"))
    assert issuer.fetches == 0


async def test_claims_are_read_as_the_settings_say(database: Database, issuer: Issuer, projects: Projects) -> None:
    project = projects.make()
    settings = _settings(
        issuer,
        MUNIMENT_OIDC_JWKS_URL=f"{issuer.url}/keys",
        MUNIMENT_OIDC_WORKSPACE_CLAIM="https://muniment.test/workspace",
        MUNIMENT_OIDC_SCOPE_CLAIM="realm_access.roles",
        MUNIMENT_OIDC_SCOPE_MAP="editor=read,editor=write,urn:x=y=admin",
    )
    async with open_identify(settings, database, "pepper") as door:
        for roles, scopes in ((["editor"], {"read", "write"}), (["urn:x=y", 7], {"admin"}), (["read"], set()), ({}, set())):
            claims = issuer.claims("other", **{"https://muniment.test/workspace": project.workspace, "realm_access": {"roles": roles}})
            assert (await door.identify(issuer.token(claims, "rsa"))).scopes == scopes


async def test_without_an_issuer_only_keys_are_let_in(database: Database, issuer: Issuer, project: ProjectRef) -> None:
    async with open_identify(load_settings({}), database, "pepper") as door:
        for token in (issuer.token(issuer.claims(project.workspace), "rsa"), make_key("pepper").text, "mun_", "anything"):
            with pytest.raises(Unauthenticated):
                await door.identify(token)
    assert issuer.fetches == 0
