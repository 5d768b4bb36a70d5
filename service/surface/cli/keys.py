"""`key`: make, list and revoke API keys, and let keys of other workspaces read, by the owner's login.

In: what a key may do, or which one to end. Out: the key's text, shown once, or what there is to know about keys without it.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import click
import rich_click

from service.settings import load_settings
from service.surface.cli.failure import wrong_usage
from service.surface.cli.output import show_rows
from service.surface.cli.owner_login import owning, owning_keys
from service.surface.cli.server import DATA, JSON
from service.surface.cli.tenants import YES, agree
from service.tenants import workspaces
from service.tenants.pepper import change_pepper

_KEY: Final = re.compile(r"mun_(?P<of_key>[a-z0-9]{12})(?:_.*)?|(?P<id>[a-z0-9]{12})")


@rich_click.group()
def key() -> None:
    """Make, list and revoke API keys; let those of other workspaces read."""


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
    with owning_keys(data) as (owner, pepper):
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
            expires_at=_in_days(days),
        )
    show_rows([{"id": made.id, "key": made.text}], as_json)


@key.command(name="list")
@click.option("--workspace", "in_workspace", default="main", show_default=True)
@DATA
@JSON
def key_list(in_workspace: str, data: Path, as_json: bool) -> None:
    """List keys, without their texts."""
    with owning(data) as owner:
        rows = workspaces.list_rows(owner, "list_keys", workspaces.find_workspace(owner, in_workspace).id)
    show_rows(rows if as_json else [{**row, "projects": _reach(row["projects"])} for row in rows], as_json)


@key.command(name="revoke")
@click.argument("key_id")
@DATA
def key_revoke(key_id: str, data: Path) -> None:
    """End a key, by its id or its whole text."""
    number = _id_of(key_id)
    with owning(data) as owner:
        known = workspaces.revoke_key(owner, number)
    click.echo(f"The key {number} was revoked already." if known else f"The key {number} is revoked.")


@key.command(name="grant")
@click.argument("key_id")
@click.option("--workspace", "in_workspace", default="main", show_default=True, help="The workspace that gives.")
@click.option("--project", "projects", multiple=True, help="Only this project; may be repeated.")
@click.option("--days", type=click.IntRange(1), help="The grant ends after so many days.")
@DATA
@JSON
def key_grant(key_id: str, in_workspace: str, projects: tuple[str, ...], days: int | None, data: Path, as_json: bool) -> None:
    """Let a key of another workspace read here; what was granted to it before is replaced."""
    number = _id_of(key_id)
    with owning(data) as owner:
        found = workspaces.find_workspace(owner, in_workspace)
        only = [workspaces.find_project(owner, found, slug) for slug in projects]
        outcome = workspaces.grant_reading(owner, found, number, only or None, _in_days(days))
    show_rows([{"key": number, "workspace": in_workspace, "projects": list(projects) or None, "outcome": outcome}], as_json)


@key.command(name="grants")
@click.option("--workspace", "in_workspace", default="main", show_default=True)
@DATA
@JSON
def key_grants(in_workspace: str, data: Path, as_json: bool) -> None:
    """List what keys of other workspaces may read here; without a project it is all."""
    with owning(data) as owner:
        show_rows(workspaces.list_rows(owner, "list_grants", workspaces.find_workspace(owner, in_workspace).id), as_json)


@key.command(name="ungrant")
@click.argument("key_id")
@click.option("--workspace", "in_workspace", default="main", show_default=True, help="The workspace that gave.")
@DATA
@JSON
def key_ungrant(key_id: str, in_workspace: str, data: Path, as_json: bool) -> None:
    """Take back all that a key of another workspace may read here."""
    number = _id_of(key_id)
    with owning(data) as owner:
        workspaces.end_grant(owner, workspaces.find_workspace(owner, in_workspace), number)
    show_rows([{"key": number, "workspace": in_workspace, "outcome": "ended"}], as_json)


def _id_of(text: str) -> str:
    """A key's id, from itself or the key's whole text."""
    found = _KEY.fullmatch(text.strip())
    if found is None:  # what was given is not repeated: it may be a part of a key
        raise wrong_usage("This is neither a key nor the id of one.", "`muniment key list` shows the ids.")
    return found["of_key"] or found["id"]


def _in_days(days: int | None) -> datetime | None:
    return datetime.now(UTC) + timedelta(days=days) if days else None


@key.command(name="change-pepper")
@YES
@DATA
def key_change_pepper(yes: bool, data: Path) -> None:
    """Take the secret of MUNIMENT_KEY_PEPPER, or of the data folder, for the one that keys are hashed with. It ends every key."""
    settings = load_settings()
    with owning(data) as owner:
        agree(
            "Keys that were made with the earlier secret open nothing from then on. Change it?",
            yes=yes,
            else_said="Nothing was changed",
        )
        changed = change_pepper(owner, settings, data.expanduser().absolute())
    click.echo("The secret is changed: start servers and workers again with it." if changed else "It is the secret already.")


def _reach(projects: Sequence[str] | None) -> str:
    """For people: a key that is bound to projects which are gone reaches none, one that is not bound reaches all. In brackets, which no
    slug has: a project may be called all."""
    return "(all)" if projects is None else ", ".join(projects) or "(none)"
