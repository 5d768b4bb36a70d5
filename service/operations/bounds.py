"""How large an answer may be. Lists that are too long end earlier and say so; what has no list says how to ask for less.

In: an operation and its request. Out: its answer, in JSON at most as large as the settings have it, or `AnswerTooLarge`. Only answers of
what was read are cut or refused: a change that was made is told whole, and its answer is no larger than what was sent.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar, get_args

import msgspec

from service.access.keys import Caller
from service.errors import MunimentError
from service.operations.operation import Operation, Services

NOTE_ROOM: Final = 2048
A = TypeVar("A", bound=msgspec.Struct)


class AnswerTooLarge(MunimentError):
    """The answer is larger than the server gives."""

    code = "answer_too_large"
    status = 422


def size_of(value: Any) -> int:
    """Bytes as JSON."""
    return len(msgspec.json.encode(value))


def cut_text(text: str, room: int) -> str:
    """As much of the beginning as JSON holds in so many bytes."""
    text = text[: max(0, room)]
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size_of(text[:middle]) <= room else (low, middle - 1)
    return text[:low]


async def run_bounded(services: Services, caller: Caller, operation: Operation, request: Any) -> Any:
    """Runs the operation; raises what it raises, and `AnswerTooLarge`."""
    limit = services.settings.answer_max_bytes
    answer = await operation.run(services, caller, request)
    if not _reads(operation):
        return answer
    while (size := size_of(answer)) > limit:
        if not hasattr(answer, "next_cursor"):
            return _cut(operation, answer, limit)
        given = len(getattr(answer, operation.lists[0]))
        if given <= 1:
            raise _too_large(operation, size, limit)
        # A shorter page has a cursor of its own to go on with.
        request = msgspec.structs.replace(request, limit=max(1, min(given - 1, given * limit // size)))
        answer = await operation.run(services, caller, request)
    return answer


def _reads(operation: Operation) -> bool:
    return operation.scope == "read" or all(route.method == "GET" for route in operation.routes)


def _cut(operation: Operation, answer: Any, limit: int) -> Any:
    """The answer with its lists shortened until it fits; each has the same room, and what a short one leaves goes to the longer ones."""
    size = size_of(answer)
    found: dict[str, Sequence[Any]] = {name: getattr(answer, name) for name in operation.lists}
    sizes = {name: size_of(items) for name, items in found.items()}
    room = limit - (size - sum(sizes.values())) - NOTE_ROOM
    for waiting, name in zip(range(len(sizes), 0, -1), sorted(sizes, key=sizes.__getitem__), strict=True):
        items = found[name]
        kept = fitting(items, room // waiting)
        room -= size_of(items[:kept])
        if kept < len(items):
            note = f"{name} cut to the first {kept} of {len(items)}, since answers have at most {limit} bytes; {operation.less}"
            answer = say_cut(msgspec.structs.replace(answer, **{name: items[:kept]}), note)
    if size_of(answer) > limit or not any(getattr(answer, name) for name in found):
        raise _too_large(operation, size, limit)
    return answer


def fitting(items: Sequence[Any], room: int) -> int:
    """How many of the first items have room, with their commas."""
    for number, item in enumerate(items):
        room -= size_of(item) + 1
        if room < 0:
            return number
    return len(items)


def say_cut(answer: A, note: str) -> A:
    """The answer with a note of what was cut, in every way that it has to say so."""
    fields = {field.name: field for field in msgspec.structs.fields(answer)}
    said: dict[str, Callable[[], Any]] = {
        "notes": lambda: [*getattr(answer, "notes"), note],  # noqa: B009  (not every answer has it)
        "partial": lambda: True,
        "row_count": lambda: len(getattr(answer, "rows")),  # noqa: B009
        "truncated": lambda: _truncated(getattr(answer, "truncated"), fields["truncated"].type, note),  # noqa: B009
    }
    return msgspec.structs.replace(answer, **{name: value() for name, value in said.items() if name in fields})


def _truncated(before: Any, kind: Any, note: str) -> Any:
    """True, or one more in a list of cuts that say where and why."""
    if isinstance(before, bool):
        return True
    (entry,) = get_args(kind)
    return [*before, entry(where="answer", reason="answer_bytes", detail=note)]


def _too_large(operation: Operation, size: int, limit: int) -> AnswerTooLarge:
    hint = operation.less[:1].upper() + operation.less[1:]
    return AnswerTooLarge(f"The answer has {size} bytes; at most {limit} are given.", hint=hint, limit=limit)
