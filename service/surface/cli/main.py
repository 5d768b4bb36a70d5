"""The command `muniment`: in come the words of a command line, out come text or JSON and an exit code (`failure.py` lists them).

Commands are imported when they are named, so that asking a server needs nothing of what a server is made of.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, NoReturn

import rich_click as click

from service.errors import MunimentError, Problem
from service.surface.cli.failure import INTERRUPTED, REFUSED, USAGE, Failure

_COMMANDS: Final = {
    "serve": "service.surface.cli.server:serve",
    "import": "service.surface.cli.imports:import_memory",
    "export": "service.surface.cli.exports:export_memory",
    "query": "service.surface.cli.search:query",
    "graph": "service.surface.cli.search:graph",
    "sql": "service.surface.cli.search:sql",
    "status": "service.surface.cli.search:status",
    "connect": "service.surface.cli.connect:connect",
    "worker": "service.surface.cli.server:worker",
    "embed": "service.surface.cli.embed:embed",
    "migrate": "service.surface.cli.server:migrate_command",
    "backup": "service.surface.cli.backup:backup",
    "restore": "service.surface.cli.backup:restore",
    "workspace": "service.surface.cli.tenants:workspace",
    "project": "service.surface.cli.tenants:project",
    "key": "service.surface.cli.keys:key",
}


class Commands(click.RichGroup):
    """The commands by name; each problem is shown in one way and ends in the exit code that belongs to it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *_COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, _, name = _COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> NoReturn:
        """Runs a command and exits, whatever `standalone_mode` says: problems are shown here and not by click."""
        words = [*(sys.argv[1:] if args is None else args)]
        code: object = 0
        try:
            code = super().main(
                words, prog_name or "muniment", complete_var, standalone_mode=False, windows_expand_args=windows_expand_args, **extra
            )
            sys.stdout.flush()
        except click.Abort:
            code = INTERRUPTED
        except (click.ClickException, Failure, MunimentError) as error:
            code = _show(error, as_json="--json" in words)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on: leave quietly
        sys.exit(code if isinstance(code, int) else 0)


def _show(error: click.ClickException | Failure | MunimentError, *, as_json: bool) -> int:
    from service.surface.cli.output import print_problem

    problem, code = _problem(error)
    print_problem(problem, as_json=as_json)
    return code


def _problem(error: click.ClickException | Failure | MunimentError) -> tuple[Problem, int]:
    if isinstance(error, Failure):
        return error.problem, error.exit_code
    if isinstance(error, MunimentError):
        return error.problem(), REFUSED
    context = error.ctx if isinstance(error, click.UsageError) else None
    hint = f"`{context.command_path} --help` says how." if context else None
    return Problem("wrong_usage", 400, error.format_message(), hint), USAGE


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="muniment", message="muniment %(version)s")
def cli() -> None:
    """Muniment: the shared memory of teams of people and AI agents."""


def main() -> None:
    """The entry point."""
    cli.main()


if __name__ == "__main__":
    main()
