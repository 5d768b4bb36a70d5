"""A query in plain Cypher, which begins with MATCH: what to write instead, as far as its text tells.

In: the tokens of a query that has no START. Out: its rejection, with a query to begin with in the hint.
"""

from collections.abc import Sequence
from itertools import pairwise

from service.graph.cursor import ABSENT, READ_ONLY
from service.graph.rejection import GraphRejection, grammar
from service.graph.relations.registry import RELATIONS
from service.graph.tokens import Token

START_HINT = "write START a = events(text: $q) - or entity:, tag:, ids:"
_LONGEST_SHOWN = 80
_ALL = (
    "a query starts from some events: START a = events(text: $q) RETURN a, or entity:, tag:, ids:; for all events list_memory_timeline,"
    " for all entities and tags query_memories_with_sql"
)
_NEIGHBOURS = (
    "write START a = events(entity: $name) MATCH (a)-[:PARTICIPATED_IN]-(n) RETURN DISTINCT n for the names that stand beside a name;"
    " labels are Event, Entity and Tag, relations those of allowed_relations"
)


def without_start(tokens: Sequence[Token]) -> GraphRejection:
    """The rejection; its hint starts from the name that stands in the text, where one does."""
    first = tokens[0]
    unknown = any(kind not in RELATIONS for kind in _relations(tokens))
    if any(ABSENT.get(token.word) == READ_ONLY for token in tokens):
        hint = READ_ONLY
    elif source := _named(tokens):
        hint = f"write START a = events({source}) RETURN a, and MATCH between them goes on from a"
    elif unknown:
        hint = _NEIGHBOURS
    else:
        hint = _ALL if _is_of_all(tokens) else START_HINT
    members = {"allowed_relations": list(RELATIONS)} if unknown else {}
    return grammar(f"{first.word} without START is not part of the subset", first.at, hint, **members)


def _named(tokens: Sequence[Token]) -> str | None:
    """The first name that a node is to have, as START takes it."""
    labels = _labels(tokens)
    for i, (key, mark, value) in enumerate(zip(tokens, tokens[1:], tokens[2:], strict=False)):
        if key.text != "name" or mark.text not in (":", "=") or value.kind not in ("string", "param"):
            continue
        # {name: …} stands behind its node's label or variable, and x.name behind the variable.
        owner = tokens[i - 2].text if i >= 2 else ""
        kind = "tag" if labels.get(owner, owner) == "Tag" else "entity"
        return f"{kind}: {value.text if len(value.text) <= _LONGEST_SHOWN else '$name'}"
    return None


def _labels(tokens: Sequence[Token]) -> dict[str, str]:
    """Labels of nodes by their variables."""
    found = zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False)
    return {name.text: label.text for opening, name, mark, label in found if (opening.text, mark.text, label.kind) == ("(", ":", "name")}


def _relations(tokens: Sequence[Token]) -> list[str]:
    """The types of relations in brackets."""
    opened = [i for i, token in enumerate(tokens) if token.text == "["]
    after = [tokens[i + 1 : i + 4] for i in opened]  # [:TYPE or [variable:TYPE
    return [name.text for three in after for mark, name in pairwise(three) if mark.text == ":" and name.kind == "name"]


def _is_of_all(tokens: Sequence[Token]) -> bool:
    """Whether the pattern is one node that nothing narrows."""
    return tokens[0].word == "MATCH" and not any(token.text in ("[", "{", "-") or token.word == "WHERE" for token in tokens)
