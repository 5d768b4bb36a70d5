"""One line of an export made ready to be stored. Pure: no I/O.

In: the line as JSON has it. Out: `Ready`, with texts that Postgres can hold, without secrets, with folded names, and the passages of those
that are not stored yet. Raises `InvalidRequest` for what is no line of an export.
"""

from collections.abc import Set
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from service.errors import InvalidRequest, TooLong
from service.memory.event_rows import LONGEST_KEY, LONGEST_KIND, LONGEST_SESSION, LONGEST_SUMMARY, passage_row
from service.memory.export_format import Content
from service.memory.names import LONGEST_NAME
from service.memory.page_names import MOST_ALIASES, names_of
from service.memory.pages import LONGEST_PATH, LONGEST_TITLE, clean_path
from service.memory.passages import split_event, split_page
from service.memory.redact import Redactor, Tally
from service.memory.scripts import fold_name
from service.memory.text import clean_text, cut_words

LONGEST_CONTENT: Final = 50_000
_LONGEST_TARGET: Final = 2_600  # bytes; what an index takes
# What is no text of a person's: choices, numbers, times.
_AS_IS: Final = frozenset({"line", "source", "relation", "uuid", "timestamp"})
# What tells things apart, so that no part of it can be taken out: fields, and those of single kinds of lines.
_WHOLE: Final = frozenset({"kind", "ingest_key", "session"})
_WHOLE_IN: Final = {"session": frozenset({"name"}), "page": frozenset({"path", "names", "aliases"})}
_LIMITS: Final = {
    ("session", "name"): LONGEST_SESSION,
    ("entity", "name"): LONGEST_NAME,
    ("entity", "type"): LONGEST_NAME,
    ("tag", "path"): LONGEST_NAME,
    ("event", "session"): LONGEST_SESSION,
    ("event", "kind"): LONGEST_KIND,
    ("event", "summary"): LONGEST_SUMMARY,
    ("event", "content"): LONGEST_CONTENT,
    ("event", "ingest_key"): LONGEST_KEY,
    ("page", "path"): LONGEST_PATH,
    ("page", "title"): LONGEST_TITLE,
}
_MAY_BE_EMPTY: Final = frozenset({"content"})


class Finish(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="line", tag="finish"):
    """The last line: what no line came to name goes; `numbers` were given before, also where nothing stands under them any more."""

    numbers: dict[str, Annotated[int, Meta(ge=0, le=2**52)]]


class Ready(msgspec.Struct, frozen=True):
    """A line to store: its kind, its columns, and its passages once they are made."""

    kind: str
    row: dict[str, Any]
    passages: list[dict[str, Any]] | None = None


def read_line(raw: Any, redactor: Redactor) -> Ready:
    """The line, cleaned and checked."""
    try:
        kind = str(raw.get("line")) if isinstance(raw, dict) else ""
        line: Any = msgspec.convert(_clean(raw, redactor, _WHOLE | _WHOLE_IN.get(kind, frozenset())), Content | Finish)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"{error}.", hint="Give the lines of `muniment export` as they are.") from error
    row: dict[str, Any] = msgspec.to_builtins(line)
    kind = row.pop("line")
    _check(kind, row)
    match kind:
        case "entity":
            row["folded"] = fold_name(row["name"])
        case "tag":
            row |= _tag(row["path"])
        case "event":
            row["entities"] = [_entity(each) for each in row["entities"]]
            row["tags"] = [{**_tag(each["path"]), "kind": each["kind"]} for each in row["tags"]]
        case "page":
            row["entities"] = [_entity(each) for each in row["entities"]]
            row["tags"] = [_tag(each) for each in row["tags"]]
            row["aliases"] = names_given(row) if row["aliases"] is None else row["aliases"][:MOST_ALIASES]
        case _:
            pass
    return Ready(kind, row)


def passages_of(line: Ready) -> list[dict[str, Any]]:
    """The passages of an event or a page, made now if they were not before."""
    if line.passages is not None:
        return line.passages
    row = line.row
    pieces = split_event(row["summary"], row["content"]) if line.kind == "event" else split_page(row["title"], row["body"])
    return [passage_row(piece) for piece in pieces]


def origin_key(row: dict[str, Any]) -> str:
    """The key of an event that has none and cannot keep its number: it follows from the number and the time it was stored."""
    return f"import:{row['id']}:{row['created_at']}"


def _clean(value: Any, redactor: Redactor, whole: Set[str], name: str = "") -> Any:
    if isinstance(value, str):
        text = clean_text(value)
        if name in _AS_IS or name.endswith("_at"):
            return text
        if name in whole:
            Tally(redactor).require_none(name, text)
            return text
        redacted = redactor.redact(text).text
        # A mark may be longer than the secret that it stands for.
        return cut_words(redacted, LONGEST_SUMMARY) if name == "summary" and len(text) <= LONGEST_SUMMARY else redacted
    if isinstance(value, list):
        return [_clean(item, redactor, whole, name) for item in value]
    if isinstance(value, dict):
        return {key: _clean(item, redactor, whole, str(key)) for key, item in value.items()}
    return value


def _entity(ref: dict[str, str]) -> dict[str, str]:
    _check("entity", ref)
    return {**ref, "folded": fold_name(ref["name"])}


def _tag(path: str) -> dict[str, str]:
    _check("tag", {"path": path})
    return {"path": path, "leaf": path.rpartition("/")[2], "folded": fold_name(path)}


def names_given(row: dict[str, Any]) -> list[str]:
    """The names of a page that are neither its path nor its title, in the spelling in which names are compared."""
    own = names_of(row["path"], row["title"], ())
    return [name for name in row["names"] if name not in own][:MOST_ALIASES]


def _check(kind: str, row: dict[str, Any]) -> None:
    for (of, field), limit in _LIMITS.items():
        text = row.get(field)
        if of != kind or text is None:
            continue
        if len(text) > limit:
            raise TooLong(f"{field}: at most {limit} characters, not {len(text)}.")
        if not text and field not in _MAY_BE_EMPTY:
            raise InvalidRequest(f"{field}: empty.")
    if kind == "page":
        if clean_path(row["path"]) != row["path"]:
            raise InvalidRequest(f"path: {row['path'][:80]!r} is not as paths are stored.")
        if any(len(target.encode()) > _LONGEST_TARGET for target in (*row["links"], *row["names"])):
            raise TooLong("A link's target or a page's name is too long.")
    if kind == "next_link" and row["from_id"] == row["to_id"]:
        raise InvalidRequest("An event does not follow itself.")
    if kind == "resolution" and row["plan_id"] == row["evidence_id"]:
        raise InvalidRequest("An event does not realize itself.")
    if kind == "alias" and row["a"] == row["b"]:
        raise InvalidRequest("An entity is no alias of itself.")
