"""What can be set, what can go wrong and what can be called is documented, and the documents speak of nothing else."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

import service
from service.errors import MunimentError
from service.graph.describe import RECIPES
from service.operations import CATALOGUE
from service.settings import Settings, variable_of
from service.surface.cli.main import cli

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
SAMPLE = ROOT / "service" / "sample" / "README.md"
PAGES = [*sorted(DOCS.glob("*.md")), SAMPLE]
# Variables of the command line's options, which are no settings.
OPTIONS = {"MUNIMENT_DATA", "MUNIMENT_HOST", "MUNIMENT_PORT"}


def _errors(base: type[MunimentError] = MunimentError) -> set[type[MunimentError]]:
    return {base} | {found for child in base.__subclasses__() for found in _errors(child)}


@pytest.fixture(scope="module")
def errors() -> dict[str, type[MunimentError]]:
    for module in pkgutil.walk_packages(service.__path__, "service."):
        importlib.import_module(module.name)
    return {error.code: error for error in _errors() if error.__module__.startswith("service.") and error is not MunimentError}


def _rows(name: str, pattern: str) -> set[str]:
    return set(re.findall(pattern, (DOCS / name).read_text(encoding="utf-8"), re.MULTILINE))


def test_every_error_code_is_documented(errors: dict[str, type[MunimentError]]) -> None:
    assert _rows("errors.md", r"^\| `(\w+)` \|") == set(errors)


def test_documented_statuses_are_true(errors: dict[str, type[MunimentError]]) -> None:
    for line in (DOCS / "errors.md").read_text(encoding="utf-8").splitlines():
        if match := re.match(r"\| `(\w+)` \| (\d+) \|", line):
            assert errors[match[1]].status == int(match[2]), line


def test_every_error_class_says_what_it_means(errors: dict[str, type[MunimentError]]) -> None:
    assert [error for error in errors.values() if not (error.__doc__ or "").strip()] == []


def test_every_setting_is_documented() -> None:
    documented = _rows("settings.md", r"^\| `([A-Z_]+)` \|")
    assert documented - OPTIONS == {variable_of(field.name) for field in msgspec.structs.fields(Settings)}


def test_documented_defaults_are_true() -> None:
    """A plain default stands as it is set; what is worked out at the start is told in words."""
    text = (DOCS / "settings.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `([A-Z_]+)` \| (.*?) \|", text, re.MULTILINE))
    for field in msgspec.structs.fields(Settings):
        variable = variable_of(field.name)
        if default := _as_variable(getattr(Settings(), field.name)):
            assert told[variable].partition(":")[0] == f"`{default}`", variable
        else:
            assert not re.fullmatch(r"`[^`]*`", told[variable]), variable


def _as_variable(value: Any) -> str:
    """How a value is written in the environment; empty for none."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, list) else "" if value is None else str(value)


def test_every_tool_and_route_is_documented() -> None:
    text = (DOCS / "using.md").read_text(encoding="utf-8")
    base = "/workspaces/{workspace}/projects/{project}/"
    for operation in CATALOGUE:
        assert f"| `{operation.name}` | {'✓ ' if operation.tool else ''}| {operation.scope} |" in text, operation.name
        for route in operation.routes:
            assert f"`{route.method} {route.path.replace(base, '…/').replace('*}', '}')}`" in text, route


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_tables_are_whole(page: Path) -> None:
    """Each has a head, and as many cells in every row: a blank line within would end it."""
    blocks = re.findall(r"(?:^\|.*\n)+", page.read_text(encoding="utf-8"), re.MULTILINE)
    for head, *rows in (block.splitlines() for block in blocks):
        assert re.fullmatch(r"\|(---\|)+", rows[0]), head
        assert {row.replace(r"\|", "").count("|") for row in rows} == {head.count("|")}, head


def test_every_command_is_documented_with_its_options() -> None:
    """Each has a line of its own in the list; the options that many share are told below it."""
    text = (DOCS / "using.md").read_text(encoding="utf-8")
    shared = {"--url", "--key", "--workspace", "--project", "--data", "--json"}
    for name, command in _commands():
        lines = re.findall(rf"^    muniment {name}\b.*$", text, re.MULTILINE)
        assert lines, name
        options = {option.opts[0]: option for option in command.params if isinstance(option, click.Option)}
        missing = {name for name, option in options.items() if not any(word in lines[0] for word in (*option.opts, *option.secondary_opts))}
        assert missing <= shared, lines[0]


def _commands() -> Iterator[tuple[str, click.Command]]:
    """Commands, and subcommands of the groups, by their words."""
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        if isinstance(command, click.Group):
            yield from ((f"{name} {each}", found) for each, found in command.commands.items())
        elif command is not None:
            yield name, command


def test_the_sample_shows_the_recipes_as_agents_are_told_them() -> None:
    shown = re.findall(r"muniment graph --project sample '(.*?)'", SAMPLE.read_text(encoding="utf-8"))
    assert shown == [query for _, query in RECIPES]
