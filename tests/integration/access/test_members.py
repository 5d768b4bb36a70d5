"""Members: the role that a person was given counts instead of the scopes that the token claims, in that workspace alone."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from service.access.identify import open_identify
from service.access.keys import ALL_SCOPES, Caller
from service.access.scope import Scopes
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import Forbidden, NotFound
from service.operations import CATALOGUE
from service.operations.operation import Services
from service.operations.perform import perform
from service.settings import Settings, load_settings
from tests.conftest import Projects
from tests.integration.access.issuer import AUDIENCE, Issuer


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    started = Issuer()
    started.add_rsa("rsa")
    yield started
    started.stop()


class Door:
    """Lets people in by their tokens, and performs what they ask."""

    def __init__(self, database: Database, issuer: Issuer) -> None:
        self._settings = load_settings({"MUNIMENT_OIDC_ISSUER": issuer.url, "MUNIMENT_OIDC_AUDIENCE": AUDIENCE})
        self._issuer = issuer
        self.database = database
        self.services = Services(database=database, scopes=Scopes(database), settings=Settings(), embedder=None)

    async def enter(self, project: ProjectRef, **claims: Any) -> Caller:
        """Who the server takes the person for, without anything in mind from before."""
        async with open_identify(self._settings, self.database, "") as identify:
            return await identify.identify(self._issuer.token(self._issuer.claims(project.workspace, **claims), "rsa"))

    async def ask(self, caller: Caller, name: str, **arguments: Any) -> Any:
        operation = next(each for each in CATALOGUE if each.name == name)
        return await perform(self.services, caller, operation, msgspec.convert(arguments, operation.request))


@pytest.fixture
def door(database: Database, issuer: Issuer) -> Door:
    return Door(database, issuer)


@pytest.mark.parametrize(
    ("role", "scopes"), [("none", set()), ("reader", {"read"}), ("writer", {"read", "write"}), ("admin", set(ALL_SCOPES))]
)
async def test_the_role_counts_instead_of_the_claims(door: Door, project: ProjectRef, role: str, scopes: set[str]) -> None:
    admin = await door.enter(project, sub="root", scope="read write admin")
    for claimed in ("read write", "admin", None):
        assert (await door.ask(admin, "set_member", subject="auth0|ann", role=role)).role == role
        assert (await door.enter(project, sub="auth0|ann", scope=claimed)).scopes == scopes
    assert (await door.enter(project, sub="auth0|bob")).scopes == {"read", "write"}
    await door.ask(admin, "remove_member", subject="auth0|ann")
    assert (await door.enter(project, sub="auth0|ann", scope="read")).scopes == {"read"}


async def test_a_role_ends_at_its_time(door: Door, project: ProjectRef) -> None:
    admin = await door.enter(project, sub="root", scope="read write admin")
    ends = datetime.now(UTC) + timedelta(days=1)
    await door.ask(admin, "set_member", subject="ann", role="admin", expires_at=ends.isoformat())
    assert "admin" in (await door.enter(project)).scopes
    (row,) = (await door.ask(admin, "list_members")).members
    assert (row.expires_at, row.added_by) == (ends, "oidc:root")
    await door.database.control("set_member", None, "oidc:root", project.workspace_id, "ann", "admin", [], datetime(2020, 1, 1, tzinfo=UTC))
    assert (await door.enter(project)).scopes == {"read", "write"}


async def test_a_role_gives_nothing_elsewhere(door: Door, projects: Projects) -> None:
    here, elsewhere = projects.make(), projects.make()
    intruder = await door.enter(here, sub="mallory", scope="read write admin")
    await door.ask(intruder, "set_member", subject="mallory", role="admin")
    await door.ask(intruder, "set_member", subject="ann", role="none")
    assert (await door.enter(elsewhere, sub="mallory", scope="read")).scopes == {"read"}
    assert (await door.enter(elsewhere, sub="ann")).scopes == {"read", "write"}
    for call in ("set_member", "remove_member", "list_members"):
        fields = {"workspace": elsewhere.workspace, **({} if call == "list_members" else {"subject": "ann"})}
        with pytest.raises(NotFound):
            await door.ask(intruder, call, **fields, **({"role": "none"} if call == "set_member" else {}))


async def test_a_person_grants_reading_and_has_none(door: Door, projects: Projects) -> None:
    here, elsewhere = projects.make(), projects.make()
    root = await door.enter(here, sub="root", scope="read admin")
    assert (await door.ask(root, "grant_reading", key_id="aaaaaaaaaaaa")).outcome == "created"
    (entry,) = (await door.ask(root, "list_grants")).grants
    assert (entry.key_id, entry.project, entry.granted_by) == ("aaaaaaaaaaaa", None, "oidc:root")
    assert (await door.enter(elsewhere, sub="root")).granted == ()
    with pytest.raises(Forbidden):
        await door.ask(await door.enter(here, sub="root", scope="admin"), "grant_reading", key_id="aaaaaaaaaaaa")


async def test_a_person_makes_keys_and_gives_no_more_than_the_role(door: Door, project: ProjectRef) -> None:
    root = await door.enter(project, sub="root", scope="read admin")
    made = await door.ask(root, "create_key", scopes=["read"])
    (entry,) = (await door.ask(root, "list_keys")).keys
    assert (entry.id, entry.expires_at, entry.projects) == (made.id, None, None)
    with pytest.raises(Forbidden):
        await door.ask(root, "create_key", scopes=["write"])
    with pytest.raises(Forbidden):
        await door.ask(root, "set_member", subject="eve", role="writer")
    with pytest.raises(Forbidden):
        await door.ask(root, "create_workspace", slug="not-by-people-either")
