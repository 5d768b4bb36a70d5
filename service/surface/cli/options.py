"""The options that every command takes, put on it by one decorator, and the values that options hold."""

import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final

import msgspec
import rich_click as click

from service.surface.cli.connection import Options

_MINUS_WORD: Final = re.compile(r"-(?!-|h\Z)", re.DOTALL)
_WORD_MARK: Final = "\0"  # no word of a command line can hold it


def common(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --url, --key, --workspace, --project, --data and --json, and gives them to the command as its first argument."""
    return _shared(command, one_project, "The project (MUNIMENT_PROJECT; else the key's default).")


def common_to_several(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a command that works on several projects."""
    said = "The project (MUNIMENT_PROJECT; else the key's default); may be given several times."
    return _shared(command, several_projects, said)


def one_project(context: click.Context, option: click.Parameter, slugs: tuple[str, ...]) -> tuple[str, ...]:
    """At most one: of several the others would be passed over in silence."""
    if len(slugs) > 1:
        raise click.BadParameter(f"one project, not {len(slugs)}.", context, option)
    return slugs


def several_projects(context: click.Context, option: click.Parameter, slugs: tuple[str, ...]) -> tuple[str, ...]:
    """Each once."""
    del context, option
    return tuple(dict.fromkeys(slugs))


def _shared(command: Callable[..., Any], projects: Callable[..., tuple[str, ...]], said: str) -> Callable[..., Any]:
    @click.option("--url", metavar="URL", help="The server's address (MUNIMENT_URL; else the server that `muniment serve` started).")
    @click.option("--key", metavar="KEY", help="The API key (MUNIMENT_KEY; else that server's).")
    @click.option("--workspace", metavar="SLUG", help="The workspace (MUNIMENT_WORKSPACE; else the key's own).")
    @click.option("--project", multiple=True, callback=projects, metavar="SLUG", help=said)
    @click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="The folder of `muniment serve` (MUNIMENT_DATA).")
    @click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
    @wraps(command)
    def called(
        *,
        url: str | None,
        key: str | None,
        workspace: str | None,
        project: tuple[str, ...],
        data: Path | None,
        as_json: bool,
        **rest: Any,
    ) -> Any:
        one = project[0] if len(project) == 1 else None
        several = project if len(project) > 1 else ()
        options = Options(url=url, key=key, workspace=workspace, project=one, projects=several, data=data, as_json=as_json)
        return command(options, **rest)

    return called


class TextCommand(click.RichCommand):
    """A command whose text may hold words that begin with a minus, as `-word` does in a search; its only short option is -h."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        valued = {name for each in self.params if isinstance(each, click.Option) and not each.is_flag for name in each.opts}
        shown = [
            _WORD_MARK + word if _MINUS_WORD.match(word) and before not in valued else word
            for before, word in zip(["", *args], args, strict=False)
        ]
        return super().parse_args(ctx, shown)


def joined_text(context: click.Context, option: click.Parameter, words: tuple[str, ...]) -> str:
    """The words of a `TextCommand` as one text."""
    del context, option
    return " ".join(word.removeprefix(_WORD_MARK) for word in words)


def json_object(context: click.Context, option: click.Parameter, text: str | None) -> msgspec.Raw:
    """A JSON object, handed on as it was written, so that no number loses a digit."""
    try:
        msgspec.json.decode(text or "{}", type=dict[str, msgspec.Raw])
    except msgspec.DecodeError as error:
        raise click.BadParameter(f"not a JSON object: {error}.", context, option) from error
    return msgspec.Raw((text or "{}").encode())


def json_list(context: click.Context, option: click.Parameter, text: str | None) -> msgspec.Raw:
    """A JSON list, handed on as it was written."""
    try:
        msgspec.json.decode(text or "[]", type=list[msgspec.Raw])
    except msgspec.DecodeError as error:
        raise click.BadParameter(f"not a JSON list: {error}.", context, option) from error
    return msgspec.Raw((text or "[]").encode())
