"""Words of texts and of queries: identifiers, accents, inflection, scripts without spaces, phrases, exclusions."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.memory.scripts import fold_name, normalise_with_origins
from service.memory.words import MAX_POSITION, analyse, analyse_word
from service.search.word_query import read_query

_ENTRY = re.compile(r"'((?:[^'\\]|''|\\\\)*)':([0-9C,]+)(?: |$)")


def lexemes(text: str, heading: str = "") -> dict[str, list[str]]:
    """The lexemes of a tsvector literal with their positions."""
    literal = analyse(text, heading).tsvector
    found = {entry[1].replace("''", "'").replace("\\\\", "\\"): entry[2].split(",") for entry in _ENTRY.finditer(literal)}
    assert sum(len(entry[0]) for entry in _ENTRY.finditer(literal)) == len(literal)
    return found


def terms(query: str) -> list[str]:
    return [term.tsquery for term in read_query(query).terms]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("applySecrets", {"applysecret", "appli", "secret"}),
        ("apply_secrets", {"apply_secrets", "appli", "secret"}),
        ("src/app/main.py", {"src/app/main.py", "main.py", "src", "app", "main", "py"}),
        ("https://api.example.com/v1", {"https://api.example.com/v1", "api.example.com", "https", "api", "exampl", "com", "v1"}),
        ("DEC-0054", {"dec-0054", "dec", "0054"}),
        ("--dry-run", {"dry-run", "dri", "run"}),
        ("HTTPServer", {"httpserver", "http", "server"}),
        ("APIs", {"api"}),
        ("C++ and C#", {"c++", "c#", "c"}),
        ("don't Alice's O'Brien", {"alic", "o", "brien", "o'brien"}),
        ("a\\b c", {"a\\b", "b", "c"}),
    ],
)
def test_identifiers_stand_whole_and_in_parts(text: str, expected: set[str]) -> None:
    assert set(lexemes(text)) == expected


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("café déjà vu configurações", "cafe"),
        ("café déjà vu configurações", "deja vu"),
        ("café déjà vu configurações", "CONFIGURACOES"),
        (unicodedata.normalize("NFD", "café"), "café"),
        ("cafe", unicodedata.normalize("NFD", "CAFÉ")),
        ("migrations", "migration"),
        ("Straße", "STRASSE"),
        ("ｆｕｌｌ ｗｉｄｔｈ", "full width"),
        ("Ёлка", "елка"),
        ("see DEC-0054 now", "0054"),
        ("see DEC-0054 now", "dec 0054"),
        ("src/app/main.py", "main.py"),
        ("the applySecrets hook", "apply secrets"),
    ],
)
def test_what_a_query_asks_is_in_the_text(text: str, query: str) -> None:
    assert {term.lexemes[0] for term in read_query(query).terms} <= set(lexemes(text))
    assert read_query(query).terms


def test_stop_words_keep_their_positions() -> None:
    assert lexemes("see the DEC-0054 now") == {"see": ["1"], "dec-0054": ["3"], "dec": ["3"], "0054": ["4"]}


@pytest.mark.parametrize("query", ["the", "will can now", "!!!", "🚀", "", "   ", "'", "-", '""', "\x00", "\ud83d"])
def test_a_query_of_nothing_has_no_terms(query: str) -> None:
    assert terms(query) == []


def test_don_is_a_word() -> None:
    assert terms("don") == ["'don'"]
    assert "don" in lexemes("Don Quixote")


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("这是一个测试", "测试", ["'测试'"]),
        ("日本語のテスト", "テスト", ["'テス' <1> 'スト'"]),
        ("번역을 부탁해", "번역", ["'번역'"]),
        ("docker 部署说明", "docker 部署", ["'docker'", "'部署'"]),
        ("docker部署说明", "部署说", ["'部署' <1> '署说'"]),
        ("这是一个测试", "试", ["'试':*"]),
    ],
)
def test_unspaced_words_are_pairs(text: str, query: str, expected: list[str]) -> None:
    assert terms(query) == expected
    found = lexemes(text)
    for term in read_query(query).terms:
        if term.prefix:
            assert any(lexeme.startswith(term.lexemes[0]) for lexeme in found)
        else:
            places = [int(found[lexeme][0]) for lexeme in term.lexemes]
            assert [place - places[0] for place in places] == list(term.distances)


def test_a_run_ends_with_its_last_character_and_a_gap() -> None:
    assert lexemes("测试，好") == {"测试": ["1"], "试": ["2"], "好": ["4"]}


def test_korean_and_japanese_keep_their_composition() -> None:
    decomposed = unicodedata.normalize("NFD", "번역 パス")
    assert set(lexemes(decomposed)) == {"번역", "역", "パス", "ス"}


def test_a_long_unspaced_question_asks_for_each_pair() -> None:
    assert terms("数据库迁移失败")[:2] == ["'数据'", "'据库'"]


@pytest.mark.parametrize(
    ("query", "phrases"),
    [
        ('find "exact phrase" here', ["'exact' <1> 'phrase'"]),
        ("find “the exact the phrase”", ["'exact' <2> 'phrase'"]),
        ('"DEC-0054 is open"', ["'dec' <1> '0054' <2> 'open'"]),
        ('"docker 部署 now"', ["'docker' <1> '部署'"]),
        ('"docker 部署说 ready"', ["'docker' <1> '部署' <1> '署说' <3> 'readi'"]),
        ('an open " quote', []),
        ('"to be"', []),
    ],
)
def test_quotes_make_phrases(query: str, phrases: list[str]) -> None:
    assert [phrase.tsquery for phrase in read_query(query).phrases] == phrases


def test_a_phrase_stands_at_the_distances_of_the_text() -> None:
    found = lexemes("see docker 部署说 ready")
    phrase = read_query('"docker 部署说 ready"').phrases[0]
    places = [int(found[lexeme][0]) for lexeme in phrase.lexemes]
    assert [place - places[0] for place in places] == list(phrase.distances)


@pytest.mark.parametrize(
    ("query", "excluded"),
    [
        ("deploy -update", ["'updat'"]),
        ("-update", ["'updat'"]),
        ("deploy -src/app/main.py", ["'src/app/main.py'"]),
        ('deploy -"old plan"', ["'old' <1> 'plan'"]),
        ("--dry-run", []),
        ("apply-secrets", []),
        ("a - b", []),
        ("rm -r x -1", []),
        ("docker -测试", ["'测试'"]),
        ("docker -测", ["'测':*"]),
        ("plan －한 -ン", ["'한':*", "'ン':*"]),
    ],
)
def test_a_minus_excludes_only_as_an_operator(query: str, excluded: list[str]) -> None:
    assert [term.tsquery for term in read_query(query).excluded] == excluded


def test_what_is_excluded_is_not_embedded() -> None:
    assert read_query('deploy -update "the plan"').plain.split() == ["deploy", "the", "plan"]


def test_a_long_query_is_bounded_and_says_so() -> None:
    query = read_query(" ".join(f"word{number}" for number in range(5_000)))
    assert len(query.terms) == 4_000
    assert query.cut == 1_000


def test_a_pasted_text_has_no_operators() -> None:
    query = read_query('he said "never again" -really ' + "and so it went on " * 30)
    assert (query.phrases, query.excluded, query.pasted) == ((), (), True)
    assert {"never", "realli"} <= {term.lexemes[0] for term in query.terms}
    assert not read_query("and so it went on " * 30).pasted


def test_headings_come_first_and_weigh_more() -> None:
    assert lexemes("body text", "Title") == {"titl": ["1C"], "bodi": ["2"], "text": ["3"]}


def test_length_counts_positions_that_hold_a_word() -> None:
    assert analyse("the apply_secrets of it").length == 2


def test_a_blob_leaves_room_for_words() -> None:
    blob = "QUJD/RGVm+" * 90_000
    found = lexemes(blob + " kumquat")
    assert "kumquat" in found
    assert len(found) < 200


def test_positions_and_size_stay_within_the_limits_of_tsvector() -> None:
    many = analyse(" ".join(f"unlike{number}" for number in range(60_000)))
    assert len(many.tsvector) < 2_000_000
    assert max(int(place) for places in lexemes("w " * 20_000 + "end").values() for place in places) == MAX_POSITION
    assert max(len(places) for places in lexemes("word " * 1_000).values()) == 255


def test_the_rarest_lexeme_of_a_word_is_its_whole() -> None:
    assert analyse_word("DEC-0054") == "dec-0054"
    assert analyse_word("Migrations") == "migrat"
    assert analyse_word("the") is None


def test_names_fold_case_and_width_but_not_accents() -> None:
    assert fold_name("Ｃafé") == "café"


@given(st.text())
def test_any_text_gives_a_literal_that_can_be_read(text: str) -> None:
    found = lexemes(text)
    assert all(1 <= len(lexeme) <= 300 for lexeme in found)


@given(st.text())
def test_any_query_can_be_read(text: str) -> None:
    query = read_query(text)
    assert all(term.tsquery for term in (*query.terms, *query.phrases, *query.excluded))


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_origins_lead_back_into_the_text(text: str) -> None:
    normal, origins = normalise_with_origins(text)
    if origins is None:
        assert normal == text
    else:
        assert len(origins) == len(normal) + 1
        assert origins == sorted(origins)
        assert origins[-1] == len(text)
