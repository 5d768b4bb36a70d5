"""In: compose.yaml and .env.example. Out: the API apart from the owner login, nothing open or guessable by default, a right order."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.deploy

Compose = dict[str, Any]

OURS = {"api", "worker", "migrate"}
# A variable with what stands in for it, or with the message that refuses to go on without it.
VARIABLE = re.compile(r"\$\{([A-Z_]+)(?::([-?])([^}]*))?\}")


@pytest.fixture(scope="module")
def example_lines(deploy_folder: Path) -> list[str]:
    return (deploy_folder / ".env.example").read_text().splitlines()


def variables(node: Any) -> list[tuple[str, str, str]]:
    """Every variable of a part of the file: name, `-` or `?`, and the text after it."""
    if isinstance(node, dict):
        return [found for value in node.values() for found in variables(value)]
    if isinstance(node, list):
        return [found for value in node for found in variables(value)]
    return VARIABLE.findall(node) if isinstance(node, str) else []


def test_services_are_those_of_the_product(compose: Compose) -> None:
    assert compose["services"].keys() == OURS | {"postgres", "redis"}
    assert {name: service["command"][0] for name, service in compose["services"].items() if name in OURS} == {
        "api": "serve",
        "worker": "worker",
        "migrate": "migrate",
    }


def test_images_are_pinned(compose: Compose) -> None:
    for service in compose["services"].values():
        repository, _, tag = service["image"].rpartition(":")
        assert repository
        assert re.search(r"\d+\.\d+", tag), service["image"]


def test_image_is_built_from_the_repository(compose: Compose, deploy_folder: Path) -> None:
    for name in OURS:
        build = compose["services"][name]["build"]
        context = (deploy_folder / build["context"]).resolve()
        assert (context / build["dockerfile"]).is_file()
        assert (context / "pyproject.toml").is_file()


def test_api_never_gets_the_owner_url(compose: Compose) -> None:
    holders = {name for name, service in compose["services"].items() if "MUNIMENT_OWNER_URL" in str(service)}
    assert holders == {"worker", "migrate", "postgres"}
    superusers = {name for name, service in compose["services"].items() if "POSTGRES_PASSWORD" in str(service)}
    assert superusers == {"postgres"}


def test_secrets_come_from_outside_and_have_no_default(compose: Compose) -> None:
    secrets = {"POSTGRES_PASSWORD", "MUNIMENT_OWNER_URL", "DATABASE_URL", "MUNIMENT_KEY_PEPPER"}
    found = [(name, how, text) for name, how, text in variables(compose["services"]) if name in secrets]
    assert {name for name, _, _ in found} == secrets
    assert all(how == "?" and text for _, how, text in found)
    for service in compose["services"].values():
        for name, value in service.get("environment", {}).items():
            if name in secrets:
                assert value.startswith(f"${{{name}:?"), "a URL is handed on whole, never put together"
    assert "://" not in str(compose["services"]["postgres"]["environment"])


def test_example_names_every_variable_and_fills_in_no_secret(compose: Compose, example_lines: list[str]) -> None:
    assigned = dict(re.findall(r"^(#?[A-Z_]+)=(.*)$", "\n".join(example_lines), re.MULTILINE))
    used = variables(compose["services"])
    needed = {name for name, how, _ in used if how == "?"}
    optional = {name: text for name, how, text in used if how == "-"}
    assert {name for name in assigned if not name.startswith("#")} == needed
    assert {name.removeprefix("#"): text for name, text in assigned.items() if name.startswith("#")} == optional
    assert {assigned[name] for name in needed} == {""}


def test_only_the_api_is_published_and_only_on_loopback(compose: Compose) -> None:
    published = {name: service["ports"] for name, service in compose["services"].items() if "ports" in service}
    assert published == {"api": ["127.0.0.1:${MUNIMENT_PORT:-8000}:8000"]}
    assert compose["networks"]["data"] == {"internal": True}
    for name in ("postgres", "redis", "worker", "migrate"):
        assert compose["services"][name]["networks"] == ["data"]


def test_containers_run_with_the_fewest_rights(compose: Compose) -> None:
    for name in OURS:
        service = compose["services"][name]
        assert service["read_only"] is True
        assert service["tmpfs"] == ["/tmp"]
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]


def test_migrations_end_before_the_rest_begins(compose: Compose) -> None:
    services = compose["services"]
    assert services["migrate"]["restart"] == "no"
    assert services["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    for name in ("api", "worker"):
        assert services[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
        assert services[name]["restart"] == "unless-stopped"


def test_health_checks_fit_the_containers(compose: Compose) -> None:
    services = compose["services"]
    assert "--host=127.0.0.1" in services["postgres"]["healthcheck"]["test"]
    assert services["redis"]["healthcheck"]["test"] == ["CMD", "redis-cli", "ping"]
    assert "healthcheck" not in services["api"], "the image's own check asks /livez"
    assert services["worker"]["healthcheck"] == services["migrate"]["healthcheck"] == {"disable": True}


def test_data_and_init_script_are_mounted(compose: Compose, deploy_folder: Path) -> None:
    volumes = dict(volume.split(":")[:2] for volume in compose["services"]["postgres"]["volumes"])
    assert volumes["postgres-data"] == "/var/lib/postgresql"
    assert volumes["./postgres-init"] == "/docker-entrypoint-initdb.d"
    assert "postgres-data" in compose["volumes"]
    scripts = list((deploy_folder / "postgres-init").iterdir())
    assert [script.name for script in scripts] == ["10-owner.sh"]
    assert all(os.access(script, os.X_OK) for script in scripts), "the image would source it instead of running it"
