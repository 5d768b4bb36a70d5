"""The commands that run beside the database: `serve`, `worker` and `migrate`.

In: options and settings. Out: a server, a worker, or a database that is as this version expects it.
"""

import asyncio
import json
import os
import signal
import sys
from contextlib import nullcontext, suppress
from pathlib import Path

import click
import platformdirs
import rich_click
import structlog

from service.errors import DatabaseUnavailable, InvalidSetting
from service.observe.logs import configure_logs
from service.settings import Settings, load_settings, misspelled_variables
from service.surface.cli.owner_login import embedded_login, named_owner, owner_pepper, running_owner
from service.tenants.migrate import Phase, migrate
from service.tenants.owner import explained

log = structlog.get_logger("muniment.server")

DATA = click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="MUNIMENT_DATA",
    default=lambda: Path(platformdirs.user_data_dir("muniment")),
    show_default="your user data folder",
    help="The data folder: the embedded Postgres lives here.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@rich_click.command()
@DATA
@click.option("--host", envvar="MUNIMENT_HOST", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", envvar="MUNIMENT_PORT", type=click.IntRange(0, 65535), default=8000, show_default=True, help="The port; 0 takes a free one."
)
@click.option("--worker/--no-worker", default=True, help="Run the embedding worker in this process too.")
@click.option("--sample", is_flag=True, help="Import the sample memory into the project `sample`, and ask it two questions.")
@JSON
def serve(data: Path, host: str, port: int, worker: bool, sample: bool, as_json: bool) -> None:
    """Start a server; without DATABASE_URL on an embedded Postgres in the data folder."""
    import uvloop

    from service.app import ServeOptions
    from service.app import serve as run
    from service.surface.cli.greeting import greet

    settings = _settings(quiet=not as_json)
    options = ServeOptions(data.expanduser().absolute(), host, port, worker)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run(settings, options, greet(data=options.data, sample=sample, as_json=as_json)))


@rich_click.command()
@DATA
def worker(data: Path) -> None:
    """Make vectors for what was written, and delete old entries of the audit, until stopped.

    Needs the owner's login (MUNIMENT_OWNER_URL), or a server that runs on the data folder (`muniment serve --no-worker`).
    """
    from service.embed.configured import choose_provider
    from service.tenants.upkeep import keep_up

    settings, data = _settings(), data.expanduser().absolute()
    running = running_owner(data)
    url = named_owner(settings) or (running.database if running else None)
    if url is None:
        raise InvalidSetting(
            f"No database is named, and no server runs on {data}.",
            hint="Set MUNIMENT_OWNER_URL to the owner's login, or name the folder of `muniment serve` with --data.",
        )
    pepper = settings.key_pepper
    with suppress(DatabaseUnavailable):
        pepper = owner_pepper(url, settings, data)  # what cannot serve a worker is refused at once; a database that is away is waited for

    async def run() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        provider = choose_provider(settings)
        try:
            await keep_up(url, provider, settings, pepper, stop)
        finally:
            await provider.close()

    asyncio.run(run())


@rich_click.command(name="migrate")
@click.option("--phase", type=click.Choice(["before", "after", "all"]), default="all", show_default=True, help="Before or after a deploy.")
@DATA
@JSON
def migrate_command(phase: Phase, data: Path, as_json: bool) -> None:
    """Bring the database to what this version expects; safe to repeat. Needs the owner's login, or the data folder of `muniment serve`."""
    settings = _settings()
    named = named_owner(settings)
    with nullcontext(named) if named else embedded_login(data.expanduser().absolute()) as url, explained():
        api_url = settings.database_url if settings.owner_url else None
        report = migrate(url, api_url, phase=phase, superuser_allowed=named is None)
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


def _settings(*, quiet: bool = False) -> Settings:
    """`quiet`: a person reads along, who is shown each call only on request."""
    settings = load_settings()
    asked = "MUNIMENT_LOG_LEVEL" in os.environ or settings.log_format == "json"
    configure_logs("warning" if quiet and not asked and settings.log_level == "info" else settings.log_level, settings.log_format)
    for name, near in misspelled_variables(os.environ).items():
        log.warning("a variable is no setting and has no effect", variable=name, nearest=near)
    return settings
