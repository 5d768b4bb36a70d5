"""What a variable may hold, and what is said of one that cannot be used or that nobody knows."""

from pathlib import Path

import pytest

from service.errors import InvalidSetting
from service.settings import load_settings, misspelled_variables

DATABASES = ("DATABASE_URL", "MUNIMENT_OWNER_URL")
NO_DATABASE = (
    "nonsense",
    "mysql://x",
    "://memory",
    "host=localhost dbname=memory",
    "postgresql://[::1/memory",
    "postgresql://h:port/memory",
    "postgresql://h:70000/memory",
    "postgresql://u:50%zz@h/memory",
    "postgresql://h/memory?unheard=of",
)


@pytest.mark.parametrize("variable", DATABASES)
@pytest.mark.parametrize("value", NO_DATABASE)
def test_what_is_no_database_is_refused_by_the_variable_s_name(variable: str, value: str) -> None:
    with pytest.raises(InvalidSetting, match=rf"^{variable}: not the address of a Postgres database") as refusal:
        load_settings({variable: value})
    assert value not in f"{refusal.value.message} {refusal.value.hint}"


@pytest.mark.parametrize("variable", DATABASES)
@pytest.mark.parametrize(
    "value",
    [
        "postgresql://keeper:p%40ss@h:5432/memory?sslmode=require",
        "postgres://h/memory",
        "postgresql://keeper@/memory?host=%2Ftmp%2Fa%20b&port=5432",
        "postgresql://one:5432,two:5433/memory",
        "postgresql://[::1]:5432/memory",
    ],
)
def test_addresses_of_databases_are_taken_as_they_are(variable: str, value: str) -> None:
    settings = load_settings({variable: value})
    assert value in (settings.database_url, settings.owner_url)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("MUNIMENT_REDIS_URL", "localhost:6379"),
        ("MUNIMENT_REDIS_URL", "redis://[::1"),
        ("MUNIMENT_REDIS_URL", "redis://h:port"),
        ("MUNIMENT_REDIS_URL", "redis://h?unheard=of"),
        ("MUNIMENT_PUBLIC_URL", "memory.example"),
        ("MUNIMENT_PUBLIC_URL", "https://[::1"),
        ("MUNIMENT_EMBEDDING_URL", "nonsense"),
        ("MUNIMENT_EMBEDDING_URL", "https://u:p@h/v1"),
        ("MUNIMENT_RERANK_URL", "ftp://h"),
        ("MUNIMENT_EMBEDDING_KEY", "clé"),
        ("MUNIMENT_RERANK_KEY", "a\nkey"),
        ("MUNIMENT_POOL_MAX", "many"),
        ("MUNIMENT_LOG_LEVEL", "loud"),
    ],
)
def test_other_values_that_cannot_be_used_are_refused_by_name(variable: str, value: str) -> None:
    with pytest.raises(InvalidSetting, match=f"^{variable}: "):
        load_settings({variable: value})


def test_the_file_is_held_to_the_same(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('database_url = "mysql://x"\n')
    with pytest.raises(InvalidSetting, match=r"^DATABASE_URL: "):
        load_settings({"MUNIMENT_CONFIG": str(file)})
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidSetting, match=r"^MUNIMENT_CONFIG: "):
        load_settings({"MUNIMENT_CONFIG": str(file)})


def test_a_variable_that_is_written_nearly_right_is_told() -> None:
    environment = {
        "MUNIMENT_EMBEDING_PROVIDER": "none",
        "MUNIMENT_KEY_PEPER": "x",
        "MUNIMENT_KEY": "x",
        "MUNIMENT_DATA": "x",
        "MUNIMENT_CONFIG": "",
        "MUNIMENT_SERVICE_HOST": "somebody's own",
        "MUNIMENT_PORT_8000_TCP": "somebody's own",
        "DATABASE_ULR": "somebody's own",
    }
    assert misspelled_variables(environment) == {
        "MUNIMENT_EMBEDING_PROVIDER": "MUNIMENT_EMBEDDING_PROVIDER",
        "MUNIMENT_KEY_PEPER": "MUNIMENT_KEY_PEPPER",
    }
