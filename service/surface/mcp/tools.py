"""The catalogue's operations as MCP tools.

In: operations. Out: `ToolSet`: the tools a key is shown, and how a call's answer or error becomes a result.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import mcp_types as types
import msgspec

from service.access.keys import Caller
from service.errors import MunimentError
from service.observe.metrics import count_refusal
from service.operations.operation import Operation
from service.surface.mcp.schemas import Schema, input_schema, output_schema, without_nulls

_RESERVED: Final = ("error", "code", "hint")


class ToolSet:
    """The tools of a server. Their schemas are made once."""

    def __init__(self, catalogue: Iterable[Operation]) -> None:
        self._operations = {operation.name: operation for operation in catalogue if operation.tool is not None}
        self._outputs = {name: output_schema(operation.answer) for name, operation in self._operations.items()}
        self._inputs = {name: input_schema(operation.request) for name, operation in self._operations.items()}
        self._tools = {name: self._describe(operation) for name, operation in self._operations.items()}

    @property
    def names(self) -> Sequence[str]:
        return tuple(self._operations)

    def operation(self, name: str) -> Operation | None:
        """The operation behind a tool."""
        return self._operations.get(name)

    def input_schema(self, name: str) -> Schema | None:
        return self._inputs.get(name)

    def shown_to(self, caller: Caller) -> list[types.Tool]:
        """What the key's scopes allow, in the catalogue's order."""
        return [self._tools[name] for name, operation in self._operations.items() if operation.scope in caller.scopes]

    def result(self, operation: Operation, answer: Any) -> types.CallToolResult:
        """An answer as structured content, and the same as text."""
        content = without_nulls(msgspec.to_builtins(answer, str_keys=True), self._outputs[operation.name])
        return _result(content, is_error=False)

    def _describe(self, operation: Operation) -> types.Tool:
        tool = operation.tool
        if tool is None:
            raise TypeError(f"{operation.name} is no tool")
        return types.Tool(
            name=operation.name,
            title=tool.title,
            description=tool.description,
            input_schema=self._inputs[operation.name],
            output_schema=self._outputs[operation.name],
            annotations=types.ToolAnnotations(
                title=tool.title,
                read_only_hint=operation.scope == "read",
                destructive_hint=tool.destructive,
                idempotent_hint=tool.idempotent,
                open_world_hint=False,
            ),
        )


def error_result(error: MunimentError) -> types.CallToolResult:
    """An error as a result that an agent can act on; counts it."""
    count_refusal("mcp", error.code)
    problem = error.problem()
    hint = {} if problem.hint is None else {"hint": problem.hint}
    members = {name: value for name, value in problem.members.items() if name not in _RESERVED}
    content = {"error": problem.error, "code": problem.code, **hint, **members}
    return types.CallToolResult(content=[types.TextContent(type="text", text=msgspec.json.encode(content).decode())], is_error=True)


def _result(content: Any, *, is_error: bool) -> types.CallToolResult:
    text = msgspec.json.encode(content).decode()
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=content, is_error=is_error)
