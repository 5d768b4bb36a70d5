import io

import pytest
from rich.console import Console

from service.surface.cli.search import Hit, SearchAnswer, Start, print_hits


def printed(answer: SearchAnswer) -> list[str]:
    file = io.StringIO()
    print_hits(Console(file=file, width=60, color_system=None), answer)
    return file.getvalue().splitlines()


def test_pages_then_events_then_notes() -> None:
    page = Hit(
        rank=0.0312, path="a/b.md", title="B", snippet="of <mark>jars</mark> " + "x" * 60, project="p", updated_at="2026-09-01T10:20:30Z"
    )
    event = Hit(rank=0.03, id="evt_2", summary="It\nbroke", snippet="elsewhere", kind="bug", session="s 1", timestamp=None, project="p")
    assert printed(SearchAnswer(hits=[page], raw_hits=[event], notes=["two\nlines"])) == [
        "Pages",
        "0.0312  a/b.md  2026-09-01 10:20:30Z  p",
        "    B",
        "    of jars " + "x" * 60,
        "Events",
        "0.0300  evt_2  bug  s 1  p",
        "    It broke",
        "    elsewhere",
        "note: two lines",
    ]


def test_what_the_snippet_says_is_not_said_twice() -> None:
    event = Hit(rank=1, id="evt_1", summary="The jar broke", snippet="The <mark>jar</mark> broke. At noon")
    assert printed(SearchAnswer(hits=[], raw_hits=[event])) == ["Events", "1.0000  evt_1", "    The jar broke. At noon"]


def test_each_stream_is_explained() -> None:
    explain = {
        "fts_rank": 2,
        "entity_rank": None,
        "graph_rank": 1,
        "vector_rank": 3,
        "cosine": 0.5,
        "matched_entities": ["jar"],
        "graph_via": None,
    }
    event = Hit(rank=1, id="evt_1", summary="s", snippet="s", explain=explain)
    assert printed(SearchAnswer(hits=[], raw_hits=[event]))[-2:] == [
        "    s",
        "    words 2  names –  links 1  meaning 3  cosine 0.500  matched entities: jar",
    ]


@pytest.mark.parametrize(
    ("start", "told"),
    [
        (Start("entity", 5, hub=True), "START took only the 5 newest events, and there are more: k says how many, as in events(…, k: 200)"),
        (Start("entity", 200, hub=True), "START took only the 200 newest events, and there are more: k is at its most, 200"),
        (Start("tag", 5, has_more=True, hub=True), "k says how many, as in events(…, k: 200)"),
        (Start("tag", 200, has_more=True, hub=True), "k is at its most, 200"),
        (Start("entity+text", 7, has_more=True), "k says how many, as in events(…, k: 20)"),
        (Start("tag+text", 20, has_more=True), "k is at its most, 20"),
    ],
)
def test_a_start_that_left_events_out_says_what_the_notes_do_not(start: Start, told: str) -> None:
    assert start.notes == [told]


def test_a_start_that_left_nothing_out_says_nothing() -> None:
    assert Start("entity", 5).notes == []


def test_nothing() -> None:
    assert printed(SearchAnswer(hits=[], raw_hits=[])) == ["Nothing was found."]
