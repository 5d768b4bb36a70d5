"""A call's parameters put into a compiled query.

In: the compiled query, `params`. Out: `Arguments`: every value that will be bound, k and LIMIT clamped, with the notes that this
asks for. Raises `params` rejections, and the `grammar` rejection of what the server has switched off.
"""

from collections.abc import Mapping, Sequence
from typing import cast

import msgspec

from service.graph.compile import Compiled
from service.graph.limits import GraphLimits
from service.graph.rejection import grammar, misfit
from service.graph.slots import Runtime, Slot, place
from service.graph.terms import Plan
from service.graph.values import Given, clean, number_of, resolve, shown, whole

DEFAULT_K = 5
DEFAULT_LIMIT = 20
MAX_LIMIT = 200
MAX_IDS = 20
OFF = "is not available on this server (scoped match is off)"


class StartArguments(msgspec.Struct, frozen=True):
    """What START asks with: NFC text, event numbers as given (None: no id of an event), `k` events at most."""

    name: str | None
    text: str | None
    ids: tuple[int | None, ...]
    k: int


class Arguments(msgspec.Struct, frozen=True):
    """All values of one call. `clamps` and `unused` are note lines; `limit_given` is False for the default LIMIT."""

    start: StartArguments
    bound: Mapping[Slot, object]
    limit: int
    limit_given: bool
    clamps: tuple[str, ...]
    unused: tuple[str, ...]


def read_params(params: Mapping[str, object] | str | None) -> Mapping[str, object]:
    """`params` as an object; a JSON string that holds one is accepted."""
    if isinstance(params, str):
        try:
            decoded: object = msgspec.json.decode(whole(params))
        except (msgspec.DecodeError, RecursionError):
            decoded = None
        if not isinstance(decoded, dict):
            raise misfit("params is a string that holds no JSON object", None, 'pass an object such as {"q": "text"}')
        return cast("dict[str, object]", decoded)
    return {} if params is None else params


def fill(query: Compiled, params: Mapping[str, object], limits: GraphLimits) -> Arguments:
    """The arguments of a call."""
    plan = query.plan
    if not limits.scoped_match and plan.scoped:
        raise grammar(
            f"{plan.scoped[0].name} {OFF}",
            plan.scoped[0].at,
            "start with text: or entity: alone, and a MATCH, and tell the user that the rest is off here",
        )
    clamps: list[str] = []
    start = _start(plan, params, clamps)
    limit = _limit(plan, params, clamps)
    statements = (*(clause.statement for clause in query.clauses), query.last)
    slots = {slot for statement in statements for slot in statement.slots if not isinstance(slot, Runtime)}
    return Arguments(
        start=start,
        bound={slot: slot.bind(params) for slot in sorted(slots, key=place)},
        limit=limit,
        limit_given=plan.limit is not None,
        clamps=tuple(clamps),
        unused=tuple(f"parameter ${whole(name)} is not used in the query" for name in sorted(set(params) - plan.parameters)),
    )


def _start(plan: Plan, params: Mapping[str, object], clamps: list[str]) -> StartArguments:
    start = plan.start
    ids = () if start.ids is None else _ids(start.ids, params)
    k = DEFAULT_K if start.k is None else _k(start.k, params)
    if start.kind == "ids":
        k = len(ids)
    elif k > start.max_k:
        clamps.append(f"start.k clamped {k} -> {start.max_k}")
        k = start.max_k
    return StartArguments(
        name=None if start.name is None else _text(start.name, params, "a name").strip(),
        text=None if start.text is None else _text(start.text, params, "a text"),
        ids=ids,
        k=k,
    )


def _text(given: Given, params: Mapping[str, object], what: str) -> str:
    value = resolve(given, params)
    if not isinstance(value, str):
        raise misfit(f"{shown(given)} is not {what}", given.at, "pass text")
    if not value.strip():
        raise misfit(f"{shown(given)} is empty", given.at, f"pass {what}")
    return clean(value)


def _k(given: Given, params: Mapping[str, object]) -> int:
    k = resolve(given, params)
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise misfit(f"k is {shown(given)}, which is not an integer from 1", given.at, "give k from 1 to 20 with text, to 200 without")
    return k


def _ids(given: Given, params: Mapping[str, object]) -> tuple[int | None, ...]:
    """Each id once, in the order given."""
    values = resolve(given, params)
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise misfit(f"{shown(given)} is not a list of ids", given.at, "pass a list such as ['evt_42']")
    distinct = list(dict.fromkeys(values))
    wrong = next((value for value in distinct if not isinstance(value, str | None)), None)
    if wrong is not None:
        raise misfit(f"{wrong!r} is not an id", given.at, "ids are text such as 'evt_42'")
    if len(distinct) > MAX_IDS:
        raise misfit(f"{len(distinct)} ids are given; START takes at most {MAX_IDS}", given.at, "ask in several calls")
    return tuple(number_of(value, "Event") for value in distinct)


def _limit(plan: Plan, params: Mapping[str, object], clamps: list[str]) -> int:
    if plan.limit is None:
        return DEFAULT_LIMIT
    limit = resolve(plan.limit, params)
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise misfit(f"LIMIT is {shown(plan.limit)}, which is not an integer from 1", plan.limit.at, "give LIMIT from 1 to 200")
    if limit > MAX_LIMIT:
        clamps.append(f"limit clamped {limit} -> {MAX_LIMIT}")
        limit = MAX_LIMIT
    return limit
