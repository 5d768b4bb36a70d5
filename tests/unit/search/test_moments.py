"""Dates in words and in figures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.search.moments import read_moments


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("in July 2022", "2022-07-01", "2022-08-01"),
        ("on 9 November, 2022?", "2022-11-09", "2022-11-10"),
        ("on October 13th, 2023", "2023-10-13", "2023-10-14"),
        ("the 31st of December 2025", "2025-12-31", "2026-01-01"),
        ("2026-06-14", "2026-06-14", "2026-06-15"),
        ("since 2026-06-14T10:00:00Z", "2026-06-14", "2026-06-15"),
        ("am 06.05.2026", "2026-05-06", "2026-05-07"),
        ("6 мая 2026", "2026-05-06", "2026-05-07"),
        ("w maju 2026", "2026-05-01", "2026-06-01"),
        ("report of 2026-12", "2026-12-01", "2027-01-01"),
        ("in 2022", "2022-01-01", "2023-01-01"),
        ("am 3. März 2026", "2026-03-03", "2026-03-04"),
        ("el 5 de mayo de 2026", "2026-05-05", "2026-05-06"),
        ("en août 2026", "2026-08-01", "2026-09-01"),
        ("2026年5月", "2026-05-01", "2026-06-01"),
        ("2026年十二月3日", "2026-12-03", "2026-12-04"),
    ],
)
def test_a_date_is_a_stretch_of_time(text: str, low: str, high: str) -> None:
    moments = read_moments(text)
    assert moments is not None
    assert moments.ranges == f"{{[{low} 00:00+00,{high} 00:00+00)}}"


@pytest.mark.parametrize(
    ("text", "part"), [("in May", "-05-01"), ("since march", "-03-01"), ("二月十号", "-02-01"), ("am 3. Mai", "-05-03")]
)
def test_without_a_year_it_is_that_of_any(text: str, part: str) -> None:
    moments = read_moments(text)
    assert moments is not None
    assert all(f"{year}{part}" in moments.ranges for year in (2001, 2026))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "How much may it cost",
        "April said so",
        "march on",
        "2.0.30",
        "99 bottles",
        "30 February 2026",
        "2026-13-01",
        "三个月间",
        "in 20222",
        "13月",
        "2026-01-00",
        "2026-05-06-07",
        "0 May 2024",
        "1 May 1899",
        "May 3, 1850",
        "1.2.3",
        "31.02.2026",
    ],
)
def test_what_is_no_date(text: str) -> None:
    assert read_moments(text) is None


def test_several_dates_are_all_meant() -> None:
    moments = read_moments("between 1 May 2026 and 3 May 2026")
    assert moments is not None
    assert moments.ranges.count("[") == 2


@given(st.text(alphabet=st.sampled_from("0123456789 -.,年月日一二十 may june in")))
def test_any_text_is_read(text: str) -> None:
    moments = read_moments(text)
    assert moments is None or moments.ranges.startswith("{[")
