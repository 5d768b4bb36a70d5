"""What all plain HTTP endpoints share: methods, and errors as problem details.

In: a function from a request to a `Reply`. Out: an ASGI app; nothing that goes wrong in the function leaves it.
"""

from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Any, Final, TypeAlias

import structlog

from service.errors import InternalError, MunimentError
from service.surface.incoming import ClientLeft
from service.surface.reply import Receive, Reply, Scope, Send
from service.surface.rest.problems import problem_reply

Answer: TypeAlias = Callable[[Scope, Receive], Awaitable[Reply]]

_LOG: Final = structlog.stdlib.get_logger("muniment.http")


class MethodNotAllowed(MunimentError):
    """The address does not take this method."""

    code = "method_not_allowed"
    status = HTTPStatus.METHOD_NOT_ALLOWED.value


def endpoint(answer: Answer, methods: Sequence[str], *, surface: str = "rest") -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """An ASGI app that answers these methods, OPTIONS with their list, and every other with 405."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            reply = await _ask(answer, methods, scope, receive)
        except ClientLeft:
            return
        except MunimentError as error:
            reply = problem_reply(error, surface=surface)
        except Exception:  # noqa: BLE001  (the last one that can answer)
            _LOG.exception("unexpected error", path=scope["path"], method=scope["method"])
            reply = problem_reply(InternalError(), surface=surface)
        await reply.send(send)

    return app


async def _ask(answer: Answer, methods: Sequence[str], scope: Scope, receive: Any) -> Reply:
    method = scope["method"]
    if method in methods:
        return await answer(scope, receive)
    if method == "OPTIONS":
        return Reply(204, headers={"allow": ", ".join(methods)})
    raise MethodNotAllowed(f"This address does not take {method[:20]}.", allowed_methods=list(methods))
