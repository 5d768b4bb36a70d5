"""`connect`: prints the lines that add a server to the programs in which agents run."""

import os
import shlex
from typing import Any, Final

import msgspec
import rich_click as click

from service.surface.cli.client import Client
from service.surface.cli.connection import Connection, Options, find_connection, require_key
from service.surface.cli.failure import wrong_usage
from service.surface.cli.options import common
from service.surface.cli.output import print_json, stdout

_NAME: Final = "muniment"
_PROGRAMS: Final = ("claude", "cursor", "codex")


def claude_command(connection: Connection) -> str:
    """The command that adds the server to Claude Code."""
    header = f"Authorization: Bearer {require_key(connection)}"
    return f'claude mcp add --transport http {_NAME} {shlex.quote(connection.mcp_url)} --header "{header}"'


def cursor_file(connection: Connection) -> dict[str, Any]:
    """What Cursor's mcp.json is to hold."""
    headers = {"Authorization": f"Bearer {require_key(connection)}"}
    return {"mcpServers": {_NAME: {"url": connection.mcp_url, "headers": headers}}}


def codex_file(connection: Connection) -> str:
    """What Codex's config.toml is to hold; a JSON string is a TOML string."""
    url, header = (msgspec.json.encode(text).decode() for text in (connection.mcp_url, f"Bearer {require_key(connection)}"))
    return f"[mcp_servers.{_NAME}]\nurl = {url}\nhttp_headers = {{ Authorization = {header} }}"


def connect_lines(connection: Connection, programs: tuple[str, ...] = _PROGRAMS) -> str:
    """The lines for each program, with a line before each that says where they belong."""
    cursor = msgspec.json.format(msgspec.json.encode(cursor_file(connection))).decode()
    parts = {
        "claude": f"# Claude Code: run\n{claude_command(connection)}",
        "cursor": f"# Cursor: ~/.cursor/mcp.json, or .cursor/mcp.json in a project\n{cursor}",
        "codex": f"# Codex: ~/.codex/config.toml\n{codex_file(connection)}",
    }
    return "\n\n".join(parts[program] for program in programs)


def check_project(connection: Connection) -> None:
    """Refuses a project that an agent with this key would not work in by itself."""
    with Client(connection) as client:
        named = client.readable()  # refused when the key cannot read it
    with Client(msgspec.structs.replace(connection, workspace=None, project=None)) as client:
        own = client.readable()
    wanted = connection.project
    if wanted is None or (own.resolved_by == "key_default" and own.projects == [wanted]):
        return
    told = f"The key's own project is {own.projects[0]!r}" if own.resolved_by == "key_default" else "The key has no project of its own"
    raise wrong_usage(
        f"{told}, and an agent with this key would not work in {wanted!r} by itself.",
        f"Make a key for it, and give that one with --key: `muniment key create --workspace {named.workspace} --default-project {wanted}"
        " --scope read --scope write`.",
    )


@click.command()
@click.argument("program", required=False, type=click.Choice(_PROGRAMS))
@common
def connect(options: Options, *, program: str | None) -> None:
    """Print the lines that add this server to Claude Code, Cursor and Codex, or to PROGRAM alone.

    An agent works in its key's own project: a project that is named must be that one.
    """
    connection = find_connection(options)
    if options.workspace or options.project or any(os.environ.get(name) for name in ("MUNIMENT_WORKSPACE", "MUNIMENT_PROJECT")):
        check_project(connection)
    if options.as_json:
        parts = {"claude": claude_command(connection), "cursor": cursor_file(connection), "codex": codex_file(connection)}
        print_json({name: part for name, part in parts.items() if program in (None, name)})
        return
    stdout().print(connect_lines(connection, (program,) if program else _PROGRAMS), soft_wrap=True)
