"""Generated requests, good and bad, from the OpenAPI document: never a server error, and answers as the document says."""

import asyncio
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance, status_code_conformance

from service.db.scope import ProjectRef
from service.operations import CATALOGUE
from service.surface.rest.openapi import make_document
from tests.integration.surface.conftest import Running

CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]
SCHEMA = schemathesis.openapi.from_dict(make_document(CATALOGUE, "0"))
OPERATIONS = [result.ok() for result in SCHEMA.get_all_operations()]


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["valid", "invalid"])
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
async def test_generated_requests(running: Running, project: ProjectRef, key: str, operation: Any, mode: GenerationMode) -> None:
    calls = 0

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=10,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def send(case: Any) -> None:
        nonlocal calls
        calls += 1
        named = {"workspace": project.workspace, "project": project.project}
        case.path_parameters = {**(case.path_parameters or {}), **{name: named[name] for name in named if f"{{{name}}}" in operation.path}}
        reply = case.call(base_url=running.url, headers={"authorization": f"Bearer {key}"})
        case.validate_response(reply, checks=CHECKS)

    await asyncio.to_thread(send)
    assert calls
