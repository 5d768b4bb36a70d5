"""What an operation is: one thing that the product does, described once for all surfaces.

In: nothing. Out: `Operation` with its `Route`s and its `Tool`, and `Services`, what operations work with.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import msgspec

from service.access.changes import Changes
from service.access.keys import Caller, Scope
from service.access.scope import Scopes
from service.db.pools import Database
from service.embed.query import OwnEmbedders, QueryEmbedder
from service.memory.redact import STANDARD, Redactor
from service.search.rerank import Reranker
from service.settings import Settings

Method: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


@dataclass(frozen=True)
class Services:
    """What every operation works with; made once by app.py."""

    database: Database
    scopes: Scopes
    settings: Settings
    embedder: QueryEmbedder | None
    redactor: Redactor = STANDARD
    reranker: Reranker | None = None
    pepper: str = field(default="", repr=False)  # what new keys are hashed with
    changes: Changes = field(default_factory=Changes)
    own_embedders: OwnEmbedders | None = None  # of workspaces with settings of their own


class Route(msgspec.Struct, frozen=True):
    """How an operation shows on REST.

    `path` is below /api/v1; `{workspace}`, `{project}` and other names in braces fill fields of the request; `{path*}` takes the rest
    of the address. GET and DELETE read the other fields from the query string, the others from a JSON body.
    `status_of` gives the status of a successful answer.
    """

    method: Method
    path: str
    status_of: Callable[[Any], int] = lambda answer: 200


class Tool(msgspec.Struct, frozen=True):
    """How an operation shows on MCP, under its own name."""

    title: str
    description: str
    idempotent: bool = True
    destructive: bool = False


class Operation(msgspec.Struct, frozen=True):
    """One thing that the product does.

    `request` is a Struct whose fields are the arguments, under the same names on every surface; `aliases` maps further names to them.
    `run(services, caller, request)` gives an `answer` or raises a `MunimentError`. Operations of scope `read` change nothing;
    only those that are `audited` get a row in the audit, as every other does.
    Those of scope `admin` change what replicas remember, unless all their routes are GET.
    `lines(services, caller, request)` gives an answer's pieces over HTTP, for one that is too large to be held: JSON Lines, in the
    place of `answer`, which is then what a caller is told beforehand.
    `lists` names the answer's lists that end earlier when it grows too large; `less` says how to ask for less.
    """

    name: str
    scope: Scope
    summary: str
    request: type[msgspec.Struct]
    answer: type[msgspec.Struct]
    run: Callable[[Services, Caller, Any], Awaitable[Any]]
    routes: tuple[Route, ...] = ()
    tool: Tool | None = None
    aliases: Mapping[str, str] = {}
    audited: bool = False
    lines: Callable[[Services, Caller, Any], AsyncGenerator[bytes]] | None = None
    lists: tuple[str, ...] = ()
    less: str = "ask for less."
