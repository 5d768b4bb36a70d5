"""The wording of a transcript's events: in comes a message or a block of one, out comes the text to keep."""

import hashlib
import json
import re

from service.memory.imports.transcript_records import Block, Message, Record
from service.memory.text import clean_text, cut_words

LONGEST_SUMMARY = 500
THINKING = frozenset({"thinking", "redacted_thinking"})
_LONGEST_CALL = 200
_LONGEST_ERROR = 4000
_LONGEST_RESULT = 1000
_MOST_RESULT_LINES = 12
# The field that says best what a tool was called for, the first that is there.
_TELLING_FIELDS = (
    "file_path", "path", "notebook_path", "command", "pattern", "query", "url", "skill", "description", "prompt", "subject"
)  # fmt: skip
_LINE_MARKS = re.compile(r"^(?:[#>*+\-][#>*+\- \t]*|\d{1,3}[.)])[ \t]+")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？]")
_COMMAND = re.compile(r"<command-name>/?(?P<name>[^<]{1,200})</command-name>")
_ARGUMENTS = re.compile(r"<command-args>(?P<arguments>[^<]*+)</command-args>")


def summary_of(text: str) -> str:
    """The first line that says something, with the next where it ends in a colon; a long one's first sentence; at most 500 characters."""
    telling = (line.strip() for line in text.splitlines() if any(map(str.isalnum, line)))
    line = next(telling, text.strip())
    line = _LINE_MARKS.sub("", line) or line
    if line.endswith(":"):
        line = f"{line} {next(telling, '')}".strip()
    if len(line) > LONGEST_SUMMARY:
        ends = [found.end() for found in _SENTENCE_END.finditer(line, 0, LONGEST_SUMMARY)]
        line = line[: ends[0]] if ends else line
    return cut_words(line, LONGEST_SUMMARY)


def prompt_text(message: Message) -> str:
    """What a person typed: slash commands as typed, without what the client adds for the model and the output of its own commands."""
    parts = [_plain(block) for block in message.blocks if block.type != "tool_result"]
    text = "\n\n".join(part for part in parts if part)
    for tag in ("system-reminder", "local-command-stdout", "local-command-stderr", "local-command-caveat"):
        text = _without(text, tag)
    command = _COMMAND.search(text)
    if command is not None:
        arguments = _ARGUMENTS.search(text)
        text = f"/{command['name'].strip()} {arguments['arguments'] if arguments else ''}"
    return text.strip()


def reply_text(message: Message, with_thinking: bool) -> str:
    """What a reply says, and a line for each tool that it calls."""
    parts = (
        f"[{call_line(block)}]"
        if block.type in {"tool_use", "server_tool_use"}
        else (block.thinking or "" if with_thinking else "")
        if block.type in THINKING
        else _plain(block)
        for block in message.blocks
    )
    return "\n\n".join(part.strip() for part in parts if part.strip())


def call_line(block: Block) -> str:
    """A tool's call in one line: its name and the telling part of its input."""
    fields = block.input or {}
    told = next((value for name in _TELLING_FIELDS if isinstance(value := fields.get(name), str) and value.strip()), None)
    if told is None:
        told = json.dumps(fields, ensure_ascii=False, sort_keys=True) if fields else ""
    return f"{block.name or 'tool'} {cut_words(' '.join(told[: 4 * _LONGEST_CALL].split()), _LONGEST_CALL)}".strip()


def result_text(block: Block, call: str) -> str:
    """What a tool answered: an error at some length, otherwise its first lines; an empty answer is none."""
    inner = block.content
    text = inner if isinstance(inner, str) else "\n".join(filter(None, map(_plain, inner or [])))
    text = _without(text, "system-reminder").strip()
    if block.is_error:
        return f"{call} failed:\n{cut_words(text, _LONGEST_ERROR)}"
    lines = text[: 2 * _LONGEST_RESULT].splitlines()[:_MOST_RESULT_LINES]
    return f"{call}:\n{cut_words(chr(10).join(lines), _LONGEST_RESULT)}" if text else ""


def fingerprint(record: Record) -> str:
    """A short hash of what a record says, and of when where it has no id of its own."""
    said = (record.type, None if record.uuid else record.timestamp, record.message, record.summary)
    return hashlib.sha256(repr(said).encode()).hexdigest()[:16]


def _plain(block: Block) -> str:
    if block.type in {"image", "document"}:
        return f"[{block.type}]"
    return clean_text(block.text or "")


def _without(text: str, tag: str) -> str:
    """Cut out every `<tag>…</tag>`; one that is never closed stays."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    kept: list[str] = []
    position = 0
    while (start := text.find(opening, position)) >= 0 and (end := text.find(closing, start)) >= 0:
        kept.append(text[position:start])
        position = end + len(closing)
    return "".join(kept) + text[position:]
