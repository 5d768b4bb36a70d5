"""`workspace` and `project`: make, list, rename, limit and delete them, by the owner's login.

In: slugs. Out: what was made, what there is, or what was deleted with it.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click
import rich_click

from service.surface.cli.failure import REFUSED
from service.surface.cli.output import show_rows
from service.surface.cli.owner_login import owning
from service.surface.cli.server import DATA, JSON
from service.tenants import workspaces

YES = click.option("--yes", is_flag=True, help="Do not ask.")
# The tables that a deletion tells of, by the words of `muniment status`; the others hold what belongs to these.
_WORDS: Final = {"event": "events", "page": "pages", "entity": "entities", "tag": "tags", "session": "sessions"}

NO_LIMIT: Final = -1


def _limit(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """A number of things; `NO_LIMIT` for none, None where the option was not given."""
    if value is None or value == "none":
        return None if value is None else NO_LIMIT
    return click.IntRange(0, 2**53)(value, param, ctx)


@rich_click.group()
def workspace() -> None:
    """Make, list, rename, limit and delete workspaces (tenants)."""


@workspace.command(name="create")
@click.argument("slug")
@click.option("--name", help="A name for people.")
@DATA
@JSON
def workspace_create(slug: str, name: str | None, data: Path, as_json: bool) -> None:
    """Make a workspace."""
    with owning(data) as owner:
        made = workspaces.create_workspace(owner, slug, name)
    show_rows([{"workspace": made.slug, "created": made.created}], as_json)
    _tell_known("workspace", made)


@workspace.command(name="list")
@DATA
@JSON
def workspace_list(data: Path, as_json: bool) -> None:
    """List workspaces."""
    with owning(data) as owner:
        show_rows(workspaces.list_rows(owner, "list_workspaces"), as_json)


@workspace.command(name="rename")
@click.argument("slug")
@click.option("--name", help="A name for people.")
@click.option("--to", "new_slug", help="Another slug; tokens that name the earlier one are refused from then on.")
@DATA
@JSON
def workspace_rename(slug: str, name: str | None, new_slug: str | None, data: Path, as_json: bool) -> None:
    """Give a workspace another name or slug."""
    with owning(data) as owner:
        row = workspaces.rename_workspace(owner, workspaces.find_workspace(owner, slug), new_slug, name)
    show_rows([{"workspace": row["slug"], "name": row["name"]}], as_json)


@workspace.command(name="quota")
@click.argument("slug")
@click.option("--events", callback=_limit, metavar="N", help="How many events it may keep at most; none: any number.")
@click.option("--bytes", callback=_limit, metavar="N", help="How many bytes of text, earlier versions included.")
@click.option("--projects", callback=_limit, metavar="N", help="How many projects.")
@DATA
@JSON
def workspace_quota(slug: str, data: Path, as_json: bool, **limits: int | None) -> None:
    """Show or set what a workspace may keep. What it keeps already stays."""
    given = {kind: None if limit == NO_LIMIT else limit for kind, limit in limits.items() if limit is not None}
    with owning(data) as owner:
        row = workspaces.set_quota(owner, workspaces.find_workspace(owner, slug), given)
    show_rows([{"workspace": slug, **row}], as_json)


@workspace.command(name="operator")
@click.argument("slug")
@click.option("--off", is_flag=True, help="It is the operator's no more.")
@DATA
@JSON
def workspace_operator(slug: str, off: bool, data: Path, as_json: bool) -> None:
    """Let a workspace's admin keys make and delete workspaces and set quotas over REST."""
    with owning(data) as owner:
        workspaces.set_operator(owner, workspaces.find_workspace(owner, slug), operates=not off)
    show_rows([{"workspace": slug, "operator": not off}], as_json)


