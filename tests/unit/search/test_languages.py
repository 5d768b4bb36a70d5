"""Which language a query is in, and the forms of its words."""

import msgspec
import pytest

from service.memory.words import analyse_word
from service.search.forms import add_forms, form_values, looks_for_forms, show_forms
from service.search.languages import BINDING, MARKERS, beginning_of, languages_of, parts_of, spellings_of, tell_languages
from service.search.word_query import Term, read_query


@pytest.mark.parametrize(
    ("query", "languages"),
    [
        ("wo ist der adapter", ("de",)),
        ("donde esta la caja de los gatos", ("es",)),
        ("pourquoi les batteries sont elles bloquees", ("fr",)),
        ("где лежит договор и кто его подписал", ("ru",)),
        ("where is the adapter", ()),
        ("who was in the war and will die", ()),
        ("the hat of a man", ()),
        ("hat size", None),
        ("sin city", None),
        ("vertrag in leipzig", None),
        ("vertrag adapter", None),
        ("", None),
    ],
)
def test_binding_words_tell_a_language(query: str, languages: tuple[str, ...] | None) -> None:
    assert tell_languages(set(query.split())) == languages


def test_markers_are_stored_as_they_are_written_and_bind() -> None:
    for code, markers in MARKERS.items():
        assert [analyse_word(marker) for marker in markers] == list(markers)
        assert BINDING[code].issuperset(markers), code


def test_two_markers_tell_the_language_of_a_project() -> None:
    assert languages_of({"und": 40, "der": 30, "van": 50, "est": 9}, 1_000) == ("de",)
    assert languages_of({"und": 40, "der": 19}, 1_000) == ()
    assert languages_of({}, 0) == ()


def test_words_that_bind_others_are_left_out_where_there_are_others() -> None:
    assert [term.lexemes[0] for term in read_query("Wo ist der Vertrag mit Anna?").terms] == ["vertrag", "anna"]
    assert [term.lexemes[0] for term in read_query("wo ist der").terms] == ["wo", "ist", "der"]
    assert [term.lexemes[0] for term in read_query("hat size").terms] == ["hat", "size"]
    assert [term.lexemes[0] for term in read_query("缓存是什么").terms] == ["缓存", "存是"]


def test_forms_are_those_that_the_project_knows() -> None:
    query = read_query("Wer hat die Rechnung und den Messestand bezahlt?")
    known = {"rechnungen": 4, "rechnungswesen": 1, "rechner": 9, "stand": 2, "bezahlt": 1, "der": 90}
    found = {term.lexemes[0]: term for term in add_forms(query, known, 100).terms}
    assert found["rechnung"].forms == ("rechnungen",)
    compound = found["rechnungswesen"]
    assert (compound.share, compound.beside) == (0.5, ("rechnung", "rechnungen"))
    assert found["rechnung"].tsquery == "'rechnung' | 'rechnungen'"
    assert found["stand"].share < 1
    assert found["bezahlt"].forms == ()
    shown = show_forms(query, found.values()).terms
    assert {"rechnungen", "stand"} <= {term.lexemes[0] for term in shown}


def test_an_undecided_query_is_in_the_languages_of_the_project() -> None:
    query = read_query("hat Zertifikate")
    assert add_forms(query, {"zertifikat": 3, "hat": 9}, 100) == query
    found = {term.lexemes[0]: term for term in add_forms(query, {"zertifikat": 3, "hat": 9, "und": 50, "der": 50}, 100).terms}
    assert found["zertifik"].forms == ("zertifikat",) if "zertifik" in found else "zertifikat" in found
    assert found["hat"].share < 1


def test_english_queries_look_nothing_up() -> None:
    assert not looks_for_forms(read_query("where is the adapter"))
    assert not looks_for_forms(read_query("的缓存 42 DEC-0054"))
    told, asked = form_values(read_query("Wo ist der Vertrag?")), form_values(read_query("Vertrag"))
    assert (told["told"], told["markers"]) == (True, "")
    assert not asked["told"]
    assert set(asked["markers"].split()) <= set(asked["parts"].split())
    assert told["lows"] == ("vertrag",)
    assert "vertrag" < "vertragspartner" <= told["highs"][0]


@pytest.mark.parametrize("word", ["", "x", "abc", "c3po", "a" * 41, "数据库"])
def test_what_has_no_forms(word: str) -> None:
    assert beginning_of(word, None) is None
    assert parts_of(word, ("de",)) == ()


def test_umlauts_written_out_and_parts() -> None:
    assert spellings_of("oeztuerk") == ("ozturk",)
    assert spellings_of("anna") == ()
    assert {"messe", "stand"} <= set(parts_of("messestand", ("de",)))
    assert parts_of("messestand", ("es",)) == ()


def test_terms_without_forms_are_as_before() -> None:
    term = Term(("a",))
    assert term.tsquery == "'a'"
    assert msgspec.structs.replace(term, forms=("b",)).tsquery == "'a' | 'b'"
    assert term == Term(("a",))
    assert read_query('"der Vertrag" mit der Bank').phrases[0].tsquery == "'der' <1> 'vertrag'"
