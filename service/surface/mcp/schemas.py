"""Plain JSON schemas for tools: what every client's model takes, without references, alternatives or rarer keywords.

In: a Struct. Out: a schema of type, properties, required, items, description, minimum, maximum, enum and format alone. Optional fields
are just not required; an answer leaves them out when they are null (`without_nulls`), so that it fits its schema.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

_KEPT: Final = ("type", "description", "minimum", "maximum", "enum")
_FORMATS: Final = frozenset({"date-time"})
_TYPES: Final[Mapping[type, str]] = {str: "string", int: "integer"}
Schema = dict[str, Any]


def input_schema(request: type[msgspec.Struct]) -> Schema:
    """The schema of a tool's arguments; a default stands in the description."""
    return _root(request, shown_default=True)


def output_schema(answer: type[msgspec.Struct]) -> Schema:
    """The schema of a tool's answer; fields that may hold anything are not described."""
    return _root(answer, shown_default=False)


def without_nulls(value: Any, schema: Mapping[str, Any]) -> Any:
    """The answer without the described fields that are null; data that the schema does not describe stays as it is."""
    if isinstance(value, dict):
        fields = schema.get("properties", {})
        return {
            name: without_nulls(item, fields[name]) if name in fields else item
            for name, item in value.items()
            if item is not None or name not in fields
        }
    if isinstance(value, list) and schema.get("items", {}).get("type") in ("object", "array"):
        return [without_nulls(item, schema["items"]) for item in value]
    return value


def _root(kind: type[msgspec.Struct], *, shown_default: bool) -> Schema:
    (ref,), components = msgspec.json.schema_components([kind])
    made = _Plain(components, shown_default).simplify(ref)
    if made is None or made["type"] != "object":
        raise TypeError(f"{kind.__name__} is no object")
    made.setdefault("properties", {})
    return made


class _Plain:
    """Simplifies schemas that refer to `components`."""

    def __init__(self, components: Mapping[str, Any], shown_default: bool) -> None:
        self._components = components
        self._shown_default = shown_default

    def simplify(self, schema: Mapping[str, Any]) -> Schema | None:
        """The plain schema, or None where none can say what is allowed."""
        known, _ = self._resolve(schema)
        if self._shown_default and "anyOf" in known and any(each.get("type") == "string" for each in known["anyOf"]):
            return {"type": "string"} | {key: known[key] for key in ("description",) if key in known}  # the others can be said as text too
        if "type" not in known:
            return self._anything() if "anyOf" not in known else None
        plain: Schema = {key: known[key] for key in _KEPT if key in known}
        if known.get("format") in _FORMATS:
            plain["format"] = known["format"]
        if known["type"] == "array":
            items = self.simplify(known.get("items", {})) if "prefixItems" not in known else None
            return None if items is None else plain | {"items": items}
        if "properties" in known:
            plain |= self._properties(known)
        return plain

    def _anything(self) -> Schema | None:
        """For arguments, anything means an object; an answer's is left undescribed."""
        return {"type": "object"} if self._shown_default else None

    def _properties(self, known: Mapping[str, Any]) -> Schema:
        properties: dict[str, Schema] = {}
        required = set(known.get("required", ()))
        for name, schema in known["properties"].items():
            made = self.simplify(schema)
            _, nullable = self._resolve(schema)
            if made is not None:
                properties[name] = self._with_default(made, schema)
            if made is None or nullable:
                required.discard(name)
        return {"properties": properties} | ({"required": sorted(required)} if required else {})

    def _with_default(self, made: Schema, schema: Mapping[str, Any]) -> Schema:
        default = schema.get("default")
        if not self._shown_default or default in (None, "", [], {}):
            return made
        text = f"{made.get('description', '')} Default: {msgspec.json.encode(default).decode()}.".strip()
        return made | {"description": text}

    def _resolve(self, schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
        """The schema behind references and the null alternative, with the outer description; and whether null is allowed."""
        nullable = False
        outer = {key: schema[key] for key in ("description",) if key in schema}
        while "$ref" in schema or "anyOf" in schema:
            if "$ref" in schema:
                schema = self._components[schema["$ref"].rpartition("/")[2]]
                continue
            others = [each for each in schema["anyOf"] if each.get("type") != "null"]
            nullable = nullable or len(others) < len(schema["anyOf"])
            if len(others) != 1:
                return {"anyOf": others, **outer}, nullable
            schema = others[0]
        if "enum" in schema:
            nullable = nullable or None in schema["enum"]
            schema = _typed_choice(schema)
        return {**schema, **outer}, nullable


def _typed_choice(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A choice of texts or of numbers with its type; null is no choice, and a mixed choice has no type."""
    values = [value for value in schema["enum"] if value is not None]
    kinds = {type(value) for value in values}
    return {**schema, "enum": values, **({"type": _TYPES[kinds.pop()]} if len(kinds) == 1 else {})}
