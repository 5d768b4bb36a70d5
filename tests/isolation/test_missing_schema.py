"""A project whose schema is gone, by whatever hand: every operation says so, and none goes on in another schema."""

from collections.abc import Iterator

import pytest

from service.access.keys import ALL_SCOPES, Caller
from service.access.scope import Scopes
from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import MunimentError
from service.operations.operation import Operation, Services
from service.operations.perform import perform
from service.settings import Settings
from service.tenants.owner import owner_connection
from tests.conftest import Projects
from tests.isolation.test_unchecked import ASKED, IN_CONTROL, IN_PROJECTS, request_with

pytestmark = pytest.mark.parametrize("way", [0], ids=["direct"], indirect=True, scope="module")
# The project's row is still there: it can be renamed, and deleted.
WITHOUT_SCHEMA = [operation for operation in IN_PROJECTS if operation.name not in IN_CONTROL]


@pytest.fixture(scope="module")
def gone(server: EmbeddedServer, projects: Projects) -> Iterator[ProjectRef]:
    project = projects.make()
    with owner_connection(server.owner_url) as owner:
        owner.execute(f"DROP SCHEMA {project.schema} CASCADE")
    yield project
    with owner_connection(server.owner_url) as owner:
        owner.execute("DELETE FROM control.project WHERE id = $1", (project.project_id,))


@pytest.mark.parametrize("operation", WITHOUT_SCHEMA, ids=lambda operation: operation.name)
async def test_what_is_gone_is_not_found(server: EmbeddedServer, database: Database, gone: ProjectRef, operation: Operation) -> None:
    services = Services(database, Scopes(database), Settings(), None)
    caller = Caller("oidc:me", gone.workspace_id, gone.workspace, gone.role, frozenset(ALL_SCOPES), None, gone.project_id)
    with pytest.raises(MunimentError) as refusal:
        await perform(services, caller, operation, request_with(operation, **ASKED.get(operation.name, {})))
    assert refusal.value.status in (404, 503), refusal.value.problem()
    with owner_connection(server.owner_url) as owner:
        assert owner.execute("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace").fetchall() == []
