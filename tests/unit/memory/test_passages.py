"""The splitter: pages and events become pieces that fit a model, and no word is lost."""

import base64
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.memory.passages import LIMIT, estimate_tokens, split_event, split_page

WORDS = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=200)
GAPS = st.sampled_from([" ", "\n", "\n\n", "\r\n", "\n# ", "\n### ", "\n```\n", ". ", ", ", "。", "! ", " 👩‍👩‍👧 ", "\t", "(", "\n- "])
BODIES = st.lists(st.tuples(WORDS, GAPS), max_size=120).map(lambda pairs: "".join(word + gap for word, gap in pairs))
SENTENCE = "The quick brown fox jumps over the lazy dog. "


def spaced_words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text) if word.isascii() and len(word) <= 200}


@given(title=st.text(max_size=60), body=BODIES)
@settings(max_examples=150, deadline=None)
def test_every_word_of_a_page_is_in_a_piece(title: str, body: str) -> None:
    pieces = split_page(title, body)
    found = set[str]().union(*(spaced_words(piece.text) for piece in pieces))
    assert spaced_words(body) | spaced_words(title) <= found
    assert [piece.number for piece in pieces] == list(range(len(pieces)))


@given(body=BODIES)
@settings(max_examples=150, deadline=None)
def test_no_character_of_a_page_is_lost_but_blanks(body: str) -> None:
    kept = "".join(piece.text for piece in split_page("", body))
    assert "".join(kept.split()) == "".join(body.split())


@given(summary=st.text(max_size=300), content=st.none() | BODIES)
@settings(max_examples=150, deadline=None)
def test_every_word_of_an_event_is_in_a_piece(summary: str, content: str | None) -> None:
    pieces = split_event(summary, content)
    found = set[str]().union(*(spaced_words(piece.text) for piece in pieces))
    assert spaced_words(summary) | spaced_words(content or "") <= found


@given(body=BODIES)
@settings(max_examples=100, deadline=None)
def test_pieces_fit_the_model(body: str) -> None:
    for piece in split_page("A title", body):
        assert estimate_tokens(piece.for_model) <= LIMIT + 24 + 1


def test_sections_carry_their_title_path() -> None:
    body = f"Intro.\n\n# Setup\n{SENTENCE * 8}\n## Disk\n{SENTENCE * 8}\n# Run\n{SENTENCE * 8}"
    pieces = split_page("Guide", body)
    assert [piece.title_path for piece in pieces] == ["Guide > Setup", "Guide > Setup > Disk", "Guide > Run"]
    assert pieces[0].text.startswith("Guide\n\nIntro.\n\n# Setup\n")
    assert pieces[1].for_model.startswith("Guide > Setup > Disk\n## Disk\nThe quick")


def test_the_head_of_a_page_is_its_title_and_first_paragraph() -> None:
    head = split_page("Guide", "First.\n\n" + SENTENCE * 40)[0]
    assert head.number == 0
    assert head.text.startswith("Guide\n\nFirst.")
    assert head.for_model == head.text


def test_a_heading_that_repeats_the_title_is_said_once() -> None:
    head = split_page("Guide", "# Guide\n\nText.")[0]
    assert head.text == "# Guide\n\nText."
    assert head.title_path == "Guide"


@pytest.mark.parametrize(
    ("heading", "path"), [("# Closed ##", "T > Closed"), ("# C#", "T > C#"), ("#no heading", "T"), ("#", "T"), ("###### Deep", "T > Deep")]
)
def test_headings_are_read_as_markdown_reads_them(heading: str, path: str) -> None:
    assert split_page("T", f"{heading}\n{SENTENCE * 6}")[0].title_path == path


def test_a_title_path_is_short_and_names_title_and_deepest_heading() -> None:
    headings = "\n".join(f"{'#' * level} {f'Level {level} ' * 9}" for level in range(1, 7))
    path = split_page("测" * 80, f"{headings}\n{SENTENCE * 20}")[-1].title_path
    assert len(path) <= 100
    assert path.startswith("测" * 45 + " > ")
    assert "Level 6" in path
    assert "Level 4" not in path


def test_small_sections_stand_together_below_what_they_share() -> None:
    body = f"# A\n{SENTENCE * 12}\n## B\nOne.\n## C\nTwo.\n# D\n{SENTENCE * 12}"
    assert [piece.title_path for piece in split_page("T", body)] == ["T > A", "T"]


