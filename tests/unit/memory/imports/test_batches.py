import itertools

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from service.memory.event_rows import EventInput
from service.memory.imports.batches import Pending, cut_batches, linked


def pending(key: str | None, previous: str | None = None, resolves: tuple[str, ...] = (), summary: str = "s") -> Pending:
    return Pending(event=EventInput(summary=summary, ingest_key=key), source="f", previous_key=previous, resolves_keys=resolves)


def keys(batches: list[list[Pending]]) -> list[list[str | None]]:
    return [[item.event.ingest_key for item in batch] for batch in batches]


def test_batches_are_cut_by_count() -> None:
    assert keys([*cut_batches([pending(str(n)) for n in range(5)], most=2)]) == [["0", "1"], ["2", "3"], ["4"]]
    assert [*cut_batches([])] == []


def test_batches_are_cut_by_bytes_and_one_event_may_be_larger() -> None:
    size = len(msgspec.json.encode(pending("a").event))
    items = [pending("a"), pending("b"), pending("c"), pending("d", summary="x" * size), pending("e")]
    assert keys([*cut_batches(items, most_bytes=2 * size)]) == [["a", "b"], ["c"], ["d"], ["e"]]


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=40), st.integers(1, 7))
def test_no_batch_holds_an_event_that_another_of_it_names(links: list[tuple[int, bool]], most: int) -> None:
    items = [
        pending(str(n), None if resolves or back > n else str(n - back), (str(n - back),) if resolves and 0 < back <= n else ())
        for n, (back, resolves) in enumerate(links)
    ]
    items = [item for item in items if item.event.ingest_key not in item.named_keys]
    batches = [*cut_batches(items, most=most)]
    assert [*itertools.chain(*batches)] == items
    for batch in batches:
        assert 1 <= len(batch) <= most
        assert not {item.event.ingest_key for item in batch} & {key for item in batch for key in item.named_keys}


def test_keys_become_ids() -> None:
    event = linked(pending("c", "a", ("b", "gone")), {"a": "evt_1", "b": "evt_2"})
    assert (event.previous, event.resolves) == ("evt_1", ["evt_2"])
    assert linked(pending("c", "gone"), {}).previous is None
    own = Pending(event=EventInput(summary="s", previous="evt_9", resolves=["evt_8"]), source="f")
    assert linked(own, {}) is own.event
