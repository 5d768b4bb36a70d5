"""Queries above, the syntax tree below: what the parser makes of text, on which the evaluator of the tests relies too.

`python -m tests.pairs.graph.test_trees` writes the file anew; the difference is then read like any other change.
"""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from service.graph import ast
from service.graph.parse import parse

FILE = Path(__file__).parent / "trees" / "trees.txt"
RULE = "-" * 40


def read() -> list[tuple[str, str]]:
    """The pairs of the file: query, tree."""
    pairs = FILE.read_text(encoding="utf-8").split(f"\n{RULE}\n")
    return [(query.strip(), tree.strip()) for query, _, tree in (pair.partition("\n\n") for pair in pairs)]


def lines(part: Any, name: str = "", depth: int = 0) -> list[str]:
    """A tree, one line a node: its kind, and its own values; its parts below it, indented."""
    indent = "  " * depth + (f"{name}: " if name else "")
    if isinstance(part, tuple):
        return [line for one in part for line in lines(one, name, depth)]
    if not isinstance(part, msgspec.Struct):
        return [f"{indent}{part!r}"]
    fields = {field: getattr(part, field) for field in part.__struct_fields__ if field != "at"}
    own = {field: value for field, value in fields.items() if not isinstance(value, msgspec.Struct | tuple) and value is not None}
    below = {field: value for field, value in fields.items() if isinstance(value, msgspec.Struct | tuple)}
    head = " ".join(
        [type(part).__name__, *(f"{field}={value!r}" for field, value in own.items() if value is not False or type(part) is ast.Constant)]
    )
    return [indent + head, *(line for field, value in below.items() for line in lines(value, field, depth + 1))]


PAIRS = read() if FILE.exists() else []


@pytest.mark.parametrize(("query", "tree"), PAIRS, ids=[query[:70] for query, _ in PAIRS])
def test_is_read_as(query: str, tree: str) -> None:
    assert "\n".join(lines(parse(query))) == tree


def write() -> None:
    """Writes the file anew from its queries."""
    FILE.write_text(f"\n{RULE}\n".join(f"{query}\n\n" + "\n".join(lines(parse(query))) + "\n" for query, _ in read()), encoding="utf-8")


if __name__ == "__main__":
    write()
