"""The command line's server half: serve, worker, migrate, and making workspaces, projects and keys.

These talk to the database, under the logins that the settings name; the other commands talk to a server.
"""

import asyncio
import json
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import platformdirs
import rich_click

from service.errors import InvalidSetting
from service.observe.logs import configure_logs
from service.settings import Settings, load_settings
from service.surface.cli.output import show_rows
from service.surface.cli.owner_login import named_owner, owner_login
from service.tenants import workspaces
from service.tenants.bootstrap import ensure_pepper
from service.tenants.migrate import Phase, migrate
from service.tenants.owner import Owner, owner_connection

DATA = click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="MUNIMENT_DATA",
    default=lambda: Path(platformdirs.user_data_dir("muniment")),
    show_default="your user data folder",
    help="The data folder: the embedded Postgres lives here.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
YES = click.option("--yes", is_flag=True, help="Do not ask.")


@rich_click.command()
@DATA
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="The port; 0 takes a free one.")
@click.option("--worker/--no-worker", default=True, help="Run the embedding worker in this process too.")
@click.option("--sample", is_flag=True, help="Import the sample memory, and ask it a question and a graph query.")
@JSON
def serve(data: Path, host: str, port: int, worker: bool, sample: bool, as_json: bool) -> None:
    """Start a server; without DATABASE_URL on an embedded Postgres in the data folder."""
    import uvloop

    from service.app import ServeOptions
    from service.app import serve as run
    from service.surface.cli.greeting import greet

    settings = _settings()
    options = ServeOptions(data.expanduser().absolute(), host, port, worker)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run(settings, options, greet(sample=sample, as_json=as_json)))


@rich_click.command()
@DATA
def worker(data: Path) -> None:
    """Make vectors for what was written, until stopped. Needs the owner's login (MUNIMENT_OWNER_URL)."""
    from service.embed.configured import choose_provider
    from service.embed.spaces import backfill_limits
    from service.embed.worker import run_worker

    settings = _settings()
    url = named_owner(settings)

    async def work() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        provider = choose_provider(settings)
        if not provider.available:
            raise InvalidSetting(
                "There is no embedding provider, so the worker has nothing to do.", hint="Set MUNIMENT_EMBEDDING_PROVIDER."
            )
        try:
            await run_worker(url, provider, settings.worker_poll_ms / 1000, stop, backfill_limits(settings))
        finally:
            await provider.close()

    del data
    asyncio.run(work())


@rich_click.command(name="migrate")
@click.option("--phase", type=click.Choice(["before", "after", "all"]), default="all", show_default=True, help="Before or after a deploy.")
@JSON
def migrate_command(phase: Phase, as_json: bool) -> None:
    """Bring the database to what this version expects; safe to repeat. Needs the owner's login."""
    settings = _settings()
    report = migrate(named_owner(settings), settings.database_url if settings.owner_url else None, phase=phase)
    shown = {"applied": report.applied, "failed": report.failed}
    if as_json:
        click.echo(json.dumps(shown))
    else:
        for schema, names in report.applied.items():
            click.echo(f"{schema}: {', '.join(names)}")
        for schema, reason in report.failed.items():
            click.echo(f"{schema}: failed: {reason}", err=True)
        if not report.applied and not report.failed:
            click.echo("nothing to do")
    if report.failed:
        sys.exit(1)


@rich_click.group()
def workspace() -> None:
    """Make, list and delete workspaces (tenants)."""


@workspace.command(name="create")
@click.argument("slug")
@click.option("--name", help="A name for people.")
@DATA
@JSON
def workspace_create(slug: str, name: str | None, data: Path, as_json: bool) -> None:
    """Make a workspace."""
    with _owner(data) as (owner, _):
        made = workspaces.create_workspace(owner, slug, name)
    show_rows([{"workspace": made.slug}], as_json)


@workspace.command(name="list")
@DATA
@JSON
def workspace_list(data: Path, as_json: bool) -> None:
    """List workspaces."""
    with _owner(data) as (owner, _):
        show_rows(workspaces.list_rows(owner, "list_workspaces"), as_json)


@workspace.command(name="delete")
@click.argument("slug")
@YES
@DATA
@JSON
def workspace_delete(slug: str, yes: bool, data: Path, as_json: bool) -> None:
    """Delete a workspace with its keys, its projects and all they hold. It cannot be undone."""
    with _owner(data) as (owner, _):
        found = workspaces.find_workspace(owner, slug)
        if not yes:
            click.confirm(f"Delete the workspace {slug} with all its projects?", abort=True, err=True)
        gone = workspaces.delete_workspace(owner, found)
    show_rows([{"workspace": slug, "project": name, **counts} for name, counts in gone.items()] or [{"workspace": slug}], as_json)


