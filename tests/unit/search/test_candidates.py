"""Candidates travel as lists and are the same when unpacked."""

from service.search.answer import Found
from service.search.candidates import candidate_values, lift, pack, rank_apart, unpack

FOUND = [
    Found(2, False, 7, None, 0.1, ("Ada",)),
    Found(1, True, 3, 30, 1e-20, ("a.md", "b"), itself=True),
    Found(1, False, 5, 50, 2.5),
    Found(1, True, 4, None, 1 / 3),
]


def test_what_is_packed_comes_out_again() -> None:
    packed = pack(FOUND)
    assert [(part.place, part.is_page, part.count) for part in packed] == [(1, False, 1), (1, True, 2), (2, False, 1)]
    assert sorted(unpack(packed), key=lambda item: item.id) == sorted(FOUND, key=lambda item: item.id)


def test_scores_are_found_by_their_ids() -> None:
    assert [part.by_id() for part in pack(FOUND)] == [{5: 2.5}, {3: 1e-20, 4: 1 / 3}, {7: 0.1}]


def test_lists_are_arrays_of_postgres() -> None:
    values = candidate_values({"fts": pack(FOUND[1:3]), "vector": pack(FOUND[:1])})
    assert values["streams"] == [1, 1, 4]
    assert values["places"] == [1, 1, 2]
    assert values["pages"] == [False, True, False]
    assert values["ids"] == ["{5}", "{3}", "{7}"]
    assert values["passages"] == ["{50}", "{30}", "{NULL}"]
    assert values["scores"] == ["{2.5}", "{1e-20}", "{0.1}"]


def test_what_is_named_comes_first() -> None:
    words = pack([Found(1, True, 1, 10, 3.0), Found(1, True, 2, 20, 2.0), Found(2, True, 2, 21, 0.5)])
    names = [
        Found(1, True, 2, None, 1.0, ("b.md",), itself=True),
        Found(1, True, 3, None, 1.0, ("tag",)),
        Found(1, False, 9, None, 0.25, ("evt_9",), itself=True),
        Found(2, False, 4, None, 1.0, ("tag",)),
    ]
    assert unpack(lift(words, pack(names))) == [
        Found(1, True, 1, 10, 3.0),
        Found(1, True, 2, 20, 6.0),
        Found(2, True, 2, 21, 0.5),
        Found(1, False, 9, None, 3.25),
    ]
    assert unpack(lift([], pack(names[2:3]))) == [Found(1, False, 9, None, 0.25)]


def test_lists_without_anything_named_stay_as_they_are() -> None:
    words = pack([Found(1, True, 1, 10, 3.0), Found(1, False, 2, 20, 2.0), Found(2, True, 2, 21, 0.5)])
    lifted = lift(words, pack([Found(1, True, 1, None, 1.0, ("a.md",), itself=True)]))
    assert [part is before for part, before in zip(lifted, words, strict=True)] == [True, False, True]


def test_ranks_stand_for_scores_each_within_its_group() -> None:
    """Pages first among equals, then earlier projects, then higher ids, as everywhere."""
    found = [
        *(Found(1, False, number, number, 0.9) for number in (1, 2)),
        Found(2, True, 1, 10, 0.9, ("name",), itself=True),
        Found(2, False, 3, None, 0.95),
        *(Found(3, False, number, None, number / 10) for number in (1, 2)),
    ]
    ranked = rank_apart(pack(found), {1: 7, 2: 7, 3: 8})
    assert {(item.place, item.is_page, item.id): item.score for item in unpack(ranked)} == {
        (2, False, 3): -1,
        (2, True, 1): -2,
        (1, False, 2): -3,
        (1, False, 1): -4,
        (3, False, 2): -1,
        (3, False, 1): -2,
    }
    assert ranked[0].passages == "2,1"
    assert (ranked[2].names, ranked[2].itself) == ([("name",)], (1,))


def test_nothing_is_no_list() -> None:
    assert pack([]) == []
    assert candidate_values({"fts": []})["ids"] == []
