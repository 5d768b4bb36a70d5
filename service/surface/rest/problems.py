"""Errors as HTTP answers: problem details (RFC 9457).

In: a `MunimentError`. Out: status, headers and body of `application/problem+json`; a member of ours never replaces a standard one.
"""

from http import HTTPStatus
from typing import Any

import msgspec

from service.errors import InternalError, MunimentError
from service.observe.metrics import count_refusal
from service.surface.reply import Reply, Send


def problem_reply(error: MunimentError, *, surface: str = "rest") -> Reply:
    """The answer that tells of an error; counts it."""
    count_refusal(surface, error.code)
    problem = error.problem()
    body: dict[str, Any] = {
        **problem.members,
        "type": f"urn:muniment:problem:{problem.code}",
        "title": title_of(type(error)),
        "status": problem.status,
        "detail": problem.error,
        "code": problem.code,
        "error": problem.error,
    }
    if problem.hint is not None:
        body["hint"] = problem.hint
    headers = {"content-type": "application/problem+json"}
    if problem.status in (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS):
        headers["retry-after"] = str(problem.members.get("retry_after", 2))
    if isinstance(allowed := problem.members.get("allowed_methods"), list):
        headers["allow"] = ", ".join(allowed)
    return Reply(problem.status, msgspec.json.encode(body), headers)


async def send_problem(error: MunimentError, send: Send, *, surface: str = "rest") -> None:
    """Sends the answer that tells of an error."""
    await problem_reply(error, surface=surface).send(send)


def title_of(kind: type[MunimentError]) -> str:
    """The meaning of an error's code, from its docstring."""
    return (kind.__doc__ or InternalError.__doc__ or "").strip().splitlines()[0]