def test_a_heading_in_a_code_fence_is_code() -> None:
    body = f"```sh\n# no heading\n```\n{SENTENCE * 20}\n~~~\n```\n# nor here\n~~~"
    assert {piece.title_path for piece in split_page("T", body)} == {"T"}


def test_code_fences_are_kept_whole_where_they_fit() -> None:
    code = "```py\n" + "x = call(a)\n\n" * 15 + "```"
    pieces = split_page("T", f"{SENTENCE * 11}\n\n{code}\n\n{SENTENCE * 11}")
    assert sum(code in piece.text for piece in pieces) == 1


def test_a_long_code_fence_is_cut_at_its_lines() -> None:
    lines = [f"value_{number} = compute({number})" for number in range(200)]
    pieces = split_page("T", "```\n" + "\n".join(lines) + "\n```")
    assert len(pieces) > 3
    assert all(any(line in piece.text.splitlines() for piece in pieces) for line in lines)


def test_front_matter_is_no_text() -> None:
    pieces = split_page("T", "\ufeff---\r\ntitle: secretword\r\ntags:\r\n- a\r\n\r\n---\r\nBody.\r\n")
    assert [piece.text for piece in pieces] == ["T\n\nBody."]


def test_a_rule_above_prose_is_no_front_matter() -> None:
    assert "First prose" in split_page("T", "---\nFirst prose.\n---\nSecond.")[0].text


@pytest.mark.parametrize("body", ["", "\n\n", "   ", "\r\n"])
def test_an_empty_body_leaves_the_title(body: str) -> None:
    pieces = split_page("Title", body)
    assert [(piece.number, piece.title_path, piece.text) for piece in pieces] == [(0, "Title", "Title")]


def test_an_event_of_nothing_has_an_empty_head() -> None:
    assert [piece.text for piece in split_event("", None)] == [""]


def test_the_head_of_an_event_reaches_into_its_content() -> None:
    pieces = split_event("Deploy failed.", SENTENCE * 100)
    assert pieces[0].text.startswith("Deploy failed.\n\nThe quick")
    assert estimate_tokens(pieces[0].text) > 0.7 * LIMIT
    assert "".join(piece.text for piece in pieces).count("fox") == 100
    assert pieces[1].for_model == pieces[1].text


def test_spaceless_text_is_cut_behind_sentences() -> None:
    sentence = "这是一个关于部署的测试。"
    pieces = split_page("题", sentence * 200)
    assert len(pieces) > 10
    assert all(piece.text.endswith("。") for piece in pieces)
    assert "".join(piece.text for piece in pieces).count(sentence) == 200


def test_spaceless_text_without_sentences_is_cut_by_length() -> None:
    pieces = split_page("", "测" * 5_000)
    assert sum(len(piece.text) for piece in pieces) == 5_000
    assert max(len(piece.text) for piece in pieces) <= LIMIT


def test_a_joined_emoji_is_never_torn() -> None:
    family = "👩‍👩‍👧"
    pieces = split_event("", (family * 20 + " ") * 60)
    assert len(pieces) > 1
    assert all(set(piece.text.split()) <= {family * 20} for piece in pieces)


def test_a_blob_costs_nothing_and_hides_no_word() -> None:
    noise = random.Random(7).randbytes(700_000)
    for blob in (base64.b64encode(noise).decode(), base64.encodebytes(noise).decode(), noise.hex()):
        pieces = split_event("Upload", f"before apricot {blob} kumquat after")
        text = " ".join(piece.text for piece in pieces)
        assert "apricot" in text
        assert "kumquat" in text
        assert len(text) < 2_000


def test_minified_text_is_shortened_but_compact_json_is_not() -> None:
    row = '{"level":"error","message":"disk-full"},'
    assert len(split_event("s", row * 20_000)) == 1
    assert "".join(piece.text for piece in split_event("s", row * 30)).count("disk-full") == 30


def test_large_pages_are_cut() -> None:
    generator = random.Random(3)
    vocabulary = ["".join(generator.choices("abcdefghij", k=generator.randint(1, 12))) for _ in range(500)]
    body = " ".join(generator.choices(vocabulary, k=650_000))
    pieces = split_page("T", body + " zebra")
    assert pieces[-1].text.endswith("zebra")
    assert sum(len(piece.text.split()) for piece in pieces) == 650_002
    assert len(split_page("T", "a" * 2_000_000)) == 1
