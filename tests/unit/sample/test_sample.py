"""In: the sample memory in service/sample. Out: proof that it has the shape and the references that its README promises."""

import re
from collections import Counter
from datetime import datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import msgspec
import pytest
import yaml

ROOT = Path(__file__).parents[3] / "service" / "sample"
PAGES = ROOT / "pages"
KINDS = {"decision", "observation", "bug", "fix", "plan", "meeting", "review", "note", "release", "feedback"}
TYPES = {"person", "component", "file", "service", "customer", "concept", "issue", "tool"}
DANGLING = {("meetings/2026-09-11-outage-review.md", "runbooks/relay-failover")}


class Entity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    type: str


class Tag(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    kind: str


class Event(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: str
    kind: str
    summary: str
    entities: list[Entity]
    tags: list[str | Tag]
    session: str | None = None
    timestamp: str | None = None
    content: str | None = None
    previous: str | None = None
    resolves: str | None = None

    def names(self) -> set[str]:
        return {entity.name for entity in self.entities}

    def tag_names(self) -> list[str]:
        return [tag if isinstance(tag, str) else tag.name for tag in self.tags]

    def when(self) -> datetime | None:
        return datetime.fromisoformat(self.timestamp) if self.timestamp else None


class Alias(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    a: Entity
    b: Entity
    confidence: float


class Links(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    aliases: list[Alias]


class Page(msgspec.Struct, frozen=True):
    path: str
    title: str
    tags: list[str]
    aliases: list[str]
    body: str


@cache
def events() -> tuple[Event, ...]:
    lines = (ROOT / "events.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(msgspec.json.decode(line, type=Event) for line in lines)


@cache
def pages() -> tuple[Page, ...]:
    found: list[Page] = []
    for file in sorted(PAGES.rglob("*.md")):
        _, front, body = file.read_text(encoding="utf-8").split("---\n", 2)
        matter = yaml.safe_load(front)
        found.append(Page(file.relative_to(PAGES).as_posix(), matter["title"], matter["tags"], matter.get("aliases", []), body))
    return tuple(found)


def by_key() -> dict[str, Event]:
    return {event.key: event for event in events()}


def written_in(text: str, script: str) -> bool:
    """Whether a fifth or more of the letters belong to the script."""
    letters = [char for char in text if char.isalpha()]
    return len(re.findall(script, text)) >= len(letters) / 5


def test_counts() -> None:
    assert 145 <= len(events()) <= 160
    assert [event.key for event in events()] == [f"sample-{number:03d}" for number in range(1, len(events()) + 1)]
    sessions = Counter(event.session for event in events() if event.session)
    assert len(sessions) == 6
    assert 0.4 <= sum(sessions.values()) / len(events()) <= 0.6
    assert len(events()) / 4 <= sum(event.content is not None for event in events()) <= len(events()) / 2
    assert len(pages()) == 25


@pytest.mark.parametrize("event", events(), ids=lambda event: event.key)
def test_each_event_is_well_formed(event: Event) -> None:
    assert event.kind in KINDS
    assert 20 <= len(event.summary) <= 300
    assert event.content is None or len(event.content) > 60
    assert event.session is None or len(event.session) <= 200
    assert event.entities
    assert all(entity.type in TYPES and entity.name == entity.name.strip() for entity in event.entities)
    assert len(event.names()) == len(event.entities)
    assert event.tags
    assert len(set(event.tag_names())) == len(event.tags)
    assert all(tag.kind in {"contains", "refers"} for tag in event.tags if isinstance(tag, Tag))
    assert all(re.fullmatch(r"[a-z]+/[a-z0-9.-]+", name) for name in event.tag_names())


def test_no_two_events_say_the_same() -> None:
    assert len({event.summary.casefold() for event in events()}) == len(events())


def test_timestamps_have_a_zone_and_are_in_order() -> None:
    times = [when for event in events() if (when := event.when())]
    assert len(events()) - len(times) == 3
    assert all(when.tzinfo is not None for when in times)
    assert all(before <= after for before, after in pairwise(times))
    assert {(when.year, when.month) for when in times} == {(2026, 9)}
    assert len({when.utcoffset() for when in times}) >= 3


def test_threads_lead_back_in_time() -> None:
    known = by_key()
    for event in events():
        if event.previous:
            assert event.previous < event.key
            earlier, later = known[event.previous].when(), event.when()
            assert earlier is not None
            assert later is not None
            assert earlier < later


def thread_depth(event: Event) -> int:
    known = by_key()
    depth = 1
    while event.previous:
        event = known[event.previous]
        depth += 1
    return depth


def test_several_threads_are_long() -> None:
    followed = {event.previous for event in events()}
    ends = [event for event in events() if event.key not in followed and event.previous]
    assert sum(thread_depth(end) >= 4 for end in ends) >= 8


def test_resolutions_point_from_a_result_to_an_earlier_plan() -> None:
    known = by_key()
    results = [event for event in events() if event.resolves]
    assert 6 <= len(results) <= 10
    for event in results:
        plan = known[event.resolves or ""]
        assert plan.kind == "plan"
        assert plan.key < event.key
        assert event.kind in {"fix", "release"}
    assert any(event.kind == "plan" and event.key not in {result.resolves for result in results} for event in events())


def test_one_type_for_each_entity_name() -> None:
    types: dict[str, set[str]] = {}
    for event in events():
        for entity in event.entities:
            types.setdefault(entity.name, set()).add(entity.type)
    assert all(len(kinds) == 1 for kinds in types.values())
    assert any(re.search("[가-힣]", name) for name in types)
    assert any(re.search("[ァ-ヶ]", name) for name in types)
    assert any(re.search("[Ａ-Ｚ]", name) for name in types)
    assert {"Tomás Vidal", "Skarvøy Fjord Survey"} <= set(types)


def test_hub_pair_and_common_piece() -> None:
    hub = [event for event in events() if "save format" in event.names()]
    assert len(hub) >= 25
    assert sum("compaction" in event.names() for event in hub) >= 8
    with_piece = {name for event in hub for name in event.names() if "bug" in name}
    assert with_piece == {"bug #4131", "bug #4140", "debug overlay"}
    assert any("ＢＵＧ票 #4158" in event.names() for event in hub)


def test_tags_are_few_and_three_are_broad() -> None:
    counts = Counter(name for event in events() for name in event.tag_names())
    assert 12 <= len(counts) <= 18
    assert sum(count >= 15 for count in counts.values()) >= 3
    kinds = {tag.kind if isinstance(tag, Tag) else "contains" for event in events() for tag in event.tags}
    assert kinds == {"contains", "refers"}


@pytest.mark.parametrize(("near", "far"), [("sample-013", "sample-138"), ("sample-006", "sample-052")])
def test_pairs_that_share_names_but_not_a_subject(near: str, far: str) -> None:
    known = by_key()
    assert len(known[near].names() & known[far].names()) >= 2
    words = [set(re.findall(r"[a-z]{6,}", known[key].summary.lower())) for key in (near, far)]
    assert len(words[0] & words[1]) <= 1


def test_languages() -> None:
    korean = [event for event in events() if written_in(event.summary, "[가-힣]")]
    japanese = [event for event in events() if written_in(event.summary, "[ぁ-ヿ]")]
    assert 18 <= len(korean) <= 25
    assert 13 <= len(japanese) <= 18
    assert sum(written_in(page.body, "[가-힣]") for page in pages()) == 2
    assert sum(written_in(page.body, "[ぁ-ヿ]") for page in pages()) == 1


def test_aliases_join_names_that_events_use() -> None:
    links = msgspec.json.decode((ROOT / "links.json").read_bytes(), type=Links)
    used = {entity for event in events() for entity in event.entities}
    assert 5 <= len(links.aliases) <= 6
    for alias in links.aliases:
        assert {alias.a, alias.b} <= used
        assert alias.a != alias.b
        assert 0.0 <= alias.confidence <= 1.0


def test_page_names_are_unique() -> None:
    names = [name for page in pages() for name in (page.path.removesuffix(".md"), page.title, *page.aliases)]
    assert len({name.casefold() for name in names}) == len(names)
    assert all(page.tags for page in pages())


def broken_links(page: Page) -> set[tuple[str, str]]:
    names = {name for other in pages() for name in (other.path.removesuffix(".md"), other.title, *other.aliases)}
    prose = re.sub(r"```.*?```", "", page.body, flags=re.DOTALL)
    wiki = {match.split("|")[0] for match in re.findall(r"\[\[([^\]]+)\]\]", prose)}
    broken = {(page.path, target) for target in wiki if target not in names}
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        file, _, anchor = unquote(target).partition("#")
        path = (PAGES / page.path).parent / file if file else PAGES / page.path
        if not path.is_file() or (anchor and anchor not in anchors(path)):
            broken.add((page.path, target))
    return broken


def anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {heading.lower().replace(" ", "-") for heading in headings}


def test_one_link_dangles_and_no_other() -> None:
    assert set().union(*(broken_links(page) for page in pages())) == DANGLING


def test_pages_show_what_markdown_can_hold() -> None:
    bodies = [page.body for page in pages()]
    for pattern in (
        r"\[\[[a-z]+/[^|\]]+\]\]",
        r"\[\[[^/\]]+\]\]",
        r"\[\[[^\]]+\|[^\]]+\]\]",
        r"\]\(\.\./",
        "```",
        r"^\| ",
        r"^- ",
        r"^1\. ",
    ):
        assert any(re.search(pattern, body, flags=re.MULTILINE) for body in bodies), pattern
    assert max(len(body.split()) for body in bodies) >= 1400


def test_readme_names_what_exists() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    questions = "\n".join(line for line in text.splitlines() if line.startswith("|"))
    keys = {f"sample-{int(number):03}" for number in re.findall(r"\b(\d{3})\b", questions) + re.findall(r"\bevt_(\d+)\b", text)}
    paths = set(re.findall(r"`([a-z]+/[^`]+\.md)`", text))
    assert keys <= set(by_key())
    assert len(keys) >= 20
    assert paths <= {page.path for page in pages()}
    assert len(text.splitlines()) <= 100
