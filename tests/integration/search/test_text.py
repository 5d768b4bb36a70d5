"""The text match as people and agents write, with embeddings off."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.db.scope import ProjectRef
from service.memory.words import analyse
from service.search.parse import SearchSettings
from service.search.word_query import read_query
from tests.conftest import Memory
from tests.integration.search.conftest import Ask, events, paths

PAGES = {
    "decision.md": (
        "Ledger",
        "We settled it: see DEC-0054 now, and call applySecrets from src/app/main.py with --dry-run at api.example.com.",
    ),
    "accents.md": ("Réunion", "café déjà vu configurações"),
    "moves.md": ("Moves", "All migrations ran on Tuesday."),
    "novel.md": ("Don Quixote", "A gentleman of La Mancha."),
    "zh.md": ("甲", "这是一个测试"),
    "ja.md": ("乙", "日本語のテスト"),
    "ko.md": ("병", "번역을 부탁해"),
    "mixed.md": ("丁", "docker 部署说明"),
    "rare.md": ("Rare", "The kumquat orchard pays its tithe in obsidian."),
}


@pytest.fixture
async def library(project: ProjectRef, memory: Memory) -> ProjectRef:
    for path, (title, body) in PAGES.items():
        await memory.page(project, path, title, body)
    return project


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("DEC-0054", "decision.md"),
        ("dec-0054", "decision.md"),
        ("DEC 0054", "decision.md"),
        ("0054", "decision.md"),
        ("applySecrets", "decision.md"),
        ("secrets", "decision.md"),
        ("src/app/main.py", "decision.md"),
        ("main.py", "decision.md"),
        ("--dry-run", "decision.md"),
        ("api.example.com", "decision.md"),
        ("cafe", "accents.md"),
        ("deja vu", "accents.md"),
        ("configuracoes", "accents.md"),
        ("reunion", "accents.md"),
        ("migration", "moves.md"),
        ("don", "novel.md"),
        ("测试", "zh.md"),
        ("测", "zh.md"),
        ("试", "zh.md"),
        ("テスト", "ja.md"),
        ("번역", "ko.md"),
        ("docker 部署", "mixed.md"),
        ("部署", "mixed.md"),
    ],
)
async def test_text_is_found(library: ProjectRef, ask: Ask, query: str, path: str) -> None:
    answer = await ask(library, query, explain=True)
    assert paths(answer)[0] == path
    assert answer.hits[0].explain.fts_rank == 1
    assert "<mark>" in answer.hits[0].snippet or query == "reunion"


@pytest.mark.parametrize("query", ["the", "will can now", "!!!", "🚀", "", "   ", "'\"", "-", "\x00", "\ud83d"])
async def test_nothing_to_match_is_no_hit_and_no_error(library: ProjectRef, ask: Ask, query: str) -> None:
    answer = await ask(library, query)
    assert (answer.hits, answer.raw_hits, answer.partial) == ([], [], False)
    assert answer.notes


async def test_a_natural_question_finds_the_page_that_shares_three_rare_words(library: ProjectRef, ask: Ask) -> None:
    question = (
        "I was wondering whether anybody still remembers, from the long talks that we had last year about everything, "
        "what the kumquat people with their orchard and some obsidian were actually doing with it all"
    )
    answer = await ask(library, question)
    assert paths(answer)[0] == "rare.md"


async def test_quotes_ask_for_a_phrase(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    await memory.page(project, "right.md", "Right", "the blue whale dives")
    await memory.page(project, "wrong.md", "Wrong", "the whale is blue and dives")
    assert sorted(paths(await ask(project, "blue whale"))) == ["right.md", "wrong.md"]
    assert paths(await ask(project, '"blue whale"')) == ["right.md"]
    assert paths(await ask(project, '"blue whale" "dives"')) == ["right.md"]


async def test_a_minus_excludes(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    await memory.page(project, "a.md", "A", "deploy plan with an update")
    await memory.page(project, "b.md", "B", "deploy plan")
    assert sorted(paths(await ask(project, "deploy plan"))) == ["a.md", "b.md"]
    assert paths(await ask(project, "deploy -update")) == ["b.md"]
    assert paths(await ask(project, 'plan -"an update"')) == ["b.md"]
    await memory.page(project, "c.md", "C", "部署 计划说明")
    for query in ("部署 -明", "部署 -说", "部署 -说明", '部署 -"划说"'):
        assert paths(await ask(project, query)) == []
    assert paths(await ask(project, "部署 -测")) == ["c.md"]


async def test_only_a_minus_finds_nothing_and_says_why(library: ProjectRef, ask: Ask) -> None:
    answer = await ask(library, "-update")
    assert (answer.hits, answer.raw_hits) == ([], [])
    assert "only excludes" in answer.notes[0]


async def test_three_thousand_words_keep_the_rarest_and_say_so(library: ProjectRef, ask: Ask, memory: Memory) -> None:
    await memory.page(library, "many.md", "Many", " ".join(f"plain{number}" for number in range(200)))
    words = " ".join(f"plain{number % 400}" for number in range(3_000))
    answer = await ask(library, f'kumquat "no such phrase" -kumquat {words}')
    assert "rare.md" in paths(answer)
    assert "many.md" in paths(answer)
    assert any("rarest were searched" in note for note in answer.notes)
    assert any("is read as text" in note for note in answer.notes)


async def test_a_blob_does_not_hide_a_word(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    await memory.page(project, "blob.md", "Blob", "QUJDREVGRw" * 90_000 + " kumquat")
    assert paths(await ask(project, "kumquat")) == ["blob.md"]


async def test_raw_events_are_found_though_pages_match(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    for number in range(12):
        await memory.page(project, f"p{number}.md", f"Page {number}", "lighthouse keeper")
    saved = await memory.save(project, [{"summary": "The lighthouse keeper wrote"}])
    answer = await ask(project, "lighthouse keeper", limit=5)
    assert len(answer.hits) == 5
    assert events(answer) == saved


async def test_an_answer_beside_the_best_match_is_found(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    saved = await memory.save(
        project,
        [
            {"summary": "Which database did we pick?", "session": "s"},
            {"summary": "Postgres, of course.", "session": "s"},
            {"summary": "Unrelated remark elsewhere", "session": "t"},
        ],
    )
    answer = await ask(project, "database pick", explain=True)
    assert events(answer) == saved[:2]
    first, second = (hit.explain for hit in answer.raw_hits)
    assert second.fts_score == pytest.approx(first.fts_score * SearchSettings().neighbour)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(), min_size=1, max_size=20))
async def test_postgres_reads_every_literal(memory: Memory, project: ProjectRef, texts: list[str]) -> None:
    literals = [analyse(text, text[:5]).tsvector for text in texts]
    queries = [term.tsquery for text in texts for part in (read_query(text),) for term in (*part.terms, *part.phrases, *part.excluded)]
    rows = await memory.rows(project, "SELECT count(v::tsvector) AS n FROM unnest($1::text[]) AS v", literals)
    assert rows[0]["n"] == len(texts)
    rows = await memory.rows(project, "SELECT count(q::tsquery) AS n FROM unnest($1::text[]) AS q", queries)
    assert rows[0]["n"] == len(queries)


async def test_postgres_takes_the_largest_literals(memory: Memory, project: ProjectRef) -> None:
    large = [" ".join(f"unlike{number}" for number in range(60_000)), "w " * 30_000, "\U0001b000" * 30_000]
    rows = await memory.rows(
        project, "SELECT count(v::tsvector) AS n FROM unnest($1::text[]) AS v", [analyse(text).tsvector for text in large]
    )
    assert rows[0]["n"] == 3


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("Payment-Gateway", "gatew"),
        ("src/ledger/close.py", "close"),
        ("O’Reilly", "reilly"),
        ("Grüße «Ämter»", "ämt"),
        ("결제 서버", "서버"),
        ("report_2025.final", "report_2025"),
        ("a\\b'c:d", "b'c"),
    ],
)
async def test_a_name_is_found_by_the_beginning_of_one_of_its_words(
    project: ProjectRef, memory: Memory, ask: Ask, name: str, query: str
) -> None:
    named, _ = await memory.save(
        project, [{"summary": "first", "entities": [(name, "thing")]}, {"summary": "second", "entities": [("else", "thing")]}]
    )
    answer = await ask(project, f"{query} nothing", explain=True)
    assert events(answer) == [named]
    assert answer.raw_hits[0].explain is not None
