"""The checker on texts alone."""

import pytest

from service.sqltool.check import check
from service.sqltool.parse import LONGEST_TEXT
from service.sqltool.rejection import SqlRejection
from tests.unit.sqltool.corpus import HARMLESS, REFUSED


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_queries_pass(text: str) -> None:
    assert check(text, HARMLESS[text]).text in text


@pytest.mark.parametrize("text", REFUSED)
def test_everything_else_is_refused_by_its_rule(text: str) -> None:
    with pytest.raises(SqlRejection) as refusal:
        check(text)
    assert refusal.value.blocked_by == REFUSED[text], str(refusal.value)
    assert refusal.value.status == 400
