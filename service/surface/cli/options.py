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

    @click.option("--url", metavar="URL", help="The server's address (MUNIMENT_URL; else the server that `muniment serve` started).")
    @click.option("--key", metavar="KEY", help="The API key (MUNIMENT_KEY; else that server's).")
    @click.option("--workspace", metavar="SLUG", help="The workspace (MUNIMENT_WORKSPACE; else the key's own).")
    @click.option("--project", metavar="SLUG", help="The project (MUNIMENT_PROJECT; else the key's default).")
    @click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="The folder of `muniment serve` (MUNIMENT_DATA).")
    @click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
    @wraps(command)
    def called(
        *, url: str | None, key: str | None, workspace: str | None, project: str | None, data: Path | None, as_json: bool, **rest: Any
    ) -> Any:
        options = Options(url=url, key=key, workspace=workspace, project=project, data=data, as_json=as_json)
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
