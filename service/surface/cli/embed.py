"""`embed`: what is due to be embedded, and embedding it now, by the owner's login and the embedding settings of this shell."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec
import rich_click as click

from service.embed.by_hand import ByHand, DueWork
from service.embed.configured import choose_provider
from service.embed.provider import EmbeddingProvider
from service.embed.spaces import backfill_limits
from service.embed.worker import reaching
from service.errors import InvalidSetting
from service.observe.logs import configure_logs
from service.settings import Settings
from service.surface.cli.output import progress, show_rows
from service.surface.cli.owner_login import owner_login, owner_pepper
from service.surface.cli.server import DATA, JSON
from service.surface.cli.shell_settings import shell_settings


class Wish(msgspec.Struct, frozen=True):
    """What to do, and in which projects."""

    workspace: str | None
    project: str | None
    dry_run: bool
    reembed: bool
    switch: bool
    move: bool


@click.command()
@click.option("--workspace", metavar="SLUG", help="Only this workspace's projects.")
@click.option("--project", metavar="SLUG", help="Only projects of this name.")
@click.option("--dry-run", is_flag=True, help="Only say what is due.")
@click.option("--reembed", is_flag=True, help="Make all vectors again, and try again what was given up.")
@click.option("--switch", is_flag=True, help="Let queries use the new model at once, before all its vectors are there.")
@click.option("--move", is_flag=True, help="Move the server to the model of these settings, where it uses another one.")
@DATA
@JSON
def embed(
    workspace: str | None, project: str | None, dry_run: bool, reembed: bool, switch: bool, move: bool, data: Path, as_json: bool
) -> None:
    """Embed now what has no vector yet, with a progress bar. Needs the owner's login (MUNIMENT_OWNER_URL).

    It goes by the embedding settings of this shell. Of each project it tells its passages: missing have no vector, changed one of an
    earlier text, stale one that is too old; these are due, and can be embedded now. Waiting ones failed and are tried again later by
    themselves, failed ones were given up (--reembed tries them again). Current: queries use the vectors of this model.
    """
    settings = shell_settings()
    configure_logs("warning" if settings.log_level == "info" else settings.log_level, settings.log_format)
    wish = Wish(workspace, project, dry_run, reembed, switch, move)
    provider = choose_provider(settings)
    if not provider.available:
        raise InvalidSetting("There is no embedding provider, so nothing can be embedded.", hint="Set MUNIMENT_EMBEDDING_PROVIDER.")
    data = data.expanduser().absolute()
    with owner_login(settings, data) as url:
        pepper = owner_pepper(url, settings, data)
        found = asyncio.run(_work(url, settings, provider, pepper, wish))
    show_rows([{**msgspec.to_builtins(each), "due": each.due} for each in found], as_json)


async def _work(url: str, settings: Settings, provider: EmbeddingProvider, pepper: str, wish: Wish) -> Sequence[DueWork]:
    async with reaching(url, provider, settings, pepper) as reach:
        return await _do(ByHand(url, provider, backfill_limits(settings), reach), provider, wish)


async def _do(hand: ByHand, provider: EmbeddingProvider, wish: Wish) -> Sequence[DueWork]:
    try:
        found = await hand.find_due(wish.workspace, wish.project)
        if wish.dry_run:
            differing = await hand.differing_model()
            if differing:
                click.echo(f"note: {differing} What is due is told for these settings.", err=True)
            return [each.anew() if wish.reembed else each for each in found.values()]
        if not wish.move:
            await hand.check_model()
        await hand.prepare(list(found), reembed=wish.reembed, switch=wish.switch)
        found = await hand.find_due(wish.workspace, wish.project)
        with progress(counted=True) as bar:
            task = bar.add_task("embedding", total=sum(each.due for each in found.values()))
            await hand.fill(list(found), lambda count: bar.advance(task, count))
        return list((await hand.find_due(wish.workspace, wish.project)).values())
    finally:
        await hand.close()
        await provider.close()
