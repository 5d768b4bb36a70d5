"""Long contents are cut exactly: joined again, they are what came in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.memory.boundaries import split_content


@given(content=st.text(st.sampled_from("ab .!?\n\r。é\u0301\u200d👩👧🇩🇪🏽"), max_size=400), limit=st.integers(1, 60))
def test_joined_parts_are_the_content(content: str, limit: int) -> None:
    parts = split_content(content, limit)
    assert "".join(parts) == content
    assert all(0 < len(part) <= limit for part in parts) or content == ""


@pytest.mark.parametrize(
    ("content", "limit", "first"),
    [
        ("one two.\n\nthree. four\nfive", 20, "one two.\n\nthree."),
        ("aaa bbb.\n\nccc ddd eee", 14, "aaa bbb.\n\n"),
        ("aaa bbb. ccc\nddd eee", 16, "aaa bbb. ccc\n"),
        ("aaa bbb. ccc ddd", 12, "aaa bbb."),
        ("aaa bbb ccc ddd", 9, "aaa bbb "),
        ("aaaaaaaaaa", 4, "aaaa"),
        ("这是测试。日本語のテスト", 8, "这是测试。"),
    ],
)
def test_cuts_fall_behind_the_best_boundary(content: str, limit: int, first: str) -> None:
    assert split_content(content, limit)[0] == first


@pytest.mark.parametrize("cluster", ["e\u0301", "👩‍👩‍👧", "🇩🇪", "👍🏽", "\r\n", "कि"])
def test_what_a_reader_sees_as_one_is_not_torn(cluster: str) -> None:
    parts = split_content("x" + cluster * 40, 21)
    assert all(part.lstrip("x").replace(cluster, "") == "" for part in parts)
