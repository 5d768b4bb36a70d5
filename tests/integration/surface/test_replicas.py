"""Two servers on one database and one Redis: what is taken away on one is refused by the other, whatever it remembers."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import IO, Any

import httpx2
import pytest

from service.access.memo import KEPT_S
from service.db.embedded import EmbeddedServer
from service.db.scope import ProjectRef
from service.tenants.migrate import MigrationReport
from tests.conftest import Projects
from tests.integration.access.issuer import AUDIENCE, Issuer
from tests.integration.access.redis_server import RedisServer
from tests.integration.cli.conftest import COMMAND, ROOT, environment
from tests.integration.surface.conftest import PEPPER, MakeKey

# A server that remembers for an hour: what it forgets sooner it was told to forget. It waits longer for a Redis that is late on a busy
# machine: what it did not tell in time would be remembered.
_LONG = (
    "import service.access.changes as h, service.access.memo as m, service.surface.cli.main as c; "
    "h._ANSWER_S = h._SILENCE_S = 3.0; m.KEPT_S = 3600.0; c.main()"
)
_PATIENCE_S = 60


class Replica:
    """A server process."""

    def __init__(self, url: str) -> None:
        self._client = httpx2.Client(base_url=url, trust_env=False, timeout=30)

    def call(self, key: str, method: str, path: str, **more: Any) -> httpx2.Response:
        return self._client.request(method, path, headers={"authorization": f"Bearer {key}"}, **more)

    def status(self, key: str, path: str) -> int:
        return self.call(key, "GET", path).status_code

    def ready(self) -> tuple[int, list[str]]:
        answer = self._client.get("/readyz")
        return answer.status_code, answer.json()["degraded"]

    def close(self) -> None:
        self._client.close()


def _settings(migrated: MigrationReport, redis: RedisServer, issuer: Issuer) -> dict[str, str]:
    return environment(
        DATABASE_URL=migrated.api_url,
        MUNIMENT_REDIS_URL=redis.url,
        MUNIMENT_KEY_PEPPER=PEPPER,
        MUNIMENT_EMBEDDING_PROVIDER="none",
        MUNIMENT_OIDC_ISSUER=issuer.url,
        MUNIMENT_OIDC_AUDIENCE=AUDIENCE,
    )


@contextmanager
def _served(settings: dict[str, str], folder: Path, *, remembers_long: bool) -> Iterator[tuple[Replica, Replica]]:
    """Two replicas, which start beside each other."""
    program = [sys.executable, "-c", _LONG] if remembers_long else list(COMMAND)
    with ExitStack() as running:
        processes: list[subprocess.Popen[str]] = []
        for name in ("here", "there"):
            words = [*program, "serve", "--no-worker", "--port", "0", "--data", str(folder / name), "--json"]
            started = subprocess.Popen(words, cwd=ROOT, env=settings, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            running.callback(started.wait, 120)
            running.enter_context(closing(_stdout(started)))
            running.callback(started.terminate)
            processes.append(started)
        replicas = [Replica(json.loads(_stdout(process).readline())["url"]) for process in processes]
        yield replicas[0], replicas[1]
        for replica in replicas:
            replica.close()


def _stdout(process: subprocess.Popen[str]) -> IO[str]:
    assert process.stdout is not None
    return process.stdout


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    started = Issuer()
    started.add_rsa("rsa")
    yield started
    started.stop()


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server
    server.resume()
    server.kill()


@pytest.fixture(scope="module")
def settings(migrated: MigrationReport, redis: RedisServer, issuer: Issuer) -> dict[str, str]:
    return _settings(migrated, redis, issuer)


@pytest.fixture(scope="module")
def pair(settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Replica, Replica]]:
    """Two replicas that hear of each other."""
    with _served(settings, tmp_path_factory.mktemp("replicas"), remembers_long=True) as replicas:
        for replica in replicas:
            _until(lambda replica=replica: replica.ready() == (200, []))
        yield replicas


def _until(holds: Callable[[], bool]) -> None:
    """Asks until it holds; fails when it never does."""
    ends = time.monotonic() + _PATIENCE_S
    while not holds():
        assert time.monotonic() < ends, "it never came to hold"


@pytest.fixture
def status(project: ProjectRef) -> str:
    """An address that every key of the project may read."""
    return f"/api/v1/workspaces/{project.workspace}/projects/{project.project}/status"


def _id_of(key: str) -> str:
    return key.split("_")[1]


def test_a_revoked_key_is_refused_by_the_other(
    pair: tuple[Replica, Replica], project: ProjectRef, make_api_key: MakeKey, status: str
) -> None:
    (here, there), (admin, victim) = pair, (make_api_key(project, "read", "admin"), make_api_key(project, "read"))
    assert there.status(victim, status) == 200
    done = here.call(admin, "DELETE", f"/api/v1/workspaces/{project.workspace}/keys/{_id_of(victim)}")
    assert done.status_code == 200
    assert here.status(victim, status) == 401
    _until(lambda: there.status(victim, status) == 401)


def test_a_key_revoked_by_a_command_is_refused_by_both(
    pair: tuple[Replica, Replica], project: ProjectRef, make_api_key: MakeKey, status: str, server: EmbeddedServer, settings: dict[str, str]
) -> None:
    victim = make_api_key(project, "read")
    assert [replica.status(victim, status) for replica in pair] == [200, 200]
    words = [*COMMAND, "key", "revoke", _id_of(victim)]
    subprocess.run(words, cwd=ROOT, env={**settings, "MUNIMENT_OWNER_URL": server.owner_url}, check=True, capture_output=True)
    for replica in pair:
        _until(lambda replica=replica: replica.status(victim, status) == 401)


def test_a_member_who_is_removed_loses_the_role_on_the_other(
    pair: tuple[Replica, Replica], project: ProjectRef, make_api_key: MakeKey, status: str, issuer: Issuer
) -> None:
    (here, there), admin = pair, make_api_key(project, "read", "write", "admin")
    member = f"/api/v1/workspaces/{project.workspace}/members/ann"
    token = issuer.token(issuer.claims(project.workspace, scope=""), "rsa")
    assert here.call(admin, "PUT", member, json={"role": "reader"}).status_code == 201
    assert there.status(token, status) == 200
    assert here.call(admin, "DELETE", member).status_code == 200
    _until(lambda: there.status(token, status) == 403)


def test_a_grant_that_is_taken_back_ends_on_the_other(
    pair: tuple[Replica, Replica], project: ProjectRef, projects: Projects, make_api_key: MakeKey, status: str
) -> None:
    (here, there), admin, foreign = pair, make_api_key(project, "read", "admin"), make_api_key(projects.make(), "read")
    grant = f"/api/v1/workspaces/{project.workspace}/grants/{_id_of(foreign)}"
    assert there.status(foreign, status) == 404
    assert here.call(admin, "PUT", grant, json={}).status_code == 201
    _until(lambda: there.status(foreign, status) == 200)
    assert here.call(admin, "DELETE", grant).status_code == 200
    _until(lambda: there.status(foreign, status) == 404)


def test_a_project_that_is_deleted_is_gone_from_the_other(
    pair: tuple[Replica, Replica], project: ProjectRef, make_api_key: MakeKey, status: str
) -> None:
    (here, there), admin = pair, make_api_key(project, "read", "admin")
    projects = f"/api/v1/workspaces/{project.workspace}/projects"
    assert there.status(admin, status) == 200
    assert here.call(admin, "DELETE", f"{projects}/{project.project}").status_code == 200
    _until(lambda: there.call(admin, "GET", projects).json()["projects"] == [])
    assert there.status(admin, status) == 404


@pytest.mark.parametrize("way", ["halt", "kill"])
def test_the_ear_survives_a_redis_that_was_away(
    pair: tuple[Replica, Replica], redis: RedisServer, project: ProjectRef, make_api_key: MakeKey, status: str, way: str
) -> None:
    (here, there), admin = pair, make_api_key(project, "read", "admin")
    keys = f"/api/v1/workspaces/{project.workspace}/keys"
    missed, later = make_api_key(project, "read"), make_api_key(project, "read")
    assert [there.status(key, status) for key in (missed, later)] == [200, 200]
    getattr(redis, way)()
    try:
        _until(lambda: there.ready() == (200, ["redis"]) == here.ready())
        assert here.call(admin, "DELETE", f"{keys}/{_id_of(missed)}").status_code == 200
        assert there.status(missed, status) == 200  # it remembers for an hour, and could not be told
    finally:
        if way == "kill":
            redis.start()
        redis.resume()
    _until(lambda: there.ready() == (200, []) == here.ready())
    assert there.status(missed, status) == 401
    assert there.status(later, status) == 200
    assert here.call(admin, "DELETE", f"{keys}/{_id_of(later)}").status_code == 200
    _until(lambda: there.status(later, status) == 401)


def test_without_redis_what_is_remembered_ends_by_itself(
    settings: dict[str, str], tmp_path: Path, project: ProjectRef, make_api_key: MakeKey, status: str
) -> None:
    assert KEPT_S <= 4  # a look-up may take a second more
    admin, victim = make_api_key(project, "read", "admin"), make_api_key(project, "read")
    away = {**settings, "MUNIMENT_REDIS_URL": f"unix://{tmp_path}/nothing.sock"}
    with _served(away, tmp_path, remembers_long=False) as (here, there):
        assert there.ready() == (200, ["redis"])
        assert there.status(victim, status) == 200
        done = here.call(admin, "DELETE", f"/api/v1/workspaces/{project.workspace}/keys/{_id_of(victim)}")
        assert done.status_code == 200
        _until(lambda: there.status(victim, status) == 401)
