import json
from pathlib import Path

import pytest

from service.sample.loader import read_sample
from tests.integration.cli.conftest import Gateway, Muniment

PAGES = {"created": 0, "changed": 0, "unchanged": 0, "failed": 0}
EVENTS = {"stored": 0, "known": 0, "failed": 0}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "decisions").mkdir(parents=True)
    (folder / "index.md").write_text("---\ntitle: The index\ntags: [area/kumquat]\n---\nSee [[storage]].\n")
    (folder / "decisions" / "storage 100%?#.md").write_text("# Storage\n\nKumquats are kept in jars.\n")
    (folder / "한글.md").write_text("# 저장\n\n본문\n")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    return folder


def lines(tmp_path: Path, *events: object) -> Path:
    file = tmp_path / "events.jsonl"
    file.write_text("".join((event if isinstance(event, str) else json.dumps(event)) + "\n" for event in events))
    return file


def test_a_folder_twice_is_the_same_as_once(muniment: Muniment, notes: Path) -> None:
    first = muniment("import", "--markdown", str(notes), "--json")
    assert (first.code, first.json["pages"], first.json["events"]) == (0, {**PAGES, "created": 3}, EVENTS)
    assert [report["code"] for report in first.json["reports"]] == ["ignored_files"]
    assert muniment("import", "--markdown", str(notes), "--json").json["pages"] == {**PAGES, "unchanged": 3}
    (notes / "index.md").write_text("# Another index\n")
    assert muniment("import", "--markdown", str(notes), "--json").json["pages"] == {**PAGES, "changed": 1, "unchanged": 2}
    found = muniment("query", "kumquats in jars", "--json").json
    assert [hit["path"] for hit in found["hits"]][:1] == ["decisions/storage 100%?#.md"]


def test_a_page_that_somebody_else_changed_is_named(muniment: Muniment, notes: Path) -> None:
    muniment("import", "--markdown", str(notes))
    (notes / "index.md").write_text("# Another index\n")
    (other,) = muniment("key", "create", "--workspace", muniment.server.workspace, "--json").json
    server = ("--url", muniment.server.url, "--key", other["key"], "--workspace", muniment.server.workspace)
    done = muniment("import", "--markdown", str(notes), "--json", *server)
    assert (done.code, done.json["pages"]) == (0, {**PAGES, "changed": 1, "unchanged": 2})
    (report,) = [each for each in done.json["reports"] if each["code"] == "replaced"]
    assert report["source"] == "index.md"
    assert report["message"].startswith("Version 1, by ")
    assert "another start" not in report["message"]  # a key that is no admin's may not know


def test_who_wrote_what_was_replaced_is_named_by_the_key(muniment: Muniment, notes: Path) -> None:
    workspace, url = muniment.server.workspace, muniment.server.url
    for name, told in (("serve", "the key of another start of this server"), ("wren", "wren"), ("", "")):
        (other,) = muniment("key", "create", "--workspace", workspace, "--name", name, "--json").json
        server = ("--url", url, "--key", other["key"], "--workspace", workspace)
        (notes / "index.md").write_text(f"# By another: {name}\n")
        assert muniment("import", "--markdown", str(notes), "--json", *server).code == 0
        (notes / "index.md").write_text(f"# After {name}\n")
        reports = muniment("import", "--markdown", str(notes), "--json").json["reports"]
        (report,) = [each for each in reports if each["code"] == "replaced"]
        assert f", by {other['key'].split('_')[1]}{told and f' ({told})'}, made room" in report["message"]


def test_totals_for_people(muniment: Muniment, notes: Path) -> None:
    done = muniment("import", "--markdown", str(notes))
    assert done.code == 0
    assert done.out.splitlines()[-1] == "pages: 3 stored, 0 changed, 0 unchanged, 0 failed"
    assert "ignored_files" in done.out
    assert done.err == ""


