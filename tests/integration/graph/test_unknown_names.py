"""Names that stand for nothing: 0 rows, and a note that says what may be meant."""

from typing import Any

from service.db.scope import ProjectRef


async def test_a_tag_that_only_others_begin_with_names_some_of_them(ask: Any, memory: Any, small: ProjectRef) -> None:
    await memory.save(small, [{"summary": "x", "tags": [f"region/{name}"]} for name in ("d", "b", "c", "a")])
    answer = await ask("START a = events(tag: 'region') RETURN a")
    assert answer.rows == []
    told = "start: no tag is named 'region' (names match exactly; descendants are not included: region/a, region/b, region/c)"
    assert answer.notes == [told]
    assert (await ask("START a = events(tag: 'regio') RETURN a")).notes[0].endswith("list_tags finds those alike)")
