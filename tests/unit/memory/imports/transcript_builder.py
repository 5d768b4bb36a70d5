"""Builds session transcripts line by line, in the form that Claude Code writes them."""

import json
from pathlib import Path
from typing import Any

SESSION = "0d5a4c1e-5a52-4a5c-9d3c-2b8f0a6f7c11"


class Transcript:
    """A transcript in the making; every record follows the one before it, unless it is told its parent."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self._last: str | None = None

    def raw(self, line: bytes) -> "Transcript":
        self.lines.append(line)
        return self

    def record(self, type_: str, **fields: Any) -> "Transcript":
        number = len(self.lines) + 1
        base = {
            "parentUuid": self._last,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/kim/shop",
            "sessionId": SESSION,
            "version": "2.0.31",
            "gitBranch": "main",
            "type": type_,
            "uuid": f"u-{number}",
            "timestamp": f"2026-03-01T10:00:{number % 60:02}.123Z",
        }
        record = {name: value for name, value in (base | fields).items() if value is not ...}
        self._last = record.get("uuid", self._last)
        return self.raw(json.dumps(record).encode())

    def user(self, content: str | list[dict[str, Any]], **fields: Any) -> "Transcript":
        return self.record("user", message={"role": "user", "content": content}, **fields)

    def reply(self, message_id: str, *blocks: dict[str, Any], **fields: Any) -> "Transcript":
        """One line for each block, as the client writes a reply while it streams."""
        for block in blocks:
            message = {
                "id": message_id, "type": "message", "role": "assistant", "model": "claude-x", "content": [block], "usage": {"output_tokens": 7}
            }  # fmt: skip
            self.record("assistant", message=message, requestId="req-1", **fields)
        return self

    def result(self, call: str, content: Any, *, error: bool = False, **fields: Any) -> "Transcript":
        block = {"type": "tool_result", "tool_use_id": call, "content": content, "is_error": error}
        return self.user([block], toolUseResult={"stdout": "x", "interrupted": False}, **fields)

    def write(self, folder: Path, end: bytes = b"\n") -> Path:
        file = folder / f"{SESSION}.jsonl"
        file.write_bytes(end.join(self.lines) + end)
        return file


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def thinking(words: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": words, "signature": "c2ln"}


def tool(call: str, name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": fields}


def image(data: str = "aGVsbG8=") -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def working_session() -> Transcript:
    """A prompt, a reply of four lines, its tool's result, an error, a sub-agent, an image, bookkeeping and a summary."""
    return (
        Transcript()
        .record("summary", summary="Fix the cart's rounding", leafUuid="leaf-1", uuid=..., sessionId=..., timestamp=..., parentUuid=...)
        .record("file-history-snapshot", messageId="m", snapshot={}, uuid=...)
        .user("Please fix the rounding in src/cart.py, see #12.\nThanks!")
        .user("<system-reminder>be nice</system-reminder>", isMeta=True)
        .reply("msg_1", thinking("cents?"), text("I'll look at `round_cents` first."), tool("t1", "Read", file_path="src/cart.py"))
        .reply("msg_1", tool("t2", "Bash", command="pytest -q\n  tests/cart"))
        .result("t1", "\n".join(f"{n} line" for n in range(1, 500)))
        .result("t2", [text("E   assert 3 == 2")], error=True)
        .reply("msg_2", tool("t3", "Task", description="Find callers", prompt="Find all callers of round_cents"))
        .user("Find all callers of round_cents", isSidechain=True, parentUuid=None)
        .reply("msg_side", text("There are two callers."), isSidechain=True)
        .result("t3", [text("There are two callers.")], parentUuid="u-9")
        .user([text("Like this?"), image("QUFB" * 1000)])
        .record("system", subtype="turn_duration", content="4 s", level="info")
        .reply("msg_3", text("Yes. The fix is in."))
    )
