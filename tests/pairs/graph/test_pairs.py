"""Queries above, the SQL they become below: one file a topic, a pair for each shape that is meant to stay.

`python -m tests.pairs.graph.test_pairs` writes the files anew; the difference is then read like any other change.
"""

import textwrap
from pathlib import Path

import pglast
import pytest
import sqlglot

from service.graph.compile import compiled, in_pieces

HERE = Path(__file__).parent
RULE = "-" * 40


def read(path: Path) -> list[tuple[str, str]]:
    """The pairs of a file: query, SQL."""
    pairs = path.read_text(encoding="utf-8").split(f"\n{RULE}\n")
    return [(query.strip(), sql.strip()) for query, _, sql in (pair.partition("\n\n") for pair in pairs)]


def shown(query: str) -> str:
    """Every statement of a query, laid out."""
    vectors = "vectors off" not in query
    text = query.removeprefix("// in pieces").strip()
    ready = compiled(text, vectors=vectors)
    statements = [*(clause.statement for clause in ready.clauses), ready.last]
    if text != query:
        pieces = in_pieces(text, vectors=vectors)
        statements = [*(clause.statement for clause in pieces.clauses), pieces.tail]
    laid_out = [
        sqlglot.parse_one(_quoted(statement.sql), dialect="postgres").sql(dialect="postgres", pretty=True) for statement in statements
    ]
    return "\n;\n".join(laid_out)


def _quoted(sql: str) -> str:
    # Only for laying it out: here sqlglot would read the operator as another one.
    return sql.replace("OPERATOR(<=>)", "<->")


PAIRS = [(path, query, sql) for path in sorted(HERE.glob("*.txt")) for query, sql in read(path)]


@pytest.mark.parametrize(("path", "query", "sql"), PAIRS, ids=[f"{path.stem}: {query[:60]}" for path, query, _ in PAIRS])
def test_compiles_to(path: Path, query: str, sql: str) -> None:
    assert shown(query) == textwrap.dedent(sql), path.name


@pytest.mark.parametrize(("path", "query", "sql"), PAIRS, ids=[f"{path.stem}: {query[:60]}" for path, query, _ in PAIRS])
def test_is_read_by_the_grammar_of_postgres(path: Path, query: str, sql: str) -> None:
    for statement in (*(clause.statement for clause in compiled(query, vectors=True).clauses), compiled(query, vectors=True).last):
        (parsed,) = pglast.parse_sql(statement.sql)
        assert type(parsed.stmt).__name__ == "SelectStmt", path.name


def write() -> None:
    """Writes every file anew from its queries."""
    for path in sorted(HERE.glob("*.txt")):
        path.write_text(f"\n{RULE}\n".join(f"{query}\n\n{shown(query)}\n" for query, _ in read(path)), encoding="utf-8")


if __name__ == "__main__":
    write()
