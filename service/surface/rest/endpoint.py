"""What all plain HTTP endpoints share: errors as problem details.

In: a function from a request to a `Reply`. Out: one that always gives a `Reply`, and Litestar handlers of it.
"""

from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Final, Literal, TypeAlias

import structlog
from litestar.handlers import HTTPRouteHandler, route
from litestar.types import ASGIApp

from service.errors import InternalError, MunimentError
from service.operations.operation import Method
from service.surface.incoming import ClientLeft
from service.surface.reply import Receive, Reply, Scope, Send
from service.surface.rest.problems import problem_reply
from service.surface.rest.streamed import send_pieces

Answer: TypeAlias = Callable[[Scope, Receive], Awaitable[Reply]]

_LOG: Final = structlog.stdlib.get_logger("muniment.http")


class MethodNotAllowed(MunimentError):
    """The address does not take this method."""

    code = "method_not_allowed"
    status = HTTPStatus.METHOD_NOT_ALLOWED.value

    def __init__(self, method: str, allowed: Sequence[str]) -> None:
        super().__init__(f"This address does not take {method[:20]}.", allowed_methods=list(allowed))


async def answer_surely(answer: Answer, scope: Scope, receive: Receive) -> Reply:
    """The reply, or the problem that came instead; nothing that goes wrong leaves here."""
    try:
        return await answer(scope, receive)
    except ClientLeft:
        return Reply(HTTPStatus.NO_CONTENT.value)
    except MunimentError as error:
        return problem_reply(error)
    except Exception:  # noqa: BLE001  (the last one that can answer)
        _LOG.exception("unexpected error", path=scope["path"], method=scope["method"])
        return problem_reply(InternalError())


def serve(path: str, answer: Answer, method: Method | Literal["OPTIONS"] = "GET") -> HTTPRouteHandler:
    """A Litestar handler for one address and method; Litestar refuses methods that an address has no handler for.

    It hands over an app: what Litestar would make of a request and of an answer is not needed.
    """

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        reply = await answer_surely(answer, scope, receive)
        if reply.rest is not None:
            await send_pieces(reply, reply.rest, receive, send)
        else:
            await reply.send(send)

    @route(path, http_method=[method], status_code=200, sync_to_thread=False)
    def handle() -> ASGIApp:
        return respond  # type: ignore[return-value]

    return handle
