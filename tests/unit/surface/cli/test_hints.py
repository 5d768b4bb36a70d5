from service.errors import no_project, no_workspace
from service.surface.cli.commands import with_commands


def test_hints_of_the_server_name_the_commands() -> None:
    assert with_commands(no_project("x").hint or "") == "`muniment project list` shows those that it can."
    told = with_commands(no_workspace("x").hint or "")
    assert told.endswith("`muniment status` and `muniment project list` name it.")
    assert with_commands("use START text: for meaning, or query_memories_with_sql for exact wording").endswith(
        "`muniment sql` for exact wording"
    )
    assert with_commands("find_memories_by_entity shows it") == "find_memories_by_entity shows it"
