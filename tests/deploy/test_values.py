"""In: values.yaml and its schema. Out: every value is explained and typed, and values that cannot work are refused with a reason."""

import json
import re
from collections.abc import Iterator
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import helm_python
import pytest
import yaml

from .conftest import Render, Values

pytestmark = pytest.mark.deploy

KEY = re.compile(r"^ *[A-Za-z][A-Za-z0-9]*:")
# Values that hold what Kubernetes defines, so that the schema names no members of theirs.
FREE = {"podAnnotations", "nodeSelector", "affinity", "service.annotations", "ingress.annotations", "serviceAccount.annotations"}


def paths(values: dict[str, Any], above: str = "") -> Iterator[str]:
    for key, value in values.items():
        path = f"{above}{key}"
        yield path
        if isinstance(value, dict):
            yield from paths(value, f"{path}.")


def schema_paths(schema: dict[str, Any], definitions: dict[str, Any], above: str = "") -> Iterator[str]:
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    for key, below in schema.get("properties", {}).items():
        yield f"{above}{key}"
        yield from schema_paths(below, definitions, f"{above}{key}.")


def nested(path: str, value: Any) -> Values:
    """The values that set this one."""
    for key in reversed(path.split(".")):
        value = {key: value}
    return value


@pytest.fixture(scope="module")
def values_text(deploy_folder: Path) -> str:
    return (deploy_folder / "chart" / "values.yaml").read_text()


def test_every_value_has_a_comment_above_it(values_text: str) -> None:
    lines = values_text.splitlines()
    keys = [number for number, line in enumerate(lines) if KEY.match(line)]
    assert len(keys) == len(list(paths(yaml.safe_load(values_text))))
    bare = [lines[number] for number in keys if not lines[number - 1].lstrip().startswith("# ")]
    assert bare == []


def test_schema_and_values_name_the_same(deploy_folder: Path, values_text: str) -> None:
    schema = json.loads((deploy_folder / "chart" / "values.schema.json").read_text())
    typed = set(schema_paths(schema, schema["definitions"])) - {"global"}
    given = set(paths(yaml.safe_load(values_text)))
    resources = re.compile(r"\.resources\.|\.resources$")
    assert {path for path in typed if not resources.search(path)} == {path for path in given if not resources.search(path)}
    assert {"api.resources", "worker.resources", "migration.resources"} <= typed & given


def test_schema_takes_the_values_as_they_come(chart: helm_python.Chart) -> None:
    chart.validate_schema()
    assert chart.schema is not None


def test_misspelt_values_are_refused_at_every_level(chart: helm_python.Chart, values_text: str) -> None:
    values = yaml.safe_load(values_text)
    ours = [path for path in paths(values) if path not in FREE and not path.endswith((".requests", ".limits"))]
    groups = [path for path in ours if isinstance(reduce(getitem, path.split("."), values), dict)]
    assert len(groups) > 15
    for place in ["misspelt", *(f"{group}.misspelt" for group in groups)]:
        with pytest.raises(helm_python.HelmValuesError, match="misspelt"):
            chart.validate_schema(nested(place, 1))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("image.tag", "latest"),
        ("image.repository", "registry.example.com/muniment@sha256:0"),
        ("embedding.provider", "elsewhere"),
        ("api.replicas", 0),
        ("api.replicas", "2"),
        ("api.poolMax", 0),
        ("api.allowedHosts", ["a.example.com,b.example.com"]),
        ("worker.replicas", -1),
        ("log.level", "loud"),
        ("secrets.databaseUrl.name", "postgresql://muniment_api:secret@db/muniment"),
    ],
)
def test_schema_refuses_and_names_the_place(chart: helm_python.Chart, place: str, value: Any) -> None:
    with pytest.raises(helm_python.HelmValuesError, match=f"at '/{place.replace('.', '/')}"):
        chart.validate_schema(nested(place, value))


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"image": {"repository": ""}}, "image.repository is empty"),
        ({"secrets": {"databaseUrl": {"name": ""}}}, "secrets.databaseUrl.name is empty: name the Secret that holds DATABASE_URL"),
        ({"secrets": {"ownerUrl": {"name": ""}}}, "secrets.ownerUrl.name is empty: name the Secret that holds MUNIMENT_OWNER_URL"),
        ({"secrets": {"keyPepper": {"name": ""}}}, "secrets.keyPepper.name is empty: name the Secret that holds MUNIMENT_KEY_PEPPER"),
        (
            {"secrets": {"ownerUrl": {"name": "muniment-api", "key": "DATABASE_URL"}}},
            "secrets.databaseUrl and secrets.ownerUrl are the same entry",
        ),
        ({"ingress": {"enabled": True}}, "ingress.enabled needs at least one name"),
        ({"api": {"preStopSeconds": 60}}, "api.terminationGracePeriodSeconds 60 must be more than api.preStopSeconds 60"),
    ],
)
def test_templates_refuse(render: Render, values: Values, reason: str) -> None:
    with pytest.raises(helm_python.HelmRenderError, match=re.escape(reason)):
        render(values)


@pytest.mark.parametrize(
    ("values", "connections"),
    [
        ({}, (2 + 1) * 10 + 1 * 5),
        ({"api": {"replicas": 5, "poolMax": 7}, "worker": {"replicas": 3, "poolMax": 4}}, (5 + 1) * 7 + 3 * 4),
        ({"autoscaling": {"enabled": True, "maxReplicas": 9}}, (9 + 1) * 10 + 1 * 5),
        ({"api": {"replicas": 50}, "autoscaling": {"enabled": True, "maxReplicas": 3}}, (3 + 1) * 10 + 1 * 5),
        ({"worker": {"replicas": 0}}, (2 + 1) * 10),
    ],
)
def test_pods_never_open_more_connections_than_the_limit(render: Render, values: Values, connections: int) -> None:
    assert render({**values, "database": {"connectionLimit": connections}})
    with pytest.raises(helm_python.HelmRenderError, match=rf"can open {connections} .* database\.connectionLimit {connections - 1}:"):
        render({**values, "database": {"connectionLimit": connections - 1}})
