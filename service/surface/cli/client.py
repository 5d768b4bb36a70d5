"""Speaks REST to a server.

In: a `Connection` and what to ask. Out: the answer's JSON; a refusal, or no server, is a `Failure`.
"""

import email.utils
import time
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from urllib.parse import quote, urlsplit

import httpx2
import msgspec
import stamina
import stamina.instrumentation

from service.errors import Problem
from service.surface.cli.commands import with_commands
from service.surface.cli.connection import Connection, require_key
from service.surface.cli.failure import Failure, unreachable, wrong_usage

T = TypeVar("T")
_TIMEOUT: Final = httpx2.Timeout(120, connect=5)
_ATTEMPTS: Final = 8
_PATIENCE_S: Final = 300
_LONGEST_WAIT_S: Final = 120.0
_CHECK: Final = "Check --url and MUNIMENT_URL; it is the address without /api or /mcp."
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})

# Its own report of each retry would be written to stdout, which carries results only.
stamina.instrumentation.set_on_retry_hooks([])


class _Busy(Failure):
    """The server asks to try again later; `after` is in seconds, None when it does not say when."""

    def __init__(self, problem: Problem, after: float | None) -> None:
        super().__init__(problem)
        self.after = after


class _Lost(Failure):
    """The connection broke after it had worked, so that trying again makes sense."""


class Scope(msgspec.Struct, frozen=True):
    """The workspace and project that a command works on."""

    workspace: str
    project: str

    @property
    def path(self) -> str:
        named, slash, slug = self.project.partition("/")  # as answers name a project of another workspace
        workspace, project = (named, slug) if slash else (self.workspace, self.project)
        return f"/workspaces/{quote(workspace, safe='')}/projects/{quote(project, safe='')}"


class Readable(msgspec.Struct, frozen=True):
    """Projects of a workspace that a search covers."""

    workspace: str
    projects: list[str]
    resolved_by: str = ""


