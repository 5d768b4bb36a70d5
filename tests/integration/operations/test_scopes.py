"""Which projects a search covers, as callers name them, and what it says of those that it leaves out."""

from typing import Any

import msgspec
import pytest

from service.access.keys import Granted
from service.access.scope import MOST_SEARCHED
from service.errors import InvalidRequest, ScopeMissing
from tests.conftest import Memory, Projects
from tests.integration.operations.conftest import Desk


@pytest.mark.parametrize(
    "arguments",
    [
        {"scopes": [{"project": "a"}], "project": "b"},
        {"scopes": [{"project": "a"}], "workspace": "b"},
        {"scopes": [{"project": "a"}], "global": True},
        {"scopes": [{"project": "a"}] * (MOST_SEARCHED + 1)},
        {"global": True, "project": "b"},
    ],
)
async def test_what_excludes_each_other_is_refused(desk: Desk, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await desk.ask("memory_query", query="x", **arguments)
    assert caught.value.hint or str(MOST_SEARCHED) in caught.value.message


async def test_of_many_projects_those_written_last_are_searched_and_the_others_named(
    desk: Desk, memory: Memory, projects: Projects
) -> None:
    made = [desk.project, *(projects.make(desk.project.workspace) for _ in range(MOST_SEARCHED + 1))]
    for project in made:
        await memory.save(project, [{"summary": f"the quay of {project.project}"}])
    await memory.save(made[0], [{"summary": "written again"}])
    answer = await desk.ask("memory_query", query="quay", **{"global": True}, limit=100)
    left_out = [made[1].project, made[2].project]
    assert answer.scope.projects == [project.project for project in (made[0], *made[3:])]
    assert {hit.project for hit in answer.raw_hits} == set(answer.scope.projects)
    (note,) = [note for note in answer.notes if "not searched" in note]
    assert f"not searched: {', '.join(left_out)}." in note
    named = await desk.ask("memory_query", query="quay", scopes=[{"project": name} for name in left_out])
    assert {hit.project for hit in named.raw_hits} == set(left_out)


async def test_a_key_without_projects_is_told(desk: Desk) -> None:
    answer = await desk.ask("memory_query", query="quay")
    assert answer.scope.resolved_by == "key_default"
    desk.caller = msgspec.structs.replace(desk.caller, projects=frozenset(), default_project=None)
    answer = await desk.ask("memory_query", query="quay")
    assert (answer.scope.workspace, answer.scope.projects) == (desk.project.workspace, [])
    assert answer.notes == ["There is no project that this key can read."]


async def test_what_others_let_it_read_takes_no_place_of_its_own_projects(desk: Desk, memory: Memory, projects: Projects) -> None:
    await memory.save(desk.project, [{"summary": "the quay"}])
    foreign = [projects.make(f"giver-{desk.project.workspace}") for _ in range(MOST_SEARCHED + 1)]
    for project in foreign:
        await memory.save(project, [{"summary": "the quay, later"}])
    giver = foreign[0]
    desk.caller = msgspec.structs.replace(desk.caller, granted=(Granted(giver.workspace_id, giver.workspace, giver.role, None),))
    answer = await desk.ask("memory_query", query="quay", limit=100, **{"global": True})
    assert answer.scope.projects[0] == desk.project.project
    assert len(answer.scope.projects) == MOST_SEARCHED
    assert desk.project.project in {hit.project for hit in answer.raw_hits}


async def test_a_project_of_a_moment_ago_is_found_by_its_name_and_as_the_default(desk: Desk, projects: Projects) -> None:
    assert await desk.ask("list_projects")  # from now on the list is remembered
    for named in (True, False):
        made = projects.make(desk.project.workspace)
        desk.caller = msgspec.structs.replace(desk.caller, default_project=made.project_id)
        answer = await desk.ask("memory_status", **({"project": made.project} if named else {}))
        assert answer.project == made.project


async def test_a_write_that_names_no_project_goes_to_the_keys_own_or_nowhere(desk: Desk, projects: Projects) -> None:
    """Whatever was written last, and by whom."""
    other, own = projects.make(desk.project.workspace), desk.project
    for default in (own.project_id, None):
        desk.caller = msgspec.structs.replace(desk.caller, default_project=default)
        for project in (own, other):
            await desk.ask("save_memory", summary=f"for {project.project}", project=project.project)
        if default is None:
            with pytest.raises(ScopeMissing):
                await desk.ask("save_memory", summary="for nobody")
        else:
            assert (await desk.ask("save_memory", summary="for the own")).project == own.project
    for project, summaries in ((own, {f"for {own.project}", "for the own"}), (other, {f"for {other.project}"})):
        listed = await desk.ask("list_memory_timeline", project=project.project)
        assert {event.summary for event in listed.events} == summaries
