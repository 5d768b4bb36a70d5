"""The OpenAPI document is valid and whole."""

from openapi_spec_validator import validate

from service.operations import CATALOGUE
from service.surface.rest.openapi import make_document

DOCUMENT = make_document(CATALOGUE, "1.2.3")


def test_is_valid() -> None:
    validate(DOCUMENT)
    assert DOCUMENT["openapi"].startswith("3.1")


def test_has_every_route() -> None:
    described = {(method, path) for path, methods in DOCUMENT["paths"].items() for method in methods}
    routes = {(route.method.lower(), "/api/v1" + route.path.replace("*}", "}")) for operation in CATALOGUE for route in operation.routes}
    assert described == routes


def test_operation_ids_are_unique() -> None:
    ids = [described["operationId"] for methods in DOCUMENT["paths"].values() for described in methods.values()]
    assert len(ids) == len(set(ids))
