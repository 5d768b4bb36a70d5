"""Why a command cannot go on: the problem to show and the exit code that scripts read.

0 all is well, 1 the server refused or an import had lines that could not be taken, 2 wrong usage, 3 no server is reached, 130 interrupted.
"""

from typing import Final

from service.errors import Problem

REFUSED: Final = 1
USAGE: Final = 2
UNREACHABLE: Final = 3
INTERRUPTED: Final = 130


class Failure(Exception):
    """Ends a command; `main` shows the problem and exits with the code."""

    def __init__(self, problem: Problem, exit_code: int = REFUSED) -> None:
        super().__init__(problem.error)
        self.problem = problem
        self.exit_code = exit_code


def wrong_usage(error: str, hint: str | None = None) -> Failure:
    return Failure(Problem("wrong_usage", 400, error, hint), USAGE)


def unreachable(error: str, hint: str) -> Failure:
    return Failure(Problem("server_unreachable", 503, error, hint), UNREACHABLE)