@rich_click.group()
def project() -> None:
    """Make, list and delete projects."""


@project.command(name="create")
@click.argument("slug")
@click.option("--workspace", "in_workspace", default="main", show_default=True)
@click.option("--name", help="A name for people.")
@DATA
@JSON
def project_create(slug: str, in_workspace: str, name: str | None, data: Path, as_json: bool) -> None:
    """Make a project; the worker gives it its vectors."""
    with _owner(data) as (owner, _):
        made = workspaces.create_project(owner, workspaces.find_workspace(owner, in_workspace), slug, name)
    show_rows([{"workspace": in_workspace, "project": made.slug}], as_json)


@project.command(name="list")
@click.option("--workspace", "in_workspace", default="main", show_default=True)
@DATA
@JSON
def project_list(in_workspace: str, data: Path, as_json: bool) -> None:
    """List the projects of a workspace."""
    with _owner(data) as (owner, _):
        show_rows(workspaces.list_rows(owner, "list_projects", workspaces.find_workspace(owner, in_workspace).id), as_json)


@project.command(name="delete")
@click.argument("slug")
@click.option("--workspace", "in_workspace", default="main", show_default=True)
@YES
@DATA
@JSON
def project_delete(slug: str, in_workspace: str, yes: bool, data: Path, as_json: bool) -> None:
    """Delete a project with all it holds. It cannot be undone; `muniment export` keeps a copy."""
    with _owner(data) as (owner, _):
        within = workspaces.find_workspace(owner, in_workspace)
        found = workspaces.find_project(owner, within, slug)
        if not yes:
            click.confirm(f"Delete the project {slug} of {in_workspace} with all it holds?", abort=True, err=True)
        counts = workspaces.delete_project(owner, within, found)
    show_rows([{"workspace": in_workspace, "project": slug, **counts}], as_json)


@rich_click.group()
def key() -> None:
    """Make, list and revoke API keys."""


@key.command(name="create")
@click.option("--workspace", "in_workspace", default="main", show_default=True)
@click.option("--name", default="", help="What the key is for.")
@click.option("--scope", "scopes", multiple=True, default=("read", "write"), show_default=True, help="read, write, admin; may be repeated.")
@click.option("--project", "projects", multiple=True, help="Bind the key to this project; may be repeated.")
@click.option("--default-project", help="The project of calls that name none.")
@click.option("--days", type=click.IntRange(1), help="The key ends after so many days.")
@DATA
@JSON
def key_create(
    in_workspace: str,
    name: str,
    scopes: tuple[str, ...],
    projects: tuple[str, ...],
    default_project: str | None,
    days: int | None,
    data: Path,
    as_json: bool,
) -> None:
    """Make a key. Its text is shown once."""
    with _owner(data) as (owner, pepper):
        found = workspaces.find_workspace(owner, in_workspace)
        bound = [workspaces.find_project(owner, found, slug) for slug in projects]
        made = workspaces.create_key(
            owner,
            found,
            pepper=pepper,
            name=name,
            scopes=scopes,
            projects=bound or None,
            default_project=workspaces.find_project(owner, found, default_project) if default_project else None,
            expires_at=datetime.now(UTC) + timedelta(days=days) if days else None,
        )
    show_rows([{"id": made.id, "key": made.text}], as_json)


@key.command(name="list")
@click.option("--workspace", "in_workspace", default="main", show_default=True)
@DATA
@JSON
def key_list(in_workspace: str, data: Path, as_json: bool) -> None:
    """List keys, without their texts."""
    with _owner(data) as (owner, _):
        show_rows(workspaces.list_rows(owner, "list_keys", workspaces.find_workspace(owner, in_workspace).id), as_json)


@key.command(name="revoke")
@click.argument("key_id")
@DATA
def key_revoke(key_id: str, data: Path) -> None:
    """End a key, by its id (the part between `mun_` and the next `_`)."""
    with _owner(data) as (owner, _):
        workspaces.revoke_key(owner, key_id)


COMMANDS = (serve, worker, migrate_command, workspace, project, key)


def _settings() -> Settings:
    settings = load_settings()
    configure_logs(settings.log_level, settings.log_format)
    return settings


@contextmanager
def _owner(data: Path) -> Generator[tuple[Owner, str]]:
    """The owner's connection, and the secret that keys are hashed with."""
    settings = load_settings()
    data = data.expanduser().absolute()
    with owner_login(settings, data) as url, owner_connection(url) as owner:
        yield owner, settings.key_pepper if settings.owner_url is not None else ensure_pepper(settings, data)
