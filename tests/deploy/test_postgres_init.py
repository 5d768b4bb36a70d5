"""In: the script of postgres-init and a real, empty Postgres. Out: the owner, its database, the extension; no password in any output."""

import subprocess
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from service.tenants.migrate import migrate

pytestmark = pytest.mark.deploy

Environment = dict[str, str]

# Every character that a URL, a shell, psql or a .env file gives a meaning to.
PASSWORD = "p%40@s/s:w#rd?&+ ü'\"\\$`x"
OWNER_URL = f"postgresql://muniment_owner:{quote(PASSWORD, safe='')}@postgres:5432/muniment"


def run_script(deploy_folder: Path, environment: Environment) -> subprocess.CompletedProcess[str]:
    script = deploy_folder / "postgres-init" / "10-owner.sh"
    return subprocess.run([script], env=environment, capture_output=True, text=True, timeout=30, check=False)


@pytest.fixture(scope="module")
def prepared(deploy_folder: Path, postgres_environment: Environment) -> Environment:
    done = run_script(deploy_folder, {**postgres_environment, "MUNIMENT_OWNER_URL": OWNER_URL})
    assert done.returncode == 0, done.stderr
    return postgres_environment


def test_owner_logs_in_with_the_password_of_its_url(prepared: Environment) -> None:
    with psycopg.connect(make_conninfo(OWNER_URL, host=prepared["PGHOST"])) as connection:
        row = connection.execute(
            "SELECT rolsuper, rolbypassrls, rolreplication, rolcreatedb, rolcreaterole FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
    assert row == (False, False, False, False, True)


def test_owner_finds_the_extension_and_can_do_the_rest(prepared: Environment) -> None:
    with psycopg.connect(make_conninfo(OWNER_URL, host=prepared["PGHOST"])) as connection:
        extension = connection.execute("SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'vector'").fetchone()
        connection.execute("CREATE EXTENSION pg_trgm WITH SCHEMA ext")
        connection.execute("REVOKE CREATE, TEMPORARY ON DATABASE muniment FROM PUBLIC")
        connection.execute("CREATE ROLE second_login LOGIN NOINHERIT")
        public = connection.execute("SELECT has_database_privilege('second_login', 'muniment', 'TEMPORARY')").fetchone()
    assert extension == ("ext",)
    assert public == (False,)


def test_password_is_in_no_output(deploy_folder: Path, prepared: Environment) -> None:
    again = run_script(deploy_folder, {**prepared, "MUNIMENT_OWNER_URL": OWNER_URL})
    log = Path(prepared["SERVER_LOG"]).read_text()
    assert again.returncode != 0
    assert 'role "muniment_owner" already exists' in again.stderr
    assert "CREATE SCHEMA ext" in log
    for text in (again.stdout, again.stderr, log):
        assert "s/s:w#rd" not in text
        assert quote(PASSWORD, safe="") not in text


def test_url_may_stand_in_a_file(deploy_folder: Path, prepared: Environment, tmp_path: Path) -> None:
    file = tmp_path / "owner-url"
    # A backslash as it stands is one of the password's characters too, and no escape.
    file.write_text("postgresql://second_owner:se\\ncret@postgres:5432/second\n")
    done = run_script(deploy_folder, {**prepared, "MUNIMENT_OWNER_URL_FILE": str(file)})
    assert done.returncode == 0, done.stderr
    with psycopg.connect(host=prepared["PGHOST"], user="second_owner", password="se\\ncret", dbname="second") as connection:
        assert connection.execute("SELECT current_database()").fetchone() == ("second",)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "postgresql://muniment_owner:a@b@postgres:5432/muniment",
        "postgresql://muniment_owner:a/b@postgres:5432/muniment",
        "postgresql://muniment_owner@postgres:5432/muniment",
        "postgresql://muniment_owner:hidden@postgres:5432/",
        "mysql://muniment_owner:hidden@postgres:5432/muniment",
    ],
)
def test_malformed_url_is_refused_and_not_shown(deploy_folder: Path, postgres_environment: Environment, url: str) -> None:
    done = run_script(deploy_folder, {**postgres_environment, "MUNIMENT_OWNER_URL": url})
    assert done.returncode == 1
    assert "MUNIMENT_OWNER_URL is not of the form" in done.stderr
    assert "hidden" not in done.stderr


def test_migrations_and_both_logins_work_with_such_passwords(prepared: Environment) -> None:
    def at_server(user: str) -> str:
        return f"postgresql://{user}:{quote(PASSWORD, safe='')}@/muniment?host={quote(prepared['PGHOST'], safe='')}"

    report = migrate(at_server("muniment_owner"), at_server("muniment_api"))
    assert report.failed == {}
    assert "0001_control" in report.applied["control"]
    with psycopg.connect(at_server("muniment_api")) as connection:
        row = connection.execute("SELECT current_user, rolsuper, rolinherit FROM pg_roles WHERE rolname = current_user").fetchone()
        owned = connection.execute("SELECT count(*) FROM pg_class WHERE relowner = current_user::regrole").fetchone()
    assert row == ("muniment_api", False, False)
    assert owned == (0,)
    assert "s/s:w#rd" not in Path(prepared["SERVER_LOG"]).read_text()
