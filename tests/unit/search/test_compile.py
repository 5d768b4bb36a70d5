"""Every statement of every shape is Postgres's grammar, with its values numbered."""

import itertools
import re
from itertools import product

import pglast
import pytest

from service.search.compile import (
    Compiled,
    compile_facts,
    compile_fusion,
    compile_names,
    compile_neighbours,
    compile_old_words,
    compile_order,
    compile_seeds,
    compile_shown,
    compile_stage,
    compile_vectors,
    compile_words,
)

FILTERS = ("kinds", "since", "until", "as_of", "phrases", "excluded", "tags", "unchanged")
SHAPES = [(), *itertools.combinations(FILTERS, 1), FILTERS]
NEAR = ("near_all", "near_left", "near_indexed")


def check(statement: Compiled) -> None:
    assert len(pglast.parse_sql(statement.sql)) == 1
    numbers = {int(number) for number in re.findall(r"\$(\d+)", statement.sql)}
    assert numbers == set(range(1, len(statement.names) + 1))
    assert "wanted_" not in statement.sql.lower()
    assert not re.search(
        r"weighed_terms|each_term|terms_of|best_terms|matched_names|all_matched|untold_names|_ranks|steps\(", statement.sql.lower()
    )
    assert set(re.findall(r"\bm_0\.(\w+)", statement.sql)) or "UNNEST" in statement.sql


@pytest.mark.parametrize("filters", SHAPES)
def test_stages(filters: tuple[str, ...]) -> None:
    check(compile_stage("old_pages", filters))
    for near in NEAR:
        check(compile_vectors(near, filters))
    for matched, texts in product((False, True), repeat=2):
        check(compile_names(filters, matched, texts))
    check(compile_words(filters, ("term", "phrase", "term")))
    check(compile_words(filters, ("term", "moment")))
    for ranked in (False, True):
        check(compile_fusion(filters, ranked))
        check(compile_neighbours(filters, ranked))


def test_statements_without_filters() -> None:
    for statement in (
        compile_seeds(),
        compile_order(False),
        compile_order(True),
        compile_shown(),
        compile_old_words(("term",)),
        compile_facts(()),
    ):
        check(statement)


@pytest.mark.parametrize("more", [(), ("facts_forms",), ("facts_dated",), ("facts_forms", "facts_dated")])
def test_facts_ask_for_more_where_it_is_needed(more: tuple[str, ...]) -> None:
    check(compile_facts(more))
    assert ("lows" in compile_facts(more).names) == ("facts_forms" in more)
    assert ("ranges" in compile_facts(more).names) == ("facts_dated" in more)


def test_each_term_is_a_column_where_events_are_read_with_their_neighbours() -> None:
    sql = compile_words((), ("term", "phrase")).sql
    assert sql.count("AS term_1") == sql.count("AS term_2") == 1
    assert "MAX(n.share * n.term_1) + MAX(n.share * n.term_2)" in sql
    assert "term_3" not in sql


def test_names_that_matched_are_gathered_only_when_asked_for() -> None:
    assert "ARRAY_AGG(c.name" in compile_names((), True, False).sql
    assert "ARRAY_AGG(c.name" not in compile_names((), False, False).sql


def test_ranks_are_gathered_only_when_asked_for() -> None:
    ranks = ("fts_rank", "entity_rank", "graph_rank", "vector_rank")
    for plain, ranked in ((compile_fusion((), False), compile_fusion((), True)), (compile_order(False), compile_order(True))):
        assert [name for name in ranks if f"AS {name}" in ranked.sql] == list(ranks)
        assert not any(name in plain.sql for name in ranks)
        assert plain.names == ranked.names


def test_projects_are_numbered_only_where_there_are_several() -> None:
    assert "place," not in compile_fusion((), True).sql.replace("l(stream, place,", "")
    assert "GROUP BY c.place, c.is_page, c.id" in compile_order(False).sql
    assert "c.is_page DESC, c.place, c.id DESC" in compile_order(False).sql


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