def test_bad_lines_of_events_are_told_by_line_and_the_others_stored(muniment: Muniment, tmp_path: Path) -> None:
    file = lines(
        tmp_path,
        {"summary": "kumquat one"},
        "{broken",
        {"summary": "kumquat two", "previous": "evt_999"},
        {"summary": "x" * 501},
        {"summary": "kumquat three", "entities": ["Jar"], "tags": ["a/b"]},
        {"summary": "kumquat one"},
    )
    done = muniment("import", "--events", str(file))
    assert done.code == 1
    told = [row.split(" ")[:2] for row in done.out.splitlines()[:-1]]
    assert told == [[f"{file}:2", "malformed_json"], [f"{file}:3", "not_found"], [f"{file}:4", "too_long"]]
    assert done.out.splitlines()[-1] == "events: 3 stored, 0 already there, 3 failed"
    again = muniment("import", "--events", str(file), "--json")
    assert (again.code, again.json["events"]) == (1, {**EVENTS, "known": 3, "failed": 3})
    assert [(report["line"], report["code"]) for report in again.json["reports"]] == [
        (2, "malformed_json"),
        (3, "not_found"),
        (4, "too_long"),
    ]
    assert muniment.count("kumquat") == 3


def test_secrets_that_were_taken_out_are_told(muniment: Muniment, notes: Path, tmp_path: Path) -> None:
    secret = "password = " + "Zq8" + "vT3mLw9xKp"
    (notes / "index.md").write_text(f"# Access\n\n{secret}\n")
    file = lines(tmp_path, {"summary": "The kumquat login", "content": secret})
    done = muniment("import", "--markdown", str(notes), "--events", str(file))
    assert (done.code, done.out.splitlines()[-1]) == (0, "secrets: 2 taken out, each replaced by [redacted:…]")
    assert muniment("import", "--events", str(file), "--json").json["redacted"] == 1


