"""Records of a Claude Code session transcript: in comes one line of JSON, out comes a typed record, or why it is none."""

import json
from typing import Any

import msgspec

from service.memory.imports.lines import Line
from service.memory.imports.report import Report

# What carries no memory of its own: bookkeeping of the client, left out and counted.
SILENT_TYPES = frozenset(
    {
        "agent-color",
        "agent-name",
        "agent-setting",
        "ai-title",
        "api-error",
        "attachment",
        "attribution-snapshot",
        "content-replacement",
        "custom-title",
        "file-history-snapshot",
        "last-prompt",
        "meta",
        "mode",
        "permission-mode",
        "pr-link",
        "progress",
        "queue-operation",
        "speculation-accept",
        "started",
        "system",
        "tag",
        "task-summary",
        "worktree-state",
    }
)
# The codes of lines that are no record at all.
NO_RECORD = frozenset({"malformed_json", "bad_record"})


class Block(msgspec.Struct, frozen=True):
    """One block of a message's content; the fields that its `type` does not have are empty."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: dict[str, Any] | None = None
    tool_use_id: str | None = None
    content: "str | list[Block] | None" = None
    is_error: bool | None = None


class Message(msgspec.Struct, frozen=True):
    """What was said: by whom, and in which blocks. The lines of one reply share the `id`."""

    id: str | None = None
    model: str | None = None
    content: str | list[Block] | None = None

    @property
    def blocks(self) -> list[Block]:
        """The content as blocks, plain text as one."""
        return [Block(type="text", text=self.content)] if isinstance(self.content, str) else self.content or []


class Record(msgspec.Struct, frozen=True, rename="camel"):
    """One line of a transcript, as far as it is read."""

    type: str
    uuid: str | None = None
    parent_uuid: str | None = None
    session_id: str | None = None
    timestamp: str | int | float | None = None
    is_sidechain: bool = False
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_api_error_message: bool | None = None
    message: Message | None = None
    summary: str | None = None
    leaf_uuid: str | None = None


def read_record(source: str, line: Line) -> tuple[Record | None, Report | None]:
    """Decode one line; a record can come with a report, when bytes of it had to be replaced."""
    report: Report | None = None
    if not line.is_whole:
        return None, Report(source, line.number, "line_too_long", "The line is longer than is read and was passed over.")
    try:
        text = line.raw.decode()
    except UnicodeDecodeError:
        text = line.raw.decode(errors="replace")
        report = Report(source, line.number, "invalid_utf8", "Bytes that are no UTF-8 were replaced by U+FFFD.")
    if not text.strip():
        return None, Report(source, line.number, "blank_line", "The line is blank.")
    try:
        return msgspec.convert(json.loads(text), Record), report
    except msgspec.ValidationError as error:
        return None, Report(source, line.number, "bad_record", f"The line is no record of a transcript: {error}.")
    except (ValueError, RecursionError):
        if not line.is_ended:
            return None, Report(source, line.number, "cut_line", "The last line is cut off; import again when it is complete.")
        return None, Report(source, line.number, "malformed_json", "The line is no JSON that can be read.")
