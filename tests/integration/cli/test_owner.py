"""The owner's commands beside a running server: keys, projects, and which project an agent gets."""

import json
import subprocess

from tests.integration.cli.conftest import COMMAND, ROOT, Done, Muniment, Server, environment


def made_key(muniment: Muniment, *words: str) -> dict[str, str]:
    done = muniment("key", "create", "--workspace", muniment.server.workspace, "--json", *words)
    assert done.code == 0, done.err
    (made,) = done.json
    return made


def answered(muniment: Muniment, text: str, *words: str) -> Done:
    done = subprocess.run(
        [*COMMAND, *words],
        cwd=ROOT,
        env=environment(MUNIMENT_DATA=str(muniment.server.data)),
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def test_keys_are_listed_for_people(muniment: Muniment) -> None:
    made = made_key(muniment, "--name", "kumquat", "--scope", "read", "--scope", "write", "--days", "3")
    shown = muniment("key", "list", "--workspace", muniment.server.workspace)
    (row,) = [row for row in shown.out.splitlines() if made["id"] in row]
    assert "read, write" in row
    assert row.count("Z") >= 2
    assert "+00:00" not in row
    assert made["key"] not in shown.out


def test_a_key_is_revoked_by_its_id_or_its_text(muniment: Muniment) -> None:
    for part in ("id", "key"):
        made = made_key(muniment)
        done = muniment("key", "revoke", made[part])
        assert (done.code, done.out) == (0, f"The key {made['id']} is revoked.\n")
        again = muniment("key", "revoke", made["key"])
        assert (again.code, again.out) == (0, f"The key {made['id']} was revoked already.\n")
    unknown = muniment("key", "revoke", f"mun_{'0' * 12}_{'x' * 43}")
    assert (unknown.code, "000000000000" in unknown.err, "xxx" in unknown.err) == (1, True, False)


def test_keys_are_listed_with_what_they_reach(muniment: Muniment) -> None:
    workspace = muniment.server.workspace
    bound = made_key(muniment, "--project", muniment.project, "--default-project", muniment.project)["id"]
    free = made_key(muniment)["id"]

    def listed() -> dict[str, tuple[list[str] | None, str | None]]:
        rows = muniment("key", "list", "--workspace", workspace, "--json").json
        return {row["id"]: (row["projects"], row["default_project"]) for row in rows}

    assert (listed()[bound], listed()[free]) == (([muniment.project], muniment.project), (None, None))
    assert muniment("project", "delete", muniment.project, "--workspace", workspace, "--yes").code == 0
    assert listed()[bound] == ([], None)
    shown = {row.split()[0]: row.split() for row in muniment("key", "list", "--workspace", workspace).out.splitlines()}
    assert ("(none)" in shown[bound], "(all)" in shown[free]) == (True, True)


def test_a_project_called_all_is_told_from_all_projects(muniment: Muniment) -> None:
    workspace = muniment.server.workspace
    assert muniment("project", "create", "all", "--workspace", workspace).code == 0
    bound, free = made_key(muniment, "--project", "all")["id"], made_key(muniment)["id"]
    shown = {row.split()[0]: row.split() for row in muniment("key", "list", "--workspace", workspace).out.splitlines()}
    assert ("all" in shown[bound], "(all)" in shown[bound]) == (True, False)
    assert ("all" in shown[free], "(all)" in shown[free]) == (False, True)
    assert muniment("project", "delete", "all", "--workspace", workspace, "--yes").code == 0


def test_what_stands_already_is_told_from_what_was_made(muniment: Muniment) -> None:
    for words in (["workspace", "create", "twice"], ["project", "create", "twice", "--workspace", "twice"]):
        first, second, told = muniment(*words, "--json"), muniment(*words, "--json"), muniment(*words)
        assert (first.json[0]["created"], first.err) == (True, "")
        assert (second.code, second.json[0]["created"]) == (0, False)
        assert (told.code, "was there already" in told.err) == (0, True)
    missing = muniment("project", "delete", "nope", "--workspace", "twice", "--yes")
    assert "muniment project list --workspace twice" in missing.err
    assert muniment("workspace", "delete", "twice", "--yes").code == 0


def test_keys_of_other_workspaces_are_let_read(muniment: Muniment, serving: Server) -> None:
    giver, project = ("--workspace", "cli-giver", "--json"), ("memory", "--workspace", "cli-giver")
    assert muniment("workspace", "create", "cli-giver").code == 0
    assert muniment("project", "create", *project).code == 0
    made = made_key(muniment, "--scope", "read")
    (given,) = muniment("key", "grant", made["key"], "--project", "memory", "--days", "3", *giver).json
    assert given == {"key": made["id"], "workspace": "cli-giver", "projects": ["memory"], "outcome": "created"}
    (row,) = muniment("key", "grants", *giver).json
    assert (row["key"], row["project"], bool(row["expires_at"])) == (made["id"], "memory", True)
    for words in (("--project", "cli-giver/memory"), ("--workspace", "cli-giver", "--project", "memory")):
        status = muniment("status", "--key", made["key"], "--json", *words)
        assert (status.code, status.json["project"]) == (0, "cli-giver/memory"), status.err
        assert muniment("query", "anything", "--key", made["key"], *words).code == 0
    own = muniment("key", "grant", made["id"], "--workspace", serving.workspace, "--json")
    assert (own.code, own.json["code"]) == (1, "invalid_request")
    assert muniment("key", "grant", "no-key", *giver).code == 2
    (ended,) = muniment("key", "ungrant", made["id"], *giver).json
    assert ended["outcome"] == "ended"
    assert muniment("key", "ungrant", made["id"], *giver).json["code"] == "not_found"
    assert muniment("workspace", "delete", "cli-giver", "--yes").code == 0


def test_a_deleted_project_is_told_in_a_few_totals(muniment: Muniment, serving: Server) -> None:
    assert muniment("import", "--sample").code == 0
    counts = muniment("status", "--json").json["counts"]
    words = ("project", "delete", muniment.project, "--workspace", serving.workspace)
    for answer, code in (("n\n", 1), ("", 130)):
        refused = answered(muniment, answer, *words)
        assert (refused.code, refused.out) == (code, "")
        assert refused.err.splitlines()[-1].startswith("Nothing was deleted")
        assert refused.err.endswith("\n")
    done = muniment(*words, "--yes")
    assert done.code == 0, done.err
    heads, *_, row = done.out.splitlines()
    assert heads.split() == ["workspace", "project", "events", "pages", "entities", "tags", "sessions"]
    assert row.split()[:4] == [serving.workspace, muniment.project, str(counts["events"]), str(counts["pages"])]
    assert muniment("status").code == 1


def test_an_agent_is_connected_to_the_project_of_its_key(muniment: Muniment, serving: Server) -> None:
    assert muniment("connect", "claude", MUNIMENT_PROJECT="").code == 0
    unknown = muniment("connect", "claude", "--project", "nope")
    assert (unknown.code, unknown.out) == (1, "")
    elsewhere = muniment("connect", "claude", "--workspace", "nope")
    assert (elsewhere.code, elsewhere.out) == (1, "")
    other = muniment("connect", "claude", "--project", muniment.project)
    assert (other.code, other.out) == (2, "")
    hint = f"muniment key create --workspace {serving.workspace} --default-project {muniment.project} --scope read --scope write"
    assert hint in other.err
    made = made_key(muniment, "--default-project", muniment.project)
    own = muniment("connect", "claude", "--project", muniment.project, "--key", made["key"])
    assert own.code == 0, own.err
    assert made["key"] in own.out
    bound = made_key(muniment, "--project", muniment.project)
    assert muniment("connect", "--project", muniment.project, "--key", bound["key"]).code == 2
    assert json.loads(muniment("connect", "--project", "nope", "--json").out)["code"] == "not_found"


def test_workspaces_and_projects_are_renamed_and_limited(muniment: Muniment, serving: Server) -> None:
    made = muniment("workspace", "create", "cli-acme", "--json")
    assert made.code == 0, made.err
    (set_to,) = muniment("workspace", "quota", "cli-acme", "--events", "5", "--projects", "1", "--json").json
    assert (set_to["most_events"], set_to["most_bytes"], set_to["most_projects"]) == (5, None, 1)
    (lifted,) = muniment("workspace", "quota", "cli-acme", "--events", "none", "--bytes", "100", "--json").json
    assert (lifted["most_events"], lifted["most_bytes"], lifted["most_projects"]) == (None, 100, 1)
    assert muniment("workspace", "quota", "cli-acme", "--json").json == [lifted]
    assert muniment("workspace", "quota", "cli-acme", "--events", "many").code == 2
    assert muniment("project", "create", "one", "--workspace", "cli-acme").code == 0
    full = muniment("project", "create", "two", "--workspace", "cli-acme", "--json")
    assert (full.code, full.json["code"]) == (1, "quota_reached")
    assert muniment("project", "rename", "one", "--workspace", "cli-acme", "--to", "first", "--name", "The first").code == 0
    (row,) = muniment("project", "list", "--workspace", "cli-acme", "--json").json
    assert (row["project"], row["name"]) == ("first", "The first")
    assert muniment("project", "rename", "first", "--workspace", "cli-acme").code == 1
    taken = muniment("workspace", "rename", "cli-acme", "--to", serving.workspace, "--json")
    assert (taken.code, taken.json["code"]) == (1, "conflict")
    assert muniment("workspace", "rename", "cli-acme", "--to", "cli-acme-2").code == 0
    assert muniment("workspace", "operator", "cli-acme-2", "--json").json == [{"workspace": "cli-acme-2", "operator": True}]
    listed = {row["workspace"]: row for row in muniment("workspace", "list", "--json").json}
    assert (listed["cli-acme-2"]["operator"], listed["cli-acme-2"]["most_bytes"]) == (True, 100)
    assert muniment("workspace", "operator", "cli-acme-2", "--off").code == 0
    assert muniment("workspace", "delete", "cli-acme-2", "--yes").code == 0


def test_status_tells_what_is_limited(muniment: Muniment, serving: Server) -> None:
    assert "quota" not in muniment("status").out
    try:
        assert muniment("workspace", "quota", serving.workspace, "--events", "1000000").code == 0
        (line,) = [line for line in muniment("status").out.splitlines() if line.startswith("quota of events")]
        assert line.endswith(" of 1000000")
    finally:
        assert muniment("workspace", "quota", serving.workspace, "--events", "none").code == 0
