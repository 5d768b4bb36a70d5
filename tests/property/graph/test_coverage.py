"""A fuzzer that coverage leads finds no text that is neither compiled nor rejected, and what it finds accepted runs in the database.

`MUNIMENT_FUZZ_RUNS` says how many texts are tried. The first seed is the same each time, so a usual run asks the same.
"""

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.graph.describe import RECIPES
from tests.conftest import Projects
from tests.pairs.graph import test_rejections, test_scenarios
from tests.property.graph.model import DIM, random_graph
from tests.property.graph.store import store
from tests.property.graph.test_any_text import WORDS
from tests.property.graph.test_evaluator import SEED
from tests.property.graph.test_fuzz import PARAMS, tried

pytest.importorskip("atheris", reason="atheris has no wheel for this system")

RUNS = int(os.environ.get("MUNIMENT_FUZZ_RUNS", "200000" if os.environ.get("MUNIMENT_DEEP") else "20000"))
ROOT = Path(__file__).parents[3]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def project(database: Database, projects: Projects) -> ProjectRef:
    made = projects.make(dim=DIM)
    await store(database, made, random_graph(random.Random(5)))
    return made


@pytest.fixture(scope="module")
def accepted(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the fuzzer found accepted."""
    folder = tmp_path_factory.mktemp("fuzz")
    corpus, words, kept = folder / "corpus", folder / "words", folder / "kept"
    corpus.mkdir()
    queries = [query for _, query in RECIPES] + [query for query, _ in (*test_rejections.PAIRS, *test_scenarios.SCENARIOS)]
    for number, query in enumerate(queries):
        (corpus / str(number)).write_text(query, encoding="utf-8", errors="replace")
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in WORDS), encoding="ascii")
    options = [
        f"-atheris_runs={RUNS}",
        f"-seed={SEED % 2**31}",
        "-max_len=1500",
        "-timeout=20",
        f"-dict={words}",
        f"-artifact_prefix={folder}/",
    ]
    ran = subprocess.run(
        [sys.executable, "-m", "tests.property.graph.fuzzer", str(kept), *options, str(corpus)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    assert ran.returncode == 0, f"seed {SEED}:\n{ran.stdout[-3000:]}\n{ran.stderr[-6000:]}"
    done = re.search(r"^Done (\d+) in", ran.stdout + ran.stderr, re.MULTILINE)
    assert done, ran.stderr[-2000:]
    assert int(done.group(1)) >= RUNS
    return [msgspec.json.decode(line) for line in kept.read_bytes().splitlines()]


def _escaped(word: str) -> str:
    return "".join(chr(byte) if 32 < byte < 127 and chr(byte) not in '"\\' else f"\\x{byte:02x}" for byte in word.encode(errors="replace"))


async def test_what_a_fuzzer_finds_accepted_runs(database: Database, project: ProjectRef, accepted: list[str]) -> None:
    assert len(accepted) > len(RECIPES)
    for text in accepted:
        assert await tried(database, project, text, PARAMS) in (True, False), text
