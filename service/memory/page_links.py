"""Links of a Markdown page to other pages: in comes a body, out come the links as written and, for each, the paths that it can mean.

Read by a scanner over paragraphs and not by a full Markdown parser: linear, and quick on bodies of several megabytes. Text indented by four
spaces is read as prose, since in lists it is; fenced code and code spans are not read.
"""

import posixpath
import re
from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Literal
from urllib.parse import unquote

import msgspec

from service.memory.fences import stretches
from service.memory.text import clean_name
from service.memory.windows import matches

_LONGEST_TEXT = 500
_DEEPEST_BRACKETS = 100
_BLANK_LINES = re.compile(r"\n(?:[ \t\r]*+\n)++")
_TICKS = re.compile(r"(?<!`)`++")
# Brackets are no part of a bare destination here, which keeps every attempt from running past the next link.
_DESTINATION = (
    r"(?:<(?P<wrapped>[^<>\n]{0,1000})>|(?P<bare>[^\s()<>\[\]]{0,1000}+(?:\([^\s()<>\[\]]{0,200}\)[^\s()<>\[\]]{0,200}+){0,4}+))"
    r"""(?:\s{1,20}+(?:"[^"]{0,500}"|'[^']{0,500}'|\([^()]{0,500}\)))?"""
)
_TOKEN = re.compile(
    r"(?P<escape>\\[^\n])"
    r"|(?P<wiki>!?\[\[(?P<target>[^\[\]|\n]{1,400}?)(?:\\?\|(?P<label>[^\[\]\n]{0,400}))?\]\])"
    r"|(?P<open>!?\[)"
    rf"|(?P<link>\]\(\s{{0,20}}+{_DESTINATION}\s{{0,20}}+\))"
    r"|(?P<close>\])"
)
_DEFINITION = re.compile(rf"^ {{0,3}}\[(?P<label>[^\[\]\n]{{1,400}})\]:[ \t]{{1,20}}{_DESTINATION}[ \t]{{0,20}}+\r?$", re.MULTILINE)
_EXTERNAL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:|//")
_MEDIA = re.compile(r"\.(?:avif|bmp|gif|jpe?g|m4a|mov|mp3|mp4|ogg|pdf|png|svg|wav|webm|webp)\Z", re.IGNORECASE)
_PAGE_ENDING = re.compile(r"\.(?:md|mdx|markdown)\Z", re.IGNORECASE)


class PageLink(msgspec.Struct, frozen=True):
    """One link: where it points, as written (heading included); the text shown for it, None when it shows its target; and its notation."""

    target: str
    text: str | None
    kind: Literal["wiki", "markdown"]


class LinkTarget(msgspec.Struct, frozen=True):
    """The page paths that a link can mean, the likeliest first, and the bare name under which a wiki link may find a page in any folder."""

    paths: tuple[str, ...]
    name: str


def links_in(body: str) -> list[PageLink]:
    """List the links to other pages in order of appearance, each notation and target once.

    Wiki links (`[[target|text]]`, pages embedded by `![[target]]` too), Markdown links and reference definitions; no images, no addresses
    with a scheme, no links within the page, nothing inside code.
    """
    found: dict[tuple[str, str], PageLink] = {}
    for part in stretches(body):
        if part.is_code:
            continue
        for paragraph in _paragraphs(body[part.start : part.end]):
            for link in _links_of(_without_code(paragraph)):
                found.setdefault((link.kind, link.target), link)
    return list(found.values())


def resolve_path(from_path: str, link: PageLink) -> LinkTarget:
    """Say which page paths `link`, written on the page `from_path`, can mean; a path that would leave the root is none of them."""
    written = link.target.partition("#")[0].strip()
    if link.kind == "markdown":
        written = unquote(written)
    written = clean_name(written)
    folder = posixpath.dirname(from_path)
    bases = [folder] if link.kind == "markdown" or written.startswith(("./", "../")) else ["", folder]
    if written.startswith("/"):
        written, bases = written.lstrip("/"), [""]
    paths: dict[str, None] = {}
    for base in bases if written else ():
        path = posixpath.normpath(posixpath.join(base, written))
        if path not in {".", ".."} and not path.startswith("../"):
            paths[path] = None
            if not _PAGE_ENDING.search(path):
                paths[path + ".md"] = None
    return LinkTarget(tuple(paths), _PAGE_ENDING.sub("", posixpath.basename(written)))


def _paragraphs(prose: str) -> Iterator[str]:
    """The stretches between blank lines that can hold a link at all."""
    start = 0
    for end, after in (*((blank.start(), blank.end()) for blank in _BLANK_LINES.finditer(prose)), (len(prose), len(prose))):
        paragraph = prose[start:end]
        if "](" in paragraph or "[[" in paragraph or "]:" in paragraph:
            yield paragraph
        start = after


def _without_code(paragraph: str) -> str:
    """Blank the code spans: a run of back-ticks opens one when a run of the same length follows."""
    if "`" not in paragraph:
        return paragraph
    runs = [(run.start() + _is_escaped(paragraph, run.start()), run.end()) for run in matches(_TICKS, paragraph)]
    later: defaultdict[int, deque[tuple[int, int]]] = defaultdict(deque)
    for start, end in runs:
        later[end - start].append((start, end))
    kept: list[str] = []
    position = 0
    for start, end in runs:
        same = later[end - start]
        while same and same[0][0] <= max(start, position - 1):
            same.popleft()
        if start < position or end == start or not same:
            continue
        kept += (paragraph[position:start], " ")
        position = same[0][1]
    return "".join((*kept, paragraph[position:]))


def _is_escaped(text: str, position: int) -> bool:
    slashes = 0
    while position > slashes and text[position - 1 - slashes] == "\\":
        slashes += 1
    return slashes % 2 == 1


def _links_of(paragraph: str) -> Iterator[PageLink]:
    """The links of one paragraph; brackets are matched with a stack, and within a link there is no other link."""
    openers: deque[tuple[int, bool]] = deque(maxlen=_DEEPEST_BRACKETS)
    for token in matches(_TOKEN, paragraph):
        if token["wiki"]:
            target = token["target"].strip()
            if _is_page(target) and not (token[0][0] == "!" and _MEDIA.search(target)):
                yield PageLink(target, token["label"], "wiki")
        elif token["open"]:
            openers.append((token.end(), token[0][0] == "!"))
        elif openers and (token["link"] or token["close"]):
            start, is_image = openers.pop()
            target = token["bare"] if token["wrapped"] is None else token["wrapped"]
            if token["link"] and not is_image and _is_page(target):
                yield PageLink(target, paragraph[start : min(token.start(), start + _LONGEST_TEXT)].strip(), "markdown")
                openers = deque((opener for opener in openers if opener[1]), maxlen=_DEEPEST_BRACKETS)
    for definition in matches(_DEFINITION, paragraph):
        target = definition["bare"] if definition["wrapped"] is None else definition["wrapped"]
        if _is_page(target) and not definition["label"].startswith("^"):
            yield PageLink(target, definition["label"], "markdown")


def _is_page(target: str) -> bool:
    return bool(target) and target[0] != "#" and _EXTERNAL.match(target) is None
