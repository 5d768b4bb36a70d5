import pytest

from service.errors import InvalidRequest
from service.operations import CATALOGUE
from service.surface.decode import read_arguments

READ_PAGE = next(operation for operation in CATALOGUE if operation.name == "read_page")


def test_versions_of_a_page_count_from_1() -> None:
    assert read_arguments(READ_PAGE, {"path": "a.md", "version": 1}).version == 1
    with pytest.raises(InvalidRequest) as caught:
        read_arguments(READ_PAGE, {"path": "a.md", "version": 0})
    assert caught.value.message == "version: expected a whole number >= 1."