def test_what_holds_nothing_is_no_success(muniment: Muniment, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = muniment("import", "--markdown", str(tmp_path / "empty"))
    assert (done.code, done.out) == (1, "")
    assert done.err == "Nothing was imported: there is no page and no event in what was given.\n"
    as_json = muniment("import", "--markdown", str(tmp_path / "empty"), "--json")
    assert (as_json.code, as_json.json["pages"]) == (1, PAGES)


def test_a_file_that_cannot_be_taken_counts_as_one(muniment: Muniment, notes: Path) -> None:
    done = muniment("import", "--markdown", str(notes), "--transcript", str(notes / "index.md"))
    assert done.code == 1
    assert done.out.splitlines()[-2:] == [
        "pages: 3 stored, 0 changed, 0 unchanged, 0 failed",
        "events: 0 stored, 0 already there, 1 failed",
    ]
    assert f"{notes / 'index.md'} no_transcript " in done.out


def test_a_transcript_that_grows(muniment: Muniment, tmp_path: Path) -> None:
    def record(number: int, text: str) -> str:
        return json.dumps({"type": "user", "uuid": f"u{number}", "sessionId": "s-1", "message": {"role": "user", "content": text}}) + "\n"

    file = tmp_path / "session.jsonl"
    file.write_text(record(1, "Why do kumquats rot?") + record(2, "Look at the jar."))
    assert muniment("import", "--transcript", str(file), "--json").json["events"] == {**EVENTS, "stored": 2}
    file.write_text(file.read_text() + record(3, "It was open."))
    again = muniment("import", "--transcript", str(file), "--json")
    assert (again.code, again.json["events"]) == (0, {**EVENTS, "stored": 1, "known": 2})
    (hit,) = muniment("query", "kumquats rot", "--limit", "1", "--json").json["raw_hits"]
    assert (hit["session"], hit["kind"]) == ("s-1", "user")


def test_the_sample_with_its_threads(muniment: Muniment) -> None:
    sample = read_sample()
    first = muniment("import", "--sample", "--json")
    assert first.code == 0, first.out
    assert first.json["events"] == {**EVENTS, "stored": len(sample.events)}
    assert first.json["pages"] == {**PAGES, "created": len(sample.pages)}
    assert first.json["aliases"] == {"stored": len(sample.aliases), "known": 0, "failed": 0}
    assert first.json["reports"] == []
    again = muniment("import", "--sample", "--json")
    assert again.json["aliases"] == {"stored": 0, "known": len(sample.aliases), "failed": 0}
    assert again.json["events"] == {**EVENTS, "known": len(sample.events)}
    assert again.json["pages"] == {**PAGES, "unchanged": len(sample.pages)}
    rows = muniment("graph", "START a = events(ids: ['evt_1']) MATCH (a)-[:NEXT]->(b) RETURN b.id ORDER BY b.id", "--json").json["rows"]
    after_first = [item for item in sample.events if item.previous_key == "sample-001"]
    assert rows == [[f"evt_{int((item.event.ingest_key or '')[-3:])}"] for item in after_first]


def test_the_sample_goes_to_its_own_project_where_none_is_named(muniment: Muniment, notes: Path) -> None:
    sample = read_sample()
    unnamed = {"MUNIMENT_PROJECT": ""}
    done = muniment("import", "--sample", "--markdown", str(notes), "--json", **unnamed)
    assert (done.code, done.json["aliases"]["stored"]) == (0, len(sample.aliases)), done.err
    assert muniment("status", "--project", "sample", "--json").json["counts"]["events"] == len(sample.events)
    memory = muniment("status", "--json", **unnamed).json
    assert (memory["project"], memory["counts"]["events"]) == ("memory", 0)
    assert memory["counts"]["pages"] == 3
    made = muniment("key", "create", "--scope", "read", "--scope", "write", "--json").json[0]["key"]
    again = muniment("import", "--sample", "--key", made, "--json", **unnamed)
    assert (again.code, again.json["events"]["known"]) == (0, len(sample.events)), again.err
    assert muniment("project", "delete", "sample", "--yes").code == 0
    refused = muniment("import", "--sample", "--key", made, "--json", **unnamed)
    assert (refused.code, refused.json["code"]) == (1, "not_found")


def test_a_busy_server_is_waited_for(muniment: Muniment, gateway: Gateway, notes: Path, tmp_path: Path) -> None:
    gateway.script.extend([503, 429, 503])
    file = lines(tmp_path, {"summary": "kumquat"})
    done = muniment.through(gateway, "import", "--markdown", str(notes), "--events", str(file), "--json")
    assert done.code == 0, done.err
    assert (done.json["pages"]["created"], done.json["events"]["stored"]) == (3, 1)
    assert gateway.statuses == [503, 429, 503, 200, 200, 200, 200]


def test_a_lost_answer_stores_nothing_twice(muniment: Muniment, gateway: Gateway, notes: Path, tmp_path: Path) -> None:
    file = lines(tmp_path, {"summary": "kumquat"}, {"summary": "kumquat"})
    assert muniment("import", "--markdown", str(notes)).code == 0
    gateway.script.extend(["pass", "pass", "pass", "lose"])
    done = muniment.through(gateway, "import", "--markdown", str(notes), "--events", str(file), "--json")
    assert done.code == 0, done.err
    assert (done.json["pages"]["unchanged"], done.json["events"]["known"]) == (3, 2)
    assert gateway.statuses == [200, 200, 200, "lose", 200]


def test_a_batch_that_is_too_large_is_halved(muniment: Muniment, gateway: Gateway, tmp_path: Path) -> None:
    gateway.most_bytes = 2_000
    file = lines(
        tmp_path, *({"summary": f"kumquat {n}", "content": "jar " * 20} for n in range(30)), {"summary": "big", "content": "x" * 3000}
    )
    done = muniment.through(gateway, "import", "--events", str(file), "--json")
    assert (done.code, done.json["events"]) == (1, {**EVENTS, "stored": 30, "failed": 1})
    assert [report["line"] for report in done.json["reports"]] == [31]


def test_a_refusal_that_would_meet_every_line_ends_the_import(muniment: Muniment, gateway: Gateway, notes: Path) -> None:
    gateway.script.extend(["pass", 403])
    done = muniment.through(gateway, "import", "--markdown", str(notes))
    assert done.code == 1
    assert done.out.splitlines()[-1] == "pages: 1 stored, 0 changed, 0 unchanged, 0 failed"
    assert done.err == "error: Not now.\n"
    assert gateway.statuses[1:] == [403]
