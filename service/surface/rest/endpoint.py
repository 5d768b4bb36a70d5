"""What all plain HTTP endpoints share: errors as problem details.

In: a function from a request to a `Reply`. Out: one that always gives a `Reply`, and Litestar handlers of it.
"""

from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Any, Final, TypeAlias

import structlog
from litestar import Request
from litestar.handlers import HTTPRouteHandler, route
from litestar.response.base import ASGIResponse

from service.errors import InternalError, MunimentError
from service.operations.operation import Method
from service.surface.incoming import ClientLeft
from service.surface.reply import Receive, Reply, Scope
from service.surface.rest.problems import problem_reply
from service.surface.rest.streamed import StreamedResponse

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


def serve(path: str, answer: Answer, method: Method = "GET") -> HTTPRouteHandler:
    """A Litestar handler for one address and method; Litestar answers OPTIONS and refuses the other methods."""

    @route(path, http_method=[method], status_code=200)
    async def handle(request: Request[Any, Any, Any]) -> ASGIResponse:
        reply = await answer_surely(answer, request.scope, request.receive)  # type: ignore[arg-type]
        if reply.rest is not None:
            return StreamedResponse(reply, reply.rest)
        return ASGIResponse(body=reply.body, status_code=reply.status, headers=dict(reply.headers))

    return handle
