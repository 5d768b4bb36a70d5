"""What an agent is told about `query_memory_graph`: the whole grammar, the answer, and the recipes.

Out: `DESCRIPTION`, under 6,000 characters; its recipes are `RECIPES`, which the tests run as written.
"""

from typing import Final

RECIPES: Final[tuple[tuple[str, str], ...]] = (
    (
        "among the memories of a name, those about something",
        "START a = events(entity: $name, text: $q, k: 20) RETURN a, a.score ORDER BY a.score DESC, a.id",
    ),
    (
        "in a tag, those about something",
        "START a = events(tag: $tag, text: $q, k: 20) RETURN a, a.score ORDER BY a.score DESC, a.id",
    ),
    (
        "names beside a name that contain a piece",
        "START a = events(entity: $name, k: 200) MATCH (a)-[:PARTICIPATED_IN]-(n) WHERE n.name CONTAINS $part "
        "RETURN DISTINCT n.name LIMIT 200",
    ),
    ("all, every, the full list", "START a = events(tag: $tag, k: 200) RETURN a LIMIT 200"),
    (
        "memories where two names both appear",
        "START a = events(entity: $a, k: 200) MATCH (a)-[:PARTICIPATED_IN]-(n {name: $b}) RETURN DISTINCT a LIMIT 200",
    ),
    (
        "memories that share the most names with these",
        "START a = events(ids: $ids) MATCH (a)-[:PARTICIPATED_IN]-(e)-[:PARTICIPATED_IN]-(b) WHERE NOT b.id IN $ids "
        "RETURN b, count(DISTINCT e) AS shared ORDER BY shared DESC LIMIT 20",
    ),
    (
        "similar to this one",
        "START a = events(ids: $ids) MATCH (a)-[f:SIMILAR {k: 5}]-(b) RETURN b, f.cos ORDER BY f.cos DESC LIMIT 10",
    ),
    ("what came next", "START a = events(ids: $ids) MATCH (a)-[n:NEXT*1..3]->(b) RETURN b, n.hops ORDER BY n.hops LIMIT 30"),
    (
        "neighbours not seen yet",
        "START a = events(ids: $ids) MATCH (a)-[s:SHARES {min: 2}]-(b) WHERE NOT b.id IN $seen "
        "RETURN b, s.count, s.via ORDER BY s.weight DESC LIMIT 20",
    ),
    (
        "why this order, with scores",
        "START a = events(tag: $tag, text: $q, k: 10) RETURN a.id, a.summary, a.score ORDER BY a.score DESC, a.id",
    ),
    (
        "same names, other matter",
        "START a = events(ids: $ids) MATCH (a)-[s:SHARES {min: 2}]-(b)-[f:FAR {max: 0.5}]-(a) "
        "RETURN b, s.count, s.via, f.cos ORDER BY s.weight DESC LIMIT 10",
    ),
    (
        "names around a question",
        "START a = events(text: $q, k: 5) MATCH (a)-[:PARTICIPATED_IN]-(e)-[:PARTICIPATED_IN]-(b) WHERE b.id <> a.id "
        "RETURN e.name, count(DISTINCT b) AS n ORDER BY n DESC LIMIT 15",
    ),
)

_GRAMMAR: Final = """\
A read-only Cypher subset over the memory of one project: events, the entities (names) that take part in them, tags. Use it only when \
the user asks for a graph query. Put the user's words into `params`, never into the query text.

START a = events(...) [MATCH chain, ... [WHERE ...]]... RETURN ... [ORDER BY ...] [LIMIT n]

START, one of: text: $q (k 5, max 20, closest first) | entity: $name or tag: $t (k 5, max 200, newest first) | ids: $ids (at most 20) \
| entity: $name, text: $q or tag: $t, text: $q (closest inside the scope, max 20). Names match the stored spelling exactly \
(find_memories_by_entity shows it); a tag is its full path or last segment. Without MATCH the start is the answer.

Nodes: (x) (x:Event) (x:Entity) (x:Tag) (x {name: $n}) (). Relations, exactly one type each:
- PARTICIPATED_IN Entity-Event
- SHARES {min, min_w} Event-Event by common entities; reads count, weight, via, hops
- SIMILAR {k, min} Event-Event by meaning; reads cos
- FAR {max} Event-Event, both ends bound elsewhere; reads cos
- NEXT {source} Event->Event, arrow required; reads hops, source
- MEMBER_OF {kind: contains|refers} Event->Tag; reads kind
- RESOLVED_BY Event->Event, plan -> what realized it, arrow required; reads relation, asserted_at
- CONNECTED {min} Entity-Entity by common events; reads event_count
- SAME_AS {min} Entity-Entity, stored aliases; reads confidence
Only NEXT and SHARES take a length: *n or *n..m, at most 3. Every chain is connected to a bound variable.

WHERE (after a MATCH): = <> < <= > >= IN NOT AND OR, cos(a, b), a.score, and CONTAINS on Entity.name or Tag.name. \
Write NOT b.id IN $seen. Nothing on Event.summary, no IS NULL, no arithmetic.
Properties: Event id, timestamp, order_index, score, summary (RETURN only); Entity id, name, type; Tag id, name.
RETURN: nodes, properties, cos(a, b), count collect min max sum avg, DISTINCT, AS. With aggregates ORDER BY uses returned columns. \
LIMIT 20 by default, at most 200. No WITH, OPTIONAL MATCH, UNWIND, SKIP, no writes.

Read the answer: `partial` and `truncated` say that a budget cut something, so 0 rows are "not confirmed", not "none". `has_more`, `hub` \
and k are no cuts: say "the closest 20 of 64", "only the newest 200". Put `notes` into the user's words. A rejection carries `hint` and \
`allowed_*`: correct the query once. Full content: get_memory_content.

Recipes:
"""

DESCRIPTION: Final = _GRAMMAR + "\n".join(f"{i}. {what}: {query}" for i, (what, query) in enumerate(RECIPES, 1))
