import re

from service.sqltool import instead
from service.sqltool.check import check
from service.sqltool.rules.allowed_functions import FUNCTIONS


def test_only_what_is_not_there_has_something_instead() -> None:
    assert [name for name in FUNCTIONS if instead.instead_of_function(name)] == []
    assert instead.instead_of_function("FORMAT") == instead.instead_of_function("format")


def test_what_is_meant_is_allowed() -> None:
    hints = [
        instead.instead_of_function(name) or "" for name in ("format", "ifnull", "len", "instr", "date_format", "json_extract", "year")
    ]
    meant = [found[1] for hint in hints if (found := re.match(r"Did you mean (\w+)", hint))]
    assert len(meant) == len(hints)
    assert set(meant) <= FUNCTIONS


def test_the_joins_of_the_hints_can_be_asked() -> None:
    for column, shown in (("tags", "t.path"), ("entities", "n.name")):
        hint = instead.instead_of_column(column) or ""
        joins = hint.partition(": ")[2].partition(", then")[0]
        assert check(f"SELECT {shown} FROM events {joins}").text
