"""The options that every command takes, put on it by one decorator, and the values that options hold."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import msgspec
import rich_click as click

from service.surface.cli.connection import Options


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
