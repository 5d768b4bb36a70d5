import signal
import subprocess
from pathlib import Path

import pytest

from tests.integration.cli.conftest import COMMAND, ROOT, Gateway, Muniment, Server, environment


@pytest.fixture(scope="module")
def sample(serving: Server) -> Muniment:
    """Commands on a project that holds the sample, with its vectors, so that the same question gets the same answer."""
    made = Muniment(serving, serving.make_project())
    assert made("import", "--sample").code == 0
    assert made("status", "--wait", "--timeout", "300").code == 0
    return made


def test_query_for_people_and_programs(sample: Muniment) -> None:
    found = sample("query", "lost counts after a crash", "--limit", "3", "--json").json
    assert len(found["raw_hits"]) == 3
    shown = sample("query", "lost counts after a crash", "--limit", "3")
    assert shown.code == 0
    assert {"Pages", "Events"} <= {*shown.out.splitlines()}
    for hit in found["hits"]:
        assert hit["path"] in shown.out
        assert hit["title"] in shown.out
    for hit in found["raw_hits"]:
        assert f"{hit['rank']:.4f}  {hit['id']}  " in shown.out
    assert "<mark>" not in shown.out
    assert "\x1b" not in shown.out


def test_query_takes_filters_and_explains(sample: Muniment) -> None:
    words = ("query", "save format", "--kinds", "bug", "--kinds", "fix", "--since", "2026-09-10", "--until", "2026-09-20T00:00:00Z")
    found = sample(*words, "--json").json["raw_hits"]
    assert {hit["kind"] for hit in found} <= {"bug", "fix"}
    assert all("2026-09-10" <= hit["timestamp"] < "2026-09-20" for hit in found)
    tagged = sample("query", "relay", "--tags", "incident/2026-09-10", "--explain").out
    assert "words 1" in tagged
    refused = sample("query", "a", "--since", "yesterday")
    assert (refused.code, refused.out) == (1, "")


def test_several_projects_are_one_ranking(sample: Muniment, serving: Server, tmp_path: Path) -> None:
    other = Muniment(serving, serving.make_project())
    file = tmp_path / "events.jsonl"
    file.write_text('{"summary": "The relay lost counts after a crash elsewhere."}')
    assert other("import", "--events", str(file)).code == 0
    assert other("status", "--wait", "--timeout", "300").code == 0
    words = ("query", "lost counts after a crash", "--project", sample.project, "--project", other.project)
    found = sample(*words, "--json").json
    assert {hit["project"] for hit in found["raw_hits"]} == {sample.project, other.project}
    assert found["scope"]["resolved_by"] == "scopes"
    assert other.project in sample(*words).out
    again = sample(*words, "--project", f"{serving.workspace}/{other.project}", "--workspace", serving.workspace, "--json").json
    assert [hit["id"] for hit in again["raw_hits"]] == [hit["id"] for hit in found["raw_hits"]]
    refused = sample("status", "--project", sample.project, "--project", other.project)
    assert (refused.code, "one project, not 2" in refused.err) == (2, True)


def test_as_of_leaves_out_what_came_later(sample: Muniment) -> None:
    assert sample("query", "lost counts", "--as-of", "2020-01-01", "--json").json["raw_hits"] == []
    assert sample("query", "lost counts", "--as-of", "2999-01-01", "--json").json["raw_hits"] != []


def test_nothing_found_is_no_error(sample: Muniment) -> None:
    assert sample("query", '"no such phrase anywhere"').out.splitlines()[0] == "Nothing was found."


def test_graph_rows_and_notes(sample: Muniment) -> None:
    query = "START a = events(entity: $n, k: 200) RETURN a, a.timestamp ORDER BY a.id"
    params = '{"n": "save format", "unused": 12345678901234567}'
    answer = sample("graph", query, "--params", params, "--json")
    assert answer.json["row_count"] == 20
    shown = sample("graph", query, "--params", params)
    assert shown.code == 0
    assert answer.json["rows"][0][0]["summary"] in shown.out
    assert "20 rows" in shown.out.splitlines()
    assert [f"note: {note}" for note in answer.json["notes"]] == [row for row in shown.out.splitlines() if row.startswith("note: ")]


def test_a_rejected_graph_query_shows_where_and_what_instead(sample: Muniment) -> None:
    done = sample("graph", "START a = events(ids: $ids) MATCH (a)-[:SHARE]-(b) RETURN b", "--params", '{"ids": []}')
    assert (done.code, done.out) == (1, "")
    rows = done.err.splitlines()
    assert rows[0].startswith("error: line 1, column ")
    assert any(row.strip() == "^" for row in rows)
    assert any(row.startswith("allowed relations: ") for row in rows)
    assert rows[-1].startswith("hint: ")
    assert "SHARES" in rows[-1]
    problem = sample("graph", "START a = events(", "--json")
    assert (problem.code, problem.json["blocked_by"], problem.json["code"]) == (1, "syntax", "graph_rejected")


def test_status_waits_until_all_is_embedded(sample: Muniment) -> None:
    waited = sample("status", "--wait", "--timeout", "300", "--json")
    assert waited.code == 0, waited.err
    assert waited.json["embedding"]["pending"] == 0
    shown = sample("status")
    assert f"project       {sample.project}" in shown.out.splitlines()
    assert any(row.split() == ["events", str(waited.json["counts"]["events"])] for row in shown.out.splitlines())


