"""Hints of a server name its tools and routes. In: such a text. Out: the same with the commands that do what they do, where one does."""

import re
from typing import Final

_COMMANDS: Final = {
    "list_projects": "project list",
    "memory_status": "status",
    "memory_query": "query",
    "query_memory_graph": "graph",
    "query_memories_with_sql": "sql",
}
_TOOL: Final = re.compile(rf"\b({'|'.join(_COMMANDS)})\b(?: \((?:GET|POST) [^)]*\))?")


def with_commands(text: str) -> str:
    """`list_projects (GET …)` becomes `muniment project list`."""
    return _TOOL.sub(lambda found: f"`muniment {_COMMANDS[found[1]]}`", text)
