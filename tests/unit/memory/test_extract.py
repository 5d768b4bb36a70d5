"""Entities told from the text alone."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.memory.extract import entities_in


def told(text: str) -> list[tuple[str, str]]:
    return [(entity.name, entity.type) for entity in entities_in(text)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("see src/app/main.py.", ["src/app/main.py"]),
        ("src/app/main.py:42 and ./Makefile, ../x/y, ~/notes", ["src/app/main.py", "./Makefile", "../x/y", "~/notes"]),
        ("/etc/hosts but not /api/v1/events", ["/etc/hosts"]),
        (r"in C:\src\a.py, too", [r"C:\src\a.py"]),
        ("main.py, README.md. `config.toml`", ["main.py", "README.md", "config.toml"]),
        ("src/a.py를 고치고 ファイルsrc/b.pyを見る docs/설계.md는", ["src/a.py", "src/b.py", "docs/설계.md"]),
        ("문서/회의록.md와", ["문서/회의록.md"]),
        ("and/or n/a 1/2 TCP/IP client/server v1.2 example.com github.com/a/b", []),
    ],
)
def test_files(text: str, names: list[str]) -> None:
    assert [entity.name for entity in entities_in(text) if entity.type == "file"] == names


@pytest.mark.parametrize(
    ("text", "entities"),
    [
        ("call `foo_bar()` on `os.path`", [("foo_bar", "identifier"), ("os.path", "identifier")]),
        ("run `git mv src/z.py`", [("src/z.py", "file")]),
        ("`` ` `` and `open", []),
        ("go to https://example.com/a_(b)), now", [("https://example.com/a_(b)", "url")]),
        ("(https://x.org/y#z).", [("https://x.org/y#z", "url")]),
        ("https://x.org/a를 봐", [("https://x.org/a", "url")]),
        ("https://user:secret@x.org/a", []),
        ("https://x.org/" + "a" * 300, []),
        ("fixed #123, ABC-123을 and owner/repo#12", [("#123", "issue"), ("ABC-123", "issue"), ("owner/repo#12", "issue")]),
        ("UTF-8, SHA-256 and &#123;", []),
        ("commit abc1234, def5678 and `9abcdef`", [("abc1234", "commit"), ("def5678", "commit"), ("9abcdef", "commit")]),
        ("reverts ABC1234", [("abc1234", "commit")]),
        ("the number abc1234 alone, a commit defaced", []),
        ("fix in `abc1234`", [("abc1234", "commit")]),
        ("owner/repo@abc1234", [("abc1234", "commit")]),
        ("#auth #한국어를 #fff #a1b2c3", [("auth", "hashtag"), ("한국어", "hashtag")]),
        ("@kim.minji, @bob. a@example.com @scope/pkg @app.get('/') @dataclass", [("kim.minji", "person"), ("bob", "person")]),
        ("@민지가 말하길 @김정은 @김지은이 담당은@서연에게", [("민지", "person"), ("김정은", "person"), ("김지은", "person"), ("서연", "person")]),
        ("@田中さん @bobさん", [("田中", "person"), ("bob", "person")]),
    ],
)  # fmt: skip
def test_other_kinds(text: str, entities: list[tuple[str, str]]) -> None:
    assert told(text) == entities


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Don Quixote rode with Kim Minji", ["Don Quixote", "Kim Minji"]),
        ("we moved to Postgres. Then it worked. Tables stayed.", ["Postgres"]),
        ("The Postgres server. Use Redis.", ["Postgres", "Redis"]),
        ("Alice's plan; we saw Alice’s list", ["Alice"]),
        ("on Monday in January with Kim Sora Friday", ["Kim Sora"]),
        ("# READ ME NOW\nWE ARE HERE\n- Alice said\n1. Bob did\n> **Carol** too", []),
        ("the Bank of England and Ludwig van Beethoven", ["Bank of England", "Ludwig van Beethoven"]),
        ("Kim Minji가 왔고 그래서Alice가", ["Kim Minji", "Alice"]),
        ("with Иван Петров and Émile Zola", ["Иван Петров", "Émile Zola"]),
        ("when I'm here I think", []),
    ],
)
def test_names(text: str, names: list[str]) -> None:
    assert [entity.name for entity in entities_in(text) if entity.type == "name"] == names


def test_fenced_code_gives_no_people_and_no_names() -> None:
    text = "before\n```py\n@alice\nclass Foo Bar: # see src/x.py #12\n```\nand Don Juan\n"
    assert told(text) == [("src/x.py", "file"), ("Don Juan", "name")]


def test_both_unicode_forms_are_one_name() -> None:
    text = "at Café Noir, at " + unicodedata.normalize("NFD", "Café Noir") + ", @" + unicodedata.normalize("NFD", "민지가") + " @민지"
    assert told(text) == [("Café Noir", "name"), ("민지", "person")]


def test_names_come_in_order_once_and_up_to_the_limit() -> None:
    text = "b/b.py a/a.py b/b.py #1 c/c.py"
    assert [entity.name for entity in entities_in(text)] == ["b/b.py", "a/a.py", "#1", "c/c.py"]
    assert [entity.name for entity in entities_in(text, 2)] == ["b/b.py", "a/a.py"]
    assert entities_in(text, 0) == []


HOSTILE = ["a", "[", "@", "`", "`a ", "A", "Aa ", "a.", "a/", "#", "a.b1 ", "가", "가/", "/", "-", "\n", " ", ">", "@a", "http://", "commit ",
           "commit abc123g, ", "A of ", "AB-1", "`x\n", "C:\\", "0", "```\n", "~", "x@", "A\u0301\u0327", "- ", "ab12345/"]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_is_read_to_its_end(piece: str) -> None:
    """Two megabytes of one thing: a pattern that backtracks would not come back from these."""
    text = piece * (2_000_000 // len(piece)) + "\n```\n~~~\n\nsee src/end.py"
    assert all(len(entity.name) <= 200 for entity in entities_in(text, 10**6))


@given(st.text(st.sampled_from("aZ가の#@`./-_[] \n1é\u0301"), max_size=300))
def test_names_are_clean(text: str) -> None:
    entities = entities_in(text)
    assert len(set(entities)) == len(entities)
    for entity in entities:
        assert 0 < len(entity.name) <= 200
        assert entity.name == unicodedata.normalize("NFC", entity.name).strip()
    assert entities == entities_in(text)
