"""Reads the outline of a Markdown page.

In: a title and Markdown with `\\n` line ends. Out: its sections, each with its title path, and where its code fences are.
"""

import re
from collections.abc import Sequence
from itertools import takewhile

import msgspec

from service.memory.windows import matches

_STEP = 45
_PATH = 100
"""Characters of one step and of a whole title path: a path is a sign-post, the headings themselves stand in the text."""

_BETWEEN = " > "

_LINE = re.compile(
    r"^ {0,3}(?:(?P<level>#{1,6})(?:[ \t]+(?P<heading>[^\n]*))?|(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})(?P<info>[^\n]*))$", re.MULTILINE
)
_FRONT_MATTER = re.compile(
    r"---[ \t]*\n[\w.-]+[ \t]*:(?:[ \t][^\n]*)?\n"
    r"(?:(?:[\w.-]+[ \t]*:|[ \t#-]|(?=\n))[^\n]*\n)*?(?:---|\.\.\.)[ \t]*(?:\n|\Z)"
)


class Section(msgspec.Struct, frozen=True):
    """From a heading (its line included) to the next one; `start` and `end` are offsets into the text."""

    path: str
    heading: str
    start: int
    end: int


class Outline(msgspec.Struct, frozen=True):
    """A page's sections and the offsets of its code fences, both in reading order."""

    sections: list[Section]
    fences: list[tuple[int, int]]


class _Mark(msgspec.Struct, frozen=True):
    level: int
    heading: str
    start: int


def strip_front_matter(text: str) -> str:
    """The text without the YAML block that opens it; a rule (`---`) above prose is no front matter."""
    found = _FRONT_MATTER.match(text)
    return text[found.end() :] if found else text


def outline(title: str, text: str) -> Outline:
    """Finds sections and fences; what stands before the first heading is a section below the title alone."""
    marks, fences = _scan(text)
    ends = [mark.start for mark in marks[1:]] + [len(text)]
    steps: list[tuple[int, str]] = []
    sections: list[Section] = []
    for mark, end in zip(marks, ends, strict=True):
        if mark.level:
            steps = [step for step in steps if step[0] < mark.level] + [(mark.level, mark.heading)]
        path = join_path([title, *(heading for _, heading in steps)])
        if end > mark.start or len(marks) == 1:
            sections.append(Section(path, mark.heading, mark.start, end))
    return Outline(sections, fences)


def join_path(steps: Sequence[str]) -> str:
    """Joins title and headings to a title path: the title, and of the headings the deepest that fit; none is said twice."""
    title, *headings = [" ".join(step.split())[:_STEP].rstrip() for step in steps]
    path = ""
    for heading in reversed([heading for heading in headings if heading not in ("", title)]):
        longer = heading + _BETWEEN + path if path else heading
        if len(title) + len(_BETWEEN) + len(longer) > _PATH:
            break
        path = longer
    return _BETWEEN.join(filter(None, (title, path)))


def shared_path(first: str, second: str) -> str:
    """The title path of two texts put together: the deeper one when it lies below the other, else what both have in common."""
    steps, others = first.split(_BETWEEN), second.split(_BETWEEN)
    common = [step for step, _ in takewhile(lambda pair: pair[0] == pair[1], zip(steps, others, strict=False))]
    return second if len(common) == len(steps) else _BETWEEN.join(common)


def _scan(text: str) -> tuple[list[_Mark], list[tuple[int, int]]]:
    marks = [_Mark(0, "", 0)]
    fences: list[tuple[int, int]] = []
    opened: tuple[int, str] | None = None
    for found in matches(_LINE, text):
        fence = found["fence"]
        if opened is not None:
            if fence and fence.startswith(opened[1]) and not found["info"].strip():
                fences.append((opened[0], found.end()))
                opened = None
        elif fence:
            opened = (found.start(), fence)
        else:
            marks.append(_Mark(len(found["level"]), _heading(found["heading"] or ""), found.start()))
    if opened is not None:
        fences.append((opened[0], len(text)))
    return marks, fences


def _heading(raw: str) -> str:
    """A heading without the `#` that may close it."""
    text = raw.strip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else text
