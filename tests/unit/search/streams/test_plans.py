"""What the streams make of a query before anything is asked."""

import uuid

import msgspec
import pytest

from service.search.parse import SearchSettings
from service.search.streams.entity import Start, choose_starts, read_names, started_values
from service.search.streams.fts import MATCHED, WordFacts, limit_candidates, measure_query, plan_words
from service.search.word_query import Term, WordQuery, read_query

FACTS = WordFacts({"rare": 2, "often": 900, "alway": 1_000, "テス": 5, "スト": 3}, {"测": 7}, 1_000, 20_000)


def test_the_rarest_words_choose_and_all_rank() -> None:
    plan = plan_words(read_query("always often rare unknown"), FACTS, SearchSettings(max_postings=950))
    assert plan is not None
    assert [term.lexemes[0] for term in plan.terms] == ["rare", "often", "alway"]
    assert plan.candidates == "('rare') | ('often')"
    assert list(plan.weights) == sorted(plan.weights, reverse=True)
    assert plan.mean_length == 20
    assert "common ones only ranked them: alway" in plan.notes[0]


def test_one_word_always_chooses_but_not_without_bound() -> None:
    settings = SearchSettings(max_postings=10, max_candidates=250)
    plan = plan_words(read_query("always"), FACTS, settings)
    assert plan is not None
    assert plan.candidates == "('alway')"
    assert limit_candidates(plan, FACTS, 2_000, settings) == 1_500
    assert limit_candidates(plan, FACTS, 2_000, SearchSettings()) == 0


def test_the_rarest_of_many_are_kept() -> None:
    facts = WordFacts({f"word{number}": number + 1 for number in range(100)}, {}, 100, 100)
    plan = plan_words(read_query(" ".join(f"word{number}" for number in range(100))), facts, SearchSettings(max_terms=5))
    assert plan is not None
    assert [term.lexemes[0] for term in plan.terms] == [f"word{number}" for number in range(5)]
    assert "100 terms: the 5 rarest were searched" in plan.notes[0]


def test_phrases_choose_by_themselves() -> None:
    plan = plan_words(read_query('often "rare テスト"'), FACTS, SearchSettings())
    assert plan is not None
    assert plan.candidates == "('rare' <1> 'テス' <1> 'スト')"
    assert plan.shape == ("term", "term", "phrase")


def test_prefixes_and_phrases_have_frequencies() -> None:
    plan = plan_words(read_query("测 テスト"), FACTS, SearchSettings())
    assert plan is not None
    assert [term.tsquery for term in plan.terms] == ["'测':*", "'テス' <1> 'スト'"]


def test_a_statement_for_the_numbers_of_words_and_phrases_not_for_their_order() -> None:
    query = read_query("rare テスト often always")
    plans = [
        plan_words(query, msgspec.structs.replace(FACTS, frequencies={**FACTS.frequencies, "スト": n}), SearchSettings())
        for n in (1, 99, 950)
    ]
    assert {plan.shape for plan in plans if plan} == {("term", "term", "term", "phrase")}
    chosen = [plan.choosing[0].lexemes for plan in plans if plan]
    assert chosen == [("テス", "スト"), ("rare",), ("rare",)]  # the rarest choose all the same
    assert [len(plan.weights) for plan in plans if plan] == [4, 4, 4]


def test_the_whole_query_is_measured_with_what_no_text_has() -> None:
    one, both = measure_query(read_query("rare"), FACTS), measure_query(read_query("rare unknown"), FACTS)
    plan = plan_words(read_query("rare unknown"), FACTS, SearchSettings())
    assert plan is not None
    assert one == pytest.approx(plan.weights[0] * MATCHED)
    assert both > 2 * one
    assert measure_query(read_query("the of"), FACTS) == 0
    facts = WordFacts({"vertrag": 20, "vertrage": 5, "bank": 25}, {}, 1_000, 20_000)
    forms, word = WordQuery((Term(("vertrag",), forms=("vertrage",)),), (), (), ""), WordQuery((Term(("bank",)),), (), (), "")
    assert measure_query(forms, facts) == pytest.approx(measure_query(word, facts))


def test_forms_count_as_one_word_that_comes_again() -> None:
    facts = WordFacts({"vertrag": 20, "vertrage": 5, "bank": 25}, {}, 1_000, 20_000)
    query = WordQuery((Term(("vertrag",), forms=("vertrage",)), Term(("bank",))), (), (), "")
    plan = plan_words(query, facts, SearchSettings())
    assert plan is not None
    assert plan.candidates == "('vertrag' | 'vertrage') | ('bank')"
    assert plan.weights[0] == pytest.approx(2 * plan.weights[1])  # ts_rank gives the mean of two


def test_a_time_is_one_more_term_where_something_is_of_it() -> None:
    query = read_query("rare in June 2026")
    plan = plan_words(query, FACTS, SearchSettings())
    assert plan is not None
    assert plan.shape == ("term",)
    plan = plan_words(query, msgspec.structs.replace(FACTS, dated=10), SearchSettings())
    assert plan is not None
    assert (plan.shape, plan.shape_of_words) == (("term", "moment"), ("term",))
    values = plan.values(SearchSettings())
    assert values["ranges_2"] == "{[2026-06-01 00:00+00,2026-07-01 00:00+00)}"
    assert 0 < values["weight_2"] < values["weight_1"]


@pytest.mark.parametrize("query", ["", "the", "unknown"])
def test_nothing_known_is_no_plan(query: str) -> None:
    assert plan_words(read_query(query), FACTS, SearchSettings()) is None


def test_names_are_runs_of_words() -> None:
    names = read_names("Where is “Ledger Service”, the evt_42 of pg_7?")
    assert {"ledger service", "ledger", "evt_42"} <= set(names.names)
    assert "the" not in names.names
    assert "Ledger Service" not in names.spelled or "ledger service" in names.page_names
    assert (names.event_ids, names.page_ids) == ((42,), (7,))


def test_ids_of_sessions_are_read() -> None:
    session = uuid.uuid4()
    assert read_names(f"session {session}").uuids == (session,)
    assert read_names("x" * 36).uuids == ()


def test_pieces_of_unspaced_words_may_be_names() -> None:
    assert "数据库" in read_names("数据库迁移失败").names


def test_many_words_are_bounded() -> None:
    names = read_names(" ".join(f"word{number}" for number in range(5_000)))
    assert len(names.names) <= 2_000


def test_the_rarest_words_may_begin_names() -> None:
    names = read_names("often rare ledger service always")
    frequencies = {"often": 900, "rare": 2, "alway": 1_000}
    assert [start.word for start in choose_starts(names, ["ledger service"], frequencies)] == ["rare", "often", "always"]
    values = started_values([Start.of(word, word) for word in ("a%b", "c.d", "o'x")])
    assert values["pieces"] == [r"%a\%b%", "%c.d%", "%o'x%"]
    assert values["starts"] == "('a' & 'b':*) | ('c' & 'd':*) | ('o' & 'x':*)"
    assert values["pattern"].endswith(r"])(a\%b|c\.d|o\'x)")
    assert started_values([])["starts"] is None
