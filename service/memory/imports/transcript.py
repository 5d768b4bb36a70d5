"""A Claude Code session transcript as events: in comes a JSONL file, out come events in the session's order, and a report per bad line.

What becomes an event: what a person typed (`user`), what an agent was told by another one (`agent`), a reply
(`assistant`: its text and a line for each tool it called; all lines of one reply are one event), a tool's result (`tool`: an error at
length, otherwise the first lines), a summary (`summary`, with the time of the line beside it).
Sub-agents' events are tagged `sub-agent`. Thinking is counted and left out unless it is asked for, an image is the word `[image]`, and the
client's own bookkeeping is only counted.
The keys come from the transcript's own ids: the same file, or one that has grown, stores nothing twice.
"""

from collections import Counter, deque
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from service.memory.extract import EntityName, entities_in
from service.memory.imports import transcript_texts as texts
from service.memory.imports.lines import read_lines
from service.memory.imports.report import Report
from service.memory.imports.transcript_records import NO_RECORD, SILENT_TYPES, Message, Record, read_record
from service.memory.text import clean_name, clean_text
from service.memory.timestamps import InvalidTimestamp, parse_timestamp

LONGEST_LINE = 10 * 1024 * 1024
_LONGEST_SESSION = 200
# A reply whose end is not seen after so many later events is taken as complete, so that memory stays bounded.
_MOST_PENDING = 256


class EventItem(msgspec.Struct, frozen=True):
    """An event to save. `ingest_key` is the same in every import; `timestamp` is in UTC."""

    summary: str
    content: str
    timestamp: datetime | None
    session: str
    kind: str
    entities: tuple[EntityName, ...]
    tags: tuple[str, ...]
    ingest_key: str
    previous_key: str | None = None


class _Draft:
    """An event in the making: an open reply grows by the text of each of its lines, until another reply follows in its chain."""

    def __init__(self, kind: str, key: str, session: str, timestamp: datetime | None, tags: tuple[str, ...]) -> None:
        self.kind = kind
        self.key = key
        self.session = session
        self.timestamp = timestamp
        self.tags = tags
        self.texts: list[str] = []
        self.is_open = False

    def item(self) -> EventItem | None:
        """The event, once nothing is added any more; None when there is nothing to tell."""
        content = clean_text("\n\n".join(text for text in self.texts if text))
        if not content:
            return None
        return EventItem(
            summary=texts.summary_of(content),
            content=content,
            timestamp=self.timestamp,
            session=self.session,
            kind=self.kind,
            entities=tuple(entities_in(content)),
            tags=self.tags,
            ingest_key=f"claude:{self.session}:{clean_text(self.key)}",
        )


def read_transcript(file: Path, *, max_line: int = LONGEST_LINE, with_thinking: bool = False) -> Iterator[EventItem | Report]:
    """Read one session file; lines over `max_line` bytes are passed over. Raises OSError when the file cannot be opened.

    A file without a single record is reported as a whole and not line by line.
    """
    reader = _Reader(file, with_thinking, _session_of(file, max_line))
    held: list[Report] | None = []  # what the lines before the first record were told; None once there is one
    for line in read_lines(file, max_line):
        record, report = read_record(reader.source, line)
        if record is not None:
            yield from held or ()
            held = None
        if report is not None and held is not None:
            held.append(report)
        elif report is not None:
            yield report
        if record is not None:
            yield from reader.take(record, line.number)
            yield from reader.finished(_MOST_PENDING)
    yield from reader.finished(0)
    yield from _verdict(reader.source, held or [])
    if reader.left_out:
        counts = ", ".join(f"{count} {what}" for what, count in sorted(reader.left_out.items()))
        yield Report(reader.source, None, "left_out", f"Left out: {counts}.")


def _session_of(file: Path, max_line: int) -> str:
    """The session of the records that name none, such as a summary at the head: the first that is named, else the file's name."""
    records = (read_record("", line)[0] for line in read_lines(file, max_line))
    return next((record.session_id for record in records if record is not None and record.session_id), file.stem)


def _verdict(source: str, reports: list[Report]) -> list[Report]:
    """The reports of a file without a record: one, when some line of it is of another kind."""
    if not any(report.code in NO_RECORD for report in reports):
        return reports
    return [Report(source, None, "no_transcript", "This is no transcript: no line of it is a record of a session.")]


