"""The notes: their order and wording, to the letter."""

import pytest

from service.graph.answer import Candidates, Outcome, StartOutcome, StartReport, Texts, Truncation, answer
from service.graph.arguments import Arguments, StartArguments
from service.graph.limits import GraphLimits
from service.graph.parse import parse
from service.graph.plan import make_plan

QUERY = (
    "START a = events(tag: $t, text: $q, k: 50) MATCH (a)-[:MEMBER_OF]-(t), (a)-[:PARTICIPATED_IN]-(n) WHERE n.name CONTAINS $part "
    "RETURN {returned} LIMIT 500"
)
MANY = Candidates(224, True)
ROW_CUT = Truncation("match[0]", "deadline", "")
START_CUT = Truncation("start", "unfilled", "")
CLAMPS = ("start.k clamped 50 -> 20", "limit clamped 500 -> 200")
ARROW = "direction inferred: (a)-[:MEMBER_OF]->(t)"
CANDIDATES = "start: top-20 of 224 candidates; 204 more exist in scope (not a budget cut)"
NOT_COVERED = (
    "scoped START did not cover its whole scope (filled false, names truncated, or cut by a statement timeout or the deadline) - "
    "rows may be missing; 0 rows means 'not confirmed here', not 'none exist'"
)
CONTAINS_CUT = "CONTAINS filtered after the walk and the walk was truncated - 0 rows means 'not confirmed here', not 'none exist'"
WALK_CUT = "walk cut at match[0] (deadline) - rows may be missing; 0 rows means 'not confirmed here', not 'none exist'"
AGGREGATES = "aggregates cover only what was walked before the cut"
DEFAULT = "rows cut to the default LIMIT 20; add LIMIT to return more (max 200)"


def notes(
    *,
    returned: str = "a.id",
    rows: int = 1,
    more: bool = False,
    limit_given: bool = True,
    start_cuts: tuple[Truncation, ...] = (),
    cuts: tuple[Truncation, ...] = (),
    candidates: Candidates = MANY,
    at_least: bool = False,
    count: int = 20,
    start_notes: tuple[str, ...] = (),
    unused: tuple[str, ...] = (),
) -> list[str]:
    plan = make_plan(parse(QUERY.format(returned=returned)))
    arguments = Arguments(StartArguments("t", "q", (), 20), {}, 200, limit_given, CLAMPS, unused)
    report = StartReport("tag+text", 20, count, candidates=candidates, has_more=candidates.count > count)
    start = StartOutcome((), (), report, cuts=start_cuts, notes=start_notes, at_least=at_least)
    values = tuple((1,) * len(plan.columns) for _ in range(rows))
    outcome = Outcome(values, more, cuts, ())
    texts = Texts({("Event", 1): {"summary": "x", "timestamp": None, "order_index": 1}})
    found = answer(plan, arguments, GraphLimits(), start, outcome, texts, 0)
    assert found.partial == bool(found.truncated)
    return found.notes


def test_every_line_in_order() -> None:
    found = notes(returned="count(*)", cuts=(ROW_CUT,), more=True, limit_given=False, start_notes=("a name",), unused=("a parameter",))
    assert found == [*CLAMPS, ARROW, "a name", CANDIDATES, CONTAINS_CUT, WALK_CUT, AGGREGATES, DEFAULT, "a parameter"]


def test_a_start_that_was_cut_replaces_the_candidates_line() -> None:
    assert notes(start_cuts=(START_CUT,)) == [*CLAMPS, ARROW, NOT_COVERED]


def test_the_candidates_line_is_left_off_what_a_cut_emptied() -> None:
    assert notes(rows=0, cuts=(ROW_CUT,)) == [*CLAMPS, ARROW, CONTAINS_CUT, WALK_CUT]
    assert CANDIDATES in notes(rows=0)
    assert CANDIDATES in notes(rows=1, cuts=(ROW_CUT,))


def test_a_lower_bound_is_marked() -> None:
    line = "start: top-200 of 201+ candidates; 1+ more exist in scope (not a budget cut)"
    assert line in notes(candidates=Candidates(201, False), at_least=True, count=200)


def test_nothing_is_said_of_a_scope_that_came_back_whole() -> None:
    assert notes(candidates=Candidates(20, True)) == [*CLAMPS, ARROW]


@pytest.mark.parametrize("reason", ["statement_timeout", "deadline", "row_budget"])
def test_cuts_name_their_place_and_reason(reason: str) -> None:
    cut = Truncation("match[0]", reason, "")
    assert f"walk cut at match[0] ({reason}) - rows may be missing; 0 rows means 'not confirmed here', not 'none exist'" in notes(
        cuts=(cut,)
    )
