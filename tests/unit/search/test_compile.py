"""Every statement of every shape is Postgres's grammar, with its values numbered."""

import itertools
import re

import pglast
import pytest

from service.search.compile import (
    Compiled,
    compile_fusion,
    compile_neighbours,
    compile_old_words,
    compile_order,
    compile_seeds,
    compile_shown,
    compile_stage,
    compile_words,
)

FILTERS = ("kinds", "since", "until", "as_of", "phrases", "excluded", "tags", "unchanged")
SHAPES = [(), *itertools.combinations(FILTERS, 1), FILTERS]
STAGES = ("names", "vectors", "head_vectors", "piece_vectors", "page_vectors", "old_pages")


def check(statement: Compiled) -> None:
    assert len(pglast.parse_sql(statement.sql)) == 1
    numbers = {int(number) for number in re.findall(r"\$(\d+)", statement.sql)}
    assert numbers == set(range(1, len(statement.names) + 1))
    assert "wanted_" not in statement.sql.lower()
    assert "weighed_terms" not in statement.sql.lower()
    assert set(re.findall(r"\bm_0\.(\w+)", statement.sql)) or "UNNEST" in statement.sql


@pytest.mark.parametrize("filters", SHAPES)
def test_stages(filters: tuple[str, ...]) -> None:
    for name in STAGES:
        check(compile_stage(name, filters))
    check(compile_words(filters, ("term", "phrase", "term")))
    check(compile_fusion(filters))
    check(compile_neighbours(filters))


def test_statements_without_filters() -> None:
    for statement in (compile_seeds(), compile_order(), compile_shown(), compile_old_words(("term",)), compile_stage("facts")):
        check(statement)


def test_a_filter_stands_in_each_place_where_owners_are_chosen() -> None:
    plain, held = compile_words((), ("term",)), compile_words(("kinds",), ("term",))
    assert held.sql.count("w.kind = ANY") == 2
    assert held.sql.count("'page' = ANY") == 1
    assert "w.kind" not in plain.sql
    assert set(held.names) - set(plain.names) == {"kinds"}


def test_values_follow_the_names() -> None:
    statement = compile_words((), ("term", "phrase"))
    values = {name: number for number, name in enumerate(statement.names)}
    assert statement.bind({**values, "more": 0}) == list(range(len(statement.names)))
    assert {"query_1", "weight_1", "query_2", "weight_2"} <= set(statement.names)