class _Reader:
    """What has to be remembered from line to line of one file."""

    def __init__(self, file: Path, with_thinking: bool, session: str) -> None:
        self.source = clean_text(str(file))
        self.left_out: Counter[str] = Counter()
        self._session = session
        self._with_thinking = with_thinking
        self._seen: dict[str, set[str]] = {}
        self._chains: dict[str, str] = {}
        self._calls: dict[str, str] = {}
        self._pending: deque[_Draft] = deque()
        self._replies: dict[str, _Draft] = {}
        self._last_reply: dict[str, str] = {}
        self._time: datetime | None = None
        self._untimed: list[_Draft] = []

    def take(self, record: Record, number: int) -> Iterator[Report]:
        """Turn a record into an event in the making, or a part of one; what cannot be is reported or counted."""
        chain = self._follow(record)
        silent = "meta" if record.is_meta else "api-error" if record.is_api_error_message else record.type
        if silent in SILENT_TYPES:
            self.left_out[silent] += 1
            return
        if record.type not in {"user", "assistant", "summary"}:
            yield Report(self.source, number, "unknown_type", f"Records of type {clean_text(record.type[:80])!r} are not known.")
            return
        print_ = texts.fingerprint(record)
        own_id = record.leaf_uuid or record.uuid or print_
        versions = self._seen.setdefault(own_id, set())
        if print_ in versions:
            yield Report(self.source, number, "duplicate_id", "The same record was read before.")
            return
        key = f"{own_id}:{print_}" if versions else own_id
        versions.add(print_)
        timestamp: datetime | None = None
        try:
            timestamp = None if record.timestamp is None else parse_timestamp(record.timestamp)
        except InvalidTimestamp as error:
            yield Report(self.source, number, error.code, error.message)
        timestamp = self._timed(record, timestamp)
        if record.type == "assistant":
            self._take_reply(record, key, chain, timestamp)
        else:
            self._take_other(record, key, timestamp)

    def _timed(self, record: Record, timestamp: datetime | None) -> datetime | None:
        """The record's time; a summary has none of its own, and takes that of the line before it, else waits for the line after it."""
        if timestamp is not None:
            self._time = timestamp
            for draft in self._untimed:
                draft.timestamp, draft.is_open = timestamp, False
            self._untimed.clear()
        return self._time if record.type == "summary" else timestamp

    def finished(self, most: int) -> Iterator[EventItem]:
        """Hand out the events from the front that nothing can be added to any more; beyond `most` waiting ones, the others too."""
        while self._pending and (len(self._pending) > most or not self._pending[0].is_open):
            draft = self._pending.popleft()
            draft.is_open = False
            item = draft.item()
            draft.texts.clear()
            if item is None:
                self.left_out["empty"] += 1
            else:
                yield item

    def _follow(self, record: Record) -> str:
        """The first record of the chain that this one continues: sub-agents that run side by side have chains of their own."""
        chain = self._chains.get(record.parent_uuid or "", record.parent_uuid or record.uuid or "")
        if record.uuid:
            self._chains[record.uuid] = chain
        return chain

    def _begin(self, record: Record, kind: str, key: str, timestamp: datetime | None) -> _Draft:
        session = clean_name(record.session_id or self._session)[:_LONGEST_SESSION]
        draft = _Draft(kind, key, session, timestamp, ("sub-agent",) if record.is_sidechain else ())
        self._pending.append(draft)
        return draft

    def _take_reply(self, record: Record, key: str, chain: str, timestamp: datetime | None) -> None:
        message = record.message or Message()
        for block in message.blocks:
            if block.type == "tool_use" and block.id:
                self._calls[block.id] = texts.call_line(block)
            elif block.type in texts.THINKING and not self._with_thinking:
                self.left_out["thinking"] += 1
        reply_id = message.id or key
        draft = self._replies.get(reply_id)
        if draft is None or not draft.is_open:
            # A line that comes after its reply was handed out becomes an event of its own, under a key that is as stable.
            draft = self._begin(record, "assistant", f"{reply_id}:{key}" if reply_id in self._replies else reply_id, timestamp)
            former = self._replies.get(self._last_reply.get(chain, ""))
            if former is not None:
                former.is_open = False
            draft.is_open = message.id is not None
            self._replies[reply_id], self._last_reply[chain] = draft, reply_id
        draft.texts.append(texts.reply_text(message, self._with_thinking))

    def _take_other(self, record: Record, key: str, timestamp: datetime | None) -> None:
        message = record.message or Message()
        results = [block for block in message.blocks if block.type == "tool_result"]
        prompt = record.summary or "" if record.type == "summary" else texts.prompt_text(message)
        if prompt or not results:
            kind = "summary" if record.type == "summary" or record.is_compact_summary else "agent" if record.is_sidechain else "user"
            draft = self._begin(record, kind, f"summary:{key}" if record.type == "summary" else key, timestamp)
            draft.texts.append(prompt)
            if record.type == "summary" and timestamp is None:
                draft.is_open = True  # until its time is known
                self._untimed.append(draft)
        if results:
            called = [texts.result_text(block, self._calls.pop(block.tool_use_id or "", "tool")) for block in results]
            self._begin(record, "tool", f"{key}:tool" if prompt else key, timestamp).texts += called
