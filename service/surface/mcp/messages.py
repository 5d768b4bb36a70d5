"""The JSON-RPC message in a POST to /mcp: in come bytes, out comes one object that looks like a message.

Anything else is a `MalformedMessage`, answered with status 400 and the code that JSON-RPC gives it.
"""

from collections.abc import Mapping
from typing import Any

from service.errors import MalformedBody
from service.observe.metrics import count_refusal
from service.surface.json_body import parse_json
from service.surface.reply import Reply, json_reply

PARSE_ERROR = -32700
INVALID_REQUEST = -32600


class MalformedMessage(Exception):
    """The body is not one JSON-RPC message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code

    def reply(self) -> Reply:
        """The error as JSON-RPC has it; counts it."""
        count_refusal("mcp", MalformedBody.code)
        return json_reply({"jsonrpc": "2.0", "id": None, "error": {"code": self.code, "message": str(self)}}, 400)


def parse_message(body: bytes) -> dict[str, Any]:
    """One request, notification or response; raises `MalformedMessage`. Batches are not taken: no current revision has them."""
    try:
        message = parse_json(body)
    except MalformedBody as error:
        raise MalformedMessage(PARSE_ERROR, error.message) from error
    if not isinstance(message, dict):
        raise MalformedMessage(INVALID_REQUEST, "The body must be a single JSON-RPC object, not a batch or another value.")
    if message.get("jsonrpc") != "2.0" or not (isinstance(message.get("method"), str) or "result" in message or "error" in message):
        raise MalformedMessage(INVALID_REQUEST, "The body is not a JSON-RPC 2.0 message.")
    if not isinstance(message.get("params", {}), dict):
        raise MalformedMessage(INVALID_REQUEST, "The params of a message must be an object.")
    identity = message.get("id")
    if "id" in message and (isinstance(identity, bool) or not isinstance(identity, str | int)):
        raise MalformedMessage(INVALID_REQUEST, "The id of a message must be text or a whole number.")
    return message


def wants_stream(message: Mapping[str, Any], accept: str) -> bool:
    """Whether the call asks for progress and its client reads streams."""
    meta = (message.get("params") or {}).get("_meta")
    return isinstance(meta, dict) and "progressToken" in meta and ("text/event-stream" in accept or "*/*" in accept)
