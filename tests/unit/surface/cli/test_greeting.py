from pathlib import Path
from typing import Any, cast

import pytest

from service.app import Announcement
from service.surface.cli.connection import data_folder
from service.surface.cli.greeting import greet

READY = Announcement(
    url="http://127.0.0.1:8001",
    mcp="http://127.0.0.1:8001/mcp",
    key="mun_x",
    workspace="main",
    project="memory",
    database="postgresql://x",
    embedded=True,
)


async def greeted(capsys: pytest.CaptureFixture[str], data: Path) -> list[str]:
    await greet(data=data, sample=False, as_json=False)(READY, cast("Any", None))
    return capsys.readouterr().out.splitlines()


async def test_in_the_usual_folder_the_commands_are_given_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    lines = await greeted(capsys, data_folder(None, {}).absolute())
    assert lines[-1].startswith('In another terminal: `muniment query "…"`')
    assert not any("MUNIMENT_DATA" in line for line in lines)


async def test_another_folder_is_named_so_that_the_commands_find_it(capsys: pytest.CaptureFixture[str]) -> None:
    lines = await greeted(capsys, Path("/srv/my [team] data"))
    assert "  export MUNIMENT_DATA='/srv/my [team] data'" in lines
    assert any("--data" in line for line in lines)
    assert lines[-1].startswith('Then `muniment query "…"`')