class Client:
    """One server. `patient`: wait and try again when it is busy or away for a moment; everything sent must then be safe to send twice."""

    def __init__(self, connection: Connection, *, patient: bool = False) -> None:
        self.connection = connection
        self._attempts = _ATTEMPTS if patient else 1
        self._answered = False
        local = urlsplit(connection.url).hostname in _LOOPBACK  # a proxy cannot reach the user's own machine
        headers = {"Authorization": f"Bearer {require_key(connection)}", "Content-Type": "application/json"}
        self._http = httpx2.Client(base_url=f"{connection.url}/api/v1", headers=headers, timeout=_TIMEOUT, trust_env=not local)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._http.close()

    def search(self, body: Mapping[str, Any], projects: Sequence[str] = ()) -> bytes:
        """`projects`: these together, instead of the one that the connection names."""
        if projects:
            scopes = [{"project": project, "workspace": self.connection.workspace} for project in projects]
            return self._call("POST", "/search", {**body, "scopes": scopes})
        return self._call("POST", "/search", self._scoped(body))

    def graph(self, query: str, params: msgspec.Raw) -> bytes:
        return self._call("POST", "/graph", self._scoped({"query": query, "params": params}))

    def sql(self, query: str, params: msgspec.Raw) -> bytes:
        return self._call("POST", "/sql", self._scoped({"sql": query, "params": params}))

    def status(self, scope: Scope) -> bytes:
        return self._call("GET", f"{scope.path}/status")

    def save_events(self, scope: Scope, events: list[Any]) -> bytes:
        return self._call("POST", f"{scope.path}/events:batch", {"events": events})

    def write_page(self, scope: Scope, path: str, page: Mapping[str, Any]) -> bytes:
        segments = "/".join(quote(segment, safe="") for segment in path.split("/"))
        return self._call("PUT", f"{scope.path}/pages/{segments}", page)

    def find_entities(self, scope: Scope, names: list[str]) -> dict[tuple[str, str], str]:
        """The ids of entities by their names and types."""
        asked = {"sql": "SELECT name, type, public_id FROM entities WHERE name = ANY($1)", "params": [names]}
        answer = self._call("POST", "/sql", {**asked, "workspace": scope.workspace, "project": scope.project})
        return {(name, kind): number for name, kind, number in read_answer(answer, _Entities).rows}

    def link(self, scope: Scope, link: Mapping[str, Any]) -> bytes:
        return self._call("POST", f"{scope.path}/links", link)

    def make_project(self, workspace: str, slug: str) -> bytes:
        """Makes the project, or finds the one that stands."""
        return self._call("POST", f"/workspaces/{quote(workspace, safe='')}/projects", {"slug": slug})

    def key_names(self, workspace: str) -> dict[str, str]:
        """The names of the workspace's keys by their ids; only admins may ask."""
        names: dict[str, str] = {}
        cursor = ""
        while True:
            path = f"/workspaces/{quote(workspace, safe='')}/keys?limit=200&cursor={quote(cursor, safe='')}"
            found = read_answer(self._call("GET", path), _Keys)
            names |= {key.id: key.name for key in found.keys}
            if not found.next_cursor:
                return names
            cursor = found.next_cursor

    def import_lines(self, scope: Scope, lines: list[Any]) -> bytes:
        return self._call("POST", f"{scope.path}/import", {"lines": lines})

    def export(self, scope: Scope) -> Iterator[bytes]:
        """The export's bytes as they come."""
        try:
            with self._http.stream("GET", f"{scope.path}/export") as response:
                if not response.is_success:
                    response.read()
                    raise self._refusal(response)
                yield from response.iter_bytes()
        except httpx2.HTTPError as error:
            raise self._away(error) from error

    def scope(self) -> Scope:
        """The project that the connection names, else the one that the key defaults to, or the only one that it can read."""
        workspace, project = self.connection.workspace, self.connection.project
        if workspace and project:
            return Scope(workspace, project)
        found = self.readable()
        if len(found.projects) == 1:
            return Scope(found.workspace, found.projects[0])
        names = ", ".join(found.projects[:20]) or "none yet"
        raise wrong_usage("No project is named and the key has no default project.", f"Give --project; this key can read: {names}.")

    def readable(self) -> Readable:
        """The project that the connection names, else the key's default, else all that the key can read."""
        return read_answer(self.search({"query": "", "limit": 1}), _Scoped).scope

    def _scoped(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return {**body, "workspace": self.connection.workspace, "project": self.connection.project}

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> bytes:
        content = None if body is None else msgspec.json.encode({name: value for name, value in body.items() if value is not None})
        for attempt in stamina.retry_context(on=_wait, attempts=self._attempts, timeout=_PATIENCE_S):
            with attempt:
                return self._once(method, path, content)
        raise AssertionError("a retry ends with an answer or an error")

    def _once(self, method: str, path: str, content: bytes | None) -> bytes:
        try:
            response = self._http.request(method, path, content=content)
        except httpx2.HTTPError as error:
            failure = self._away(error)
            raise _Lost(failure.problem, failure.exit_code) if self._answered else failure from error
        if response.is_success:
            self._answered = True
            return response.content
        raise self._refusal(response)

    def _away(self, error: httpx2.HTTPError) -> Failure:
        return unreachable(
            f"No server answers at {self.connection.url}: {error or type(error).__name__}.",
            "Start one with `muniment serve`, or check --url and MUNIMENT_URL.",
        )

    def _near_project(self) -> str | None:
        """The project that may be meant, where the key can read none of the connection's name."""
        wanted = self.connection.project
        try:
            response = self._http.get("/projects") if wanted else None
        except httpx2.HTTPError:  # a hint less
            return None
        if wanted is None or response is None or not response.is_success:
            return None
        names = [each.project for each in read_answer(response.content, _Projects).projects]
        return None if wanted in names else next(iter(get_close_matches(wanted, names, n=1)), None)

    def _refusal(self, response: httpx2.Response) -> Failure:
        """What an answer that is no success says."""
        problem = _problem(response)
        if problem is None:
            return unreachable(f"{self.connection.url} answers {response.status_code}, and not as a Muniment server does.", _CHECK)
        self._answered = True
        if problem.status == HTTPStatus.NOT_FOUND and (near := self._near_project()):
            problem = msgspec.structs.replace(problem, hint=f"Did you mean the project {near!r}? {problem.hint or ''}".rstrip())
        if response.status_code in (429, 503):
            return _Busy(problem, _retry_after(response.headers.get("Retry-After")))
        return Failure(problem)


def read_answer(answer: bytes, kind: type[T]) -> T:
    """An answer as a value; a `Failure` when it is not what was asked for."""
    try:
        return msgspec.json.decode(answer, type=kind)
    except msgspec.DecodeError as error:
        raise unreachable(f"The answer is not one of a Muniment server: {error}.", _CHECK) from error


class _Scoped(msgspec.Struct, frozen=True):
    scope: Readable


class _Key(msgspec.Struct, frozen=True):
    id: str
    name: str


class _Keys(msgspec.Struct, frozen=True):
    keys: list[_Key]
    next_cursor: str | None = None


class _Project(msgspec.Struct, frozen=True):
    project: str


class _Projects(msgspec.Struct, frozen=True):
    projects: list[_Project]


class _Entities(msgspec.Struct, frozen=True):
    rows: list[tuple[str, str, str]]


def _wait(error: Exception) -> bool | float:
    """Whether to try again, and after how many seconds when the server says so."""
    if isinstance(error, _Busy):
        return True if error.after is None else min(error.after, _LONGEST_WAIT_S)
    return isinstance(error, _Lost)


def _retry_after(text: str | None) -> float | None:
    """Seconds from now; the header holds seconds or a date."""
    if text is None:
        return None
    if text.strip().isdecimal():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return None


def _problem(response: httpx2.Response) -> Problem | None:
    """The refusal that the body holds; None when it is none of this product's."""
    try:
        found = msgspec.json.decode(response.content, type=dict[str, Any])
    except msgspec.DecodeError:
        return None
    text = next((found[name] for name in ("error", "detail", "title") if isinstance(found.get(name), str)), None)
    code = found.get("code")
    if text is None or not isinstance(code, str):
        return None
    hint = found.get("hint")
    shown = {"code", "status", "error", "hint", "type", "title", "detail"}
    members = {name: value for name, value in found.items() if name not in shown}
    return Problem(code, response.status_code, text, with_commands(hint) if isinstance(hint, str) else None, members)
