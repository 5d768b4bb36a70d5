"""`muniment export` and `import --export` against a running server."""

import json
from pathlib import Path

from tests.integration.cli.conftest import Muniment


def test_a_project_goes_to_a_file_and_into_another(muniment: Muniment, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    assert muniment("import", "--sample").code == 0
    done = muniment("export", "--out", str(file), "--json")
    assert (done.code, done.json["bytes"]) == (0, file.stat().st_size)
    assert file.stat().st_mode & 0o077 == 0
    printed = muniment("export")
    assert printed.out == file.read_text()
    other = Muniment(muniment.server, muniment.server.make_project())
    done = other("import", "--export", str(file), "--json")
    assert done.code == 0, done.out
    first = done.json["export"]
    assert first["event"] == {"stored": json.loads(printed.out.splitlines()[0])["counts"]["event"], "known": 0, "failed": 0}
    again = other("import", "--export", str(file), "--json")
    assert (again.code, again.json["export"]["event"]["stored"], again.json["export"]["page"]["stored"]) == (0, 0, 0)
    statuses = [each("status", "--wait", "--timeout", "300", "--json").json for each in (muniment, other)]
    assert statuses[0]["counts"] == statuses[1]["counts"]
    assert statuses[0]["embedding"]["embedded"] == statuses[1]["embedding"]["embedded"] > 0
    for text in ("save format of notebooks", "what broke on the relay", "kick-off"):
        found = [each("query", text, "--limit", "10", "--json").json for each in (muniment, other)]
        assert [hit["id"] for hit in found[0]["raw_hits"]] == [hit["id"] for hit in found[1]["raw_hits"]], text
        assert [hit["path"] for hit in found[0]["hits"]] == [hit["path"] for hit in found[1]["hits"]], text


def test_a_damaged_file_ends_in_an_error_that_says_where(muniment: Muniment, tmp_path: Path) -> None:
    assert muniment("import", "--sample").code == 0
    lines = muniment("export").out.splitlines(keepends=True)
    event = next(number for number, line in enumerate(lines) if line.startswith('{"line":"event"'))
    file = tmp_path / "damaged.jsonl"
    file.write_text("".join([*lines[:event], lines[event][:40] + "\n", *lines[event + 1 : -1]]))
    other = Muniment(muniment.server, muniment.server.make_project())
    done = other("import", "--export", str(file))
    assert done.code == 1
    assert f"{file}:{event + 1} malformed_json" in done.out
    assert "cut_off" in done.out


def test_a_project_is_deleted_with_consent(muniment: Muniment) -> None:
    assert muniment("import", "--sample").code == 0
    words = ("project", "delete", muniment.project, "--workspace", muniment.server.workspace)
    refused = muniment(*words)
    assert refused.code != 0
    assert muniment("status").code == 0
    done = muniment(*words, "--yes", "--json")
    assert done.code == 0, done.err
    assert done.json[0]["event"] > 0
    gone = muniment("status")
    assert gone.code == 1
    assert "no project" in gone.err