@workspace.command(name="delete")
@click.argument("slug")
@YES
@DATA
@JSON
def workspace_delete(slug: str, yes: bool, data: Path, as_json: bool) -> None:
    """Delete a workspace with its keys, its projects and all they hold. It cannot be undone."""
    with owning(data) as owner:
        found = workspaces.find_workspace(owner, slug)
        agree(f"Delete the workspace {slug} with all its projects?", yes=yes)
        gone = workspaces.delete_workspace(owner, found)
    rows = [{"workspace": slug, "project": name, **_told(counts, whole=as_json)} for name, counts in gone.items()]
    show_rows(rows or [{"workspace": slug}], as_json)


@rich_click.group()
def project() -> None:
    """Make, list, rename and delete projects."""


@project.command(name="create")
@click.argument("slug")
@click.option("--workspace", "in_workspace", default="main", show_default=True)
@click.option("--name", help="A name for people.")
@DATA
@JSON
def project_create(slug: str, in_workspace: str, name: str | None, data: Path, as_json: bool) -> None:
    """Make a project; the worker gives it its vectors."""
    with owning(data) as owner:
        made = workspaces.create_project(owner, workspaces.find_workspace(owner, in_workspace), slug, name)
    show_rows([{"workspace": in_workspace, "project": made.slug, "created": made.created}], as_json)
    _tell_known("project", made)


@project.command(name="list")
@click.option("--workspace", "in_workspace", default="main", show_default=True)
@DATA
@JSON
def project_list(in_workspace: str, data: Path, as_json: bool) -> None:
    """List the projects of a workspace."""
    with owning(data) as owner:
        show_rows(workspaces.list_rows(owner, "list_projects", workspaces.find_workspace(owner, in_workspace).id), as_json)


@project.command(name="rename")
@click.argument("slug")
@click.option("--workspace", "in_workspace", default="main", show_default=True)
@click.option("--name", help="A name for people.")
@click.option("--to", "new_slug", help="Another slug; calls that name the earlier one find nothing any more.")
@DATA
@JSON
def project_rename(slug: str, in_workspace: str, name: str | None, new_slug: str | None, data: Path, as_json: bool) -> None:
    """Give a project another name or slug."""
    with owning(data) as owner:
        found = workspaces.find_project(owner, workspaces.find_workspace(owner, in_workspace), slug)
        row = workspaces.rename_project(owner, found, new_slug, name)
    show_rows([{"workspace": in_workspace, "project": row["slug"], "name": row["name"]}], as_json)


@project.command(name="delete")
@click.argument("slug")
@click.option("--workspace", "in_workspace", default="main", show_default=True)
@YES
@DATA
@JSON
def project_delete(slug: str, in_workspace: str, yes: bool, data: Path, as_json: bool) -> None:
    """Delete a project with all it holds. It cannot be undone; `muniment export` keeps a copy."""
    with owning(data) as owner:
        within = workspaces.find_workspace(owner, in_workspace)
        found = workspaces.find_project(owner, within, slug)
        agree(f"Delete the project {slug} of {in_workspace} with all it holds?", yes=yes)
        counts = workspaces.delete_project(owner, within, found)
    show_rows([{"workspace": in_workspace, "project": slug, **_told(counts, whole=as_json)}], as_json)


def _tell_known(what: str, made: workspaces.Found) -> None:
    if not made.created:
        click.echo(f"The {what} {made.slug} was there already; nothing was changed.", err=True)


def agree(question: str, *, yes: bool, else_said: str = "Nothing was deleted") -> None:
    """Asks before something goes for good; all but a yes ends the command."""
    try:
        agreed = yes or click.confirm(question, err=True)
    except click.Abort:  # no answer: the question's line is still open
        click.echo(f"\n{else_said}; --yes does not ask.", err=True)
        raise
    if not agreed:
        opened = "" if sys.stdin.isatty() else "\n"  # an answer that was not typed ended no line
        click.echo(f"{opened}{else_said}.", err=True)
        raise click.exceptions.Exit(REFUSED)


def _told(counts: Mapping[str, int], *, whole: bool) -> dict[str, int]:
    """How much went: of every table for programs, of what a memory is made of for people."""
    return {**counts} if whole else {word: counts[table] for table, word in _WORDS.items() if table in counts}