def test_waiting_ends_in_time(sample: Muniment, gateway: Gateway, tmp_path: Path) -> None:
    stuck = '{"workspace":"w","project":"p","counts":{},"newest_event":null,"embedding":{"provider":"x","model":"y","dim":1,"pending":7,'
    gateway.script.append(stuck + '"embedded":0,"failed":0}}')
    done = sample.through(gateway, "status", "--wait", "--timeout", "0.000001")
    assert done.code == 1
    assert "7 passages" in done.err


def test_without_a_project_the_key_decides(serving: Server, sample: Muniment) -> None:
    named = {"MUNIMENT_URL": serving.url + "/", "MUNIMENT_KEY": serving.key, "MUNIMENT_DATA": "/nowhere", "MUNIMENT_PROJECT": ""}
    found = sample("status", "--json", **named).json
    assert found["workspace"] == serving.workspace
    assert found["project"] != sample.project


def test_refusals(sample: Muniment) -> None:
    wrong = sample("query", "a", "--key", "mun_wrong", "--json")
    assert (wrong.code, wrong.json["code"], wrong.json["status"]) == (1, "unauthenticated", 401)
    assert sample("status", "--project", "nothing").code == 1
    assert sample("import", "--sample", "--project", "nothing", "--json").json["code"] == "not_found"


def test_something_else_at_the_address_is_no_server(sample: Muniment, serving: Server) -> None:
    done = sample("query", "a", "--url", serving.url + "/elsewhere", "--key", serving.key)
    assert done.code in (1, 3)
    assert done.err.startswith("error: ")


def test_the_address_for_agents_will_do(sample: Muniment, serving: Server) -> None:
    done = sample("query", "relay", "--limit", "1", "--url", serving.url + "/mcp", "--key", serving.key, "--workspace", serving.workspace)
    assert done.code == 0, done.err


def test_words_with_a_minus_are_left_out(sample: Muniment) -> None:
    with_it = sample("query", "relay", "--limit", "100", "--json").json["raw_hits"]
    without = sample("query", "-incident", "relay", "--limit", "100", "--json").json
    assert sample("query", "--limit", "100", "--json", "--", "-incident relay").json["raw_hits"] == without["raw_hits"]
    assert len(with_it) > 1
    assert not any("incident" in hit["summary"].lower() for hit in without["raw_hits"])


def test_a_start_with_more_events_than_k_is_told(sample: Muniment) -> None:
    shown = sample("graph", "START a = events(entity: $n) RETURN a.id LIMIT 500", "--params", '{"n": "save format"}').out.splitlines()
    assert "5 rows" in shown
    assert any(row.startswith("note: START took only the 5 newest events") for row in shown)


def test_a_reader_that_leaves_is_no_error(sample: Muniment) -> None:
    process = _start(sample, "query", "relay", "--limit", "100", "--json")
    assert process.stdout is not None
    process.stdout.close()
    process.wait(60)
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()


def test_an_interrupt_is_130(sample: Muniment, gateway: Gateway) -> None:
    gateway.holding.clear()
    process = _start(sample, "query", "relay", "--url", gateway.url, "--key", sample.server.key)
    assert gateway.held.wait(60)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in err


def _start(sample: Muniment, *words: str) -> "subprocess.Popen[bytes]":
    named = environment(MUNIMENT_DATA=str(sample.server.data), MUNIMENT_PROJECT=sample.project)
    return subprocess.Popen([*COMMAND, *words], cwd=ROOT, env=named, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_sql_counts_and_refuses(sample: Muniment) -> None:
    counted = sample("sql", "SELECT count(*) AS n FROM events WHERE kind = $1", "--params", '["fix"]', "--json").json
    assert counted["columns"] == ["n"]
    assert counted["rows"][0][0] > 3
    assert str(counted["rows"][0][0]) in sample("sql", "SELECT count(*) AS n FROM events WHERE kind = 'fix'").out
    refused = sample("sql", "DELETE FROM events")
    assert (refused.code, refused.out) == (1, "")
    assert sample("sql", "SELECT 1", "--params", "{}").code == 2


def test_a_project_that_is_not_there_names_the_nearest_and_the_command_that_lists_them(muniment: Muniment) -> None:
    refused = muniment("query", "anything", "--project", f"{muniment.project}x")
    assert (refused.code, refused.out) == (1, "")
    assert f"hint: Did you mean the project '{muniment.project}'? `muniment project list` shows" in refused.err
    as_json = muniment("status", "--project", "zzzz-zzzz", "--json")
    assert (as_json.code, as_json.json["code"], as_json.err) == (1, "not_found", "")
    assert "Did you mean" not in as_json.json["hint"]


def test_a_key_that_is_given_brings_its_own_project(muniment: Muniment, serving: Server) -> None:
    made = muniment("key", "create", "--default-project", muniment.project, "--workspace", serving.workspace, "--json").json
    key = (made[0] if isinstance(made, list) else made)["key"]
    for words, more in ((("--key", key), {}), ((), {"MUNIMENT_KEY": key})):
        status = muniment("status", "--json", *words, MUNIMENT_PROJECT="", **more)
        assert (status.code, status.json["project"]) == (0, muniment.project), status.err
