"""Which embedders a search asks, and what is said of the projects that have no vector of the query."""

import asyncio

from service.db.scope import SpaceRef
from service.search.parse import SearchSettings
from service.search.streams.vector import QueryVector, embed_query, explain_absence, note_missing


class Embedder:
    """Answers once all of a party have been asked."""

    def __init__(self, model: str, party: asyncio.Barrier | None = None) -> None:
        self.space = SpaceRef(0, "acme", model, 1)
        self.asked = 0
        self._party = party

    async def __call__(self, text: str) -> str:
        self.asked += 1
        if self._party is not None:
            await self._party.wait()
        return "[1]"


async def test_each_embedder_is_asked_once_and_beside_the_others() -> None:
    party = asyncio.Barrier(3)
    one, two, three = (Embedder(name, party) for name in ("one", "two", "three"))
    vectors = await embed_query([one, two, one, None, three, two], "what", SearchSettings())
    assert [vector.space.model if vector.space else None for vector in vectors] == ["one", "two", "one", None, "three", "two"]
    assert [vector.text for vector in vectors] == ["[1]", "[1]", "[1]", None, "[1]", "[1]"]
    assert [each.asked for each in (one, two, three)] == [1, 1, 1]


async def test_the_spaces_of_most_projects_come_first() -> None:
    one, two, three = (Embedder(name) for name in ("one", "two", "three"))
    embedders = [one, two, three, three, two]
    vectors = await embed_query(embedders, "what", SearchSettings(max_embedders=2))
    assert [vector.text for vector in vectors] == [None, "[1]", "[1]", "[1]", "[1]"]
    assert one.asked == 0
    assert note_missing(vectors, ["a", "b", "c", "d", "e"]) == [
        "One search asks 2 embedders at most, and acme (one) was not among them, so the vector stream is absent in a."
    ]


async def test_a_query_of_nothing_asks_nobody() -> None:
    one = Embedder("one")
    vectors = await embed_query([one, None], "", SearchSettings())
    assert (vectors, note_missing(vectors, ["a", "b"]), one.asked) == ([QueryVector(), QueryVector()], [], 0)


def test_projects_are_named_where_others_are_not_concerned() -> None:
    failed = QueryVector(matter="It failed")
    assert note_missing([failed, failed], ["a", "b"]) == ["It failed, so the vector stream is absent."]
    names = [f"p{number}" for number in range(13)]
    assert note_missing([QueryVector("[1]"), *[failed] * 12], names) == [
        f"It failed, so the vector stream is absent in {', '.join(names[1:11])} and 2 more."
    ]


def test_vectors_of_two_spaces_are_never_compared() -> None:
    mine = SpaceRef(1, "acme", "one", 2)
    assert explain_absence(mine, SpaceRef(0, "acme", "one", 2), "app") is None
    assert explain_absence(mine, None, "app") is None
    for other in (SpaceRef(1, "acme", "one", 3), SpaceRef(1, "acme", "two", 2), SpaceRef(1, "other", "one", 2)):
        assert "app holds vectors of acme (one, 2)" in (explain_absence(mine, other, "app") or "")
    assert "app has no vectors yet" in (explain_absence(None, mine, "app") or "")
