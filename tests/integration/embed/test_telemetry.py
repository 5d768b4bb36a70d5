"""The local model tells nobody that it runs: its library would, were it not told otherwise before it is loaded."""

import os
import subprocess
import sys
from pathlib import Path


def test_the_library_leaves_nothing_to_send(tmp_path: Path) -> None:
    code = (
        "import asyncio\n"
        "from service.embed.choose import make_provider\n"
        "async def once():\n"
        "    provider = make_provider('local')\n"
        "    print(len(await provider.embed_query('hello')))\n"
        "    await provider.close()\n"
        "asyncio.run(once())\n"
    )
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_DATA_HOME": str(tmp_path / "data")}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "384"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
