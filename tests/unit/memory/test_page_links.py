"""Links between pages, as written and as resolved."""

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.memory.page_links import PageLink, links_in, resolve_path


def targets(body: str) -> list[tuple[str, str | None, str]]:
    return [(link.target, link.text, link.kind) for link in links_in(body)]


@pytest.mark.parametrize(
    ("body", "links"),
    [
        ("[[Don Quixote]]", [("Don Quixote", None, "wiki")]),
        ("[[people/kim|Kim]] [[x#Head|h]]", [("people/kim", "Kim", "wiki"), ("x#Head", "h", "wiki")]),
        (r"| [[a\|A]] |", [("a", "A", "wiki")]),
        ("![[note]] ![[pic.png]] [[#here]] [[]]", [("note", None, "wiki")]),
        ('[a](rel/p.md#x "title")', [("rel/p.md#x", "a", "markdown")]),
        ("[a](<b c.md>) [p](a_(b).md) [d](a%20b.md)", [("b c.md", "a", "markdown"), ("a_(b).md", "p", "markdown"), ("a%20b.md", "d", "markdown")]),
        ("[two\nlines](m.md)", [("m.md", "two\nlines", "markdown")]),
        ("[![i](q.png)](page.md)", [("page.md", "![i](q.png)", "markdown")]),
        ("[see][r]\n\n[r]: ./ref.md 'T'\n[w]: https://x.y\n", [("./ref.md", "r", "markdown")]),
        ("![i](a.png) [e](https://x.y) [m](mailto:a@b) [s](//x.y) [h](#h) [e]()", []),
        ("`[[a]]` ``[[b`c]]`` ```[[d]]```", []),
        ("`open [[a]]\n\nclosed` [[b]]", [("a", None, "wiki"), ("b", None, "wiki")]),
        (r"\`[[a]]\` \[[x]\](y.md)", [("a", None, "wiki")]),
        ("~~~\n[[a]]\n```\n[[b]]\n~~~\n[[c]]", [("c", None, "wiki")]),
        ("- ```md\n  [[a]]\n  ```\n- [[b]]\n```\n[[never closed]]", [("b", None, "wiki")]),
        ("[[a]] [[a|again]] [a](a) [b](a)", [("a", None, "wiki"), ("a", "a", "markdown")]),
        ("[a](b.md)\r\n\r\n[[c]]\r\n", [("b.md", "a", "markdown"), ("c", None, "wiki")]),
        ("[b](a.md]( [c](d.md)", [("d.md", "c", "markdown")]),
    ],
)  # fmt: skip
def test_links(body: str, links: list[tuple[str, str | None, str]]) -> None:
    assert targets(body) == links


@pytest.mark.parametrize(
    ("target", "paths"),
    [
        ("rel/p.md#x", ("d/e/rel/p.md",)),
        ("../q", ("d/q", "d/q.md")),
        ("a%20b.md", ("d/e/a b.md",)),
        ("/top.md", ("top.md",)),
        ("../../../x.md", ()),
        ("%2e%2e/%2e%2e/%2e%2e/etc", ()),
        ("/../x", ()),
        ("../..", ()),
    ],
)
def test_markdown_paths_are_relative_to_the_page(target: str, paths: tuple[str, ...]) -> None:
    assert resolve_path("d/e/p.md", PageLink(target, "t", "markdown")).paths == paths


def test_wiki_paths_begin_at_the_root_and_carry_the_bare_name() -> None:
    found = resolve_path("d/p.md", PageLink("people/Kim#Born", None, "wiki"))
    assert found.paths == ("people/Kim", "people/Kim.md", "d/people/Kim", "d/people/Kim.md")
    assert found.name == "Kim"
    assert resolve_path("d/p.md", PageLink("../Kim.md", None, "wiki")).paths == ("Kim.md",)


def test_paths_are_nfc() -> None:
    assert resolve_path("p.md", PageLink("cafe\u0301.md", None, "markdown")).paths == ("café.md",)


@given(st.lists(st.sampled_from(["..", ".", "a", "", "%2e%2e", "b.md", "/"])), st.sampled_from(["wiki", "markdown"]))
def test_no_path_leaves_the_root(parts: list[str], kind: str) -> None:
    for path in resolve_path("d/e/p.md", PageLink("/".join(parts), None, "wiki" if kind == "wiki" else "markdown")).paths:
        assert not path.startswith(("/", "../"))
        assert path == posixpath.normpath(path) != ".."


HOSTILE = ["[", "]", "](", "](a", '](a "', "[[", "[[a|", "[a](b) ", "` ", "`a``b```c", "![", "\\", "\n", " ", "[x]: ", "](<a", "](a(b",
           "~~~\n", "[a](b 'x\n", "](        ", "\\`", "[a](b\n \n", "[![", "![a[b](c)"]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_bodies_are_read_to_their_end(piece: str) -> None:
    """A megabyte of one thing, then a link: a pattern that backtracks would not come back from these."""
    body = piece * (1_000_000 // len(piece)) + "\n~~~\n\n`\n\n[[end]]"
    assert len(links_in(body)) <= 3
    assert links_in("[[end]]\n\n" + body)[0] == PageLink("end", None, "wiki")


@given(st.text(st.sampled_from("[]()!|#`\\ \n<>\"'a.md~:"), max_size=200))
def test_any_body_is_read(body: str) -> None:
    for link in links_in(body):
        assert link.target.strip("#")
        assert "://" not in link.target
