"""What the server tells an agent about itself: when to use which tool, in under 2,000 characters."""

from collections.abc import Sequence
from typing import Final

_ALWAYS: Final = (
    "Muniment is the shared memory of this team: events (what happened, was decided, found, fixed, planned), curated pages, and the "
    "names and tags that connect them.",
    "Before you answer about earlier work or decide something, search. When something was decided, found, fixed or planned, save it. "
    "Projects are apart: name `project` when the key has no default; list_projects shows them.",
)
_EACH: Final = (
    ("memory_query", "any question, also about how things are connected. Pages in `hits`, events in `raw_hits`."),
    ("search_memory", "events by meaning, when the words may differ; its `hint` shows what to ask next."),
    ("find_memory_connections", "what came before and after, what is like it, how it developed."),
    ("list_memory_timeline", "what happened last, or between two dates. list_tags: the tags there are."),
    ("get_memory_content", "events whole, by id. read_page: a page whole."),
    ("find_memories_by_entity", "how a name is stored: names match exactly."),
    ("query_memories_with_sql", "exact wording, exact counts."),
    ("save_memory", "one event with the names that take part; `previous` goes on with a thread, `resolves` names the plan it realized."),
    ("update_memory", "an event that says something wrong. link_memories: what follows what, two names for one thing."),
    ("write_page", "lasting knowledge; read it first and give its version as expected_version."),
    ("forget_memory", "only when the user asks for it; it cannot be undone, nor can delete_page."),
)
_GRAPH: Final = (
    "query_memory_graph: only when the user says `ak graph` (Korean `ak 그래프`) or asks for a graph query outright. The user's sentence "
    "goes through `params`. The phrase alone: offer three example requests with names from this memory. Show the query that ran, its "
    "meaning in one line, its limits in plain words (the closest 20 of 64). `All`, `every` is a listing: `tag:` or `entity:` alone with "
    "k: 200 and a LIMIT. Correct a rejection once by its hint. Without this tool, search instead and say so."
)
_LAST: Final = "Notes and errors are in English: put them into the user's words. Say that something is absent only with evidence."


def make_instructions(tools: Sequence[str]) -> str:
    """The text for a server that has these tools."""
    lines = [f"- {name}: {text}" for name, text in _EACH if name in tools]
    graph = [f"- {_GRAPH}"] if "query_memory_graph" in tools else []
    return "\n".join((*_ALWAYS, *lines, *graph, _LAST))
