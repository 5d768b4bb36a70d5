"""A real server, the real commands, and a gateway in front of the server that can be told to misbehave."""

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest

ROOT = Path(__file__).parents[3]
COMMAND = (sys.executable, "-m", "service.surface.cli.main")
_COUNT = itertools.count(1)


def environment(**more: str) -> dict[str, str]:
    """The environment without anything that names a server."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MUNIMENT_") and name != "DATABASE_URL"}
    return {**kept, "COLUMNS": "200", **more}


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Server:
    """A server that was started with `muniment serve`."""

    data: Path
    url: str
    key: str
    workspace: str

    def make_project(self) -> str:
        slug = f"p{next(_COUNT)}"
        answer = httpx2.post(
            f"{self.url}/api/v1/workspaces/{self.workspace}/projects",
            json={"slug": slug},
            headers={"Authorization": f"Bearer {self.key}"},
            timeout=60,
            trust_env=False,
        )
        assert answer.status_code == 201, answer.text
        return slug


@dataclass(frozen=True)
class Muniment:
    """Runs commands on one project of the server."""

    server: Server
    project: str

    def __call__(self, *words: str, **more: str) -> Done:
        return run(*words, **{"MUNIMENT_DATA": str(self.server.data), "MUNIMENT_PROJECT": self.project, **more})

    def through(self, gateway: "Gateway", *words: str) -> Done:
        """The same by way of the gateway."""
        return self(*words, "--url", gateway.url, "--key", self.server.key, "--workspace", self.server.workspace)

    def count(self, query: str) -> int:
        done = self("query", query, "--limit", "100", "--json")
        assert done.code == 0, done.err
        return len(done.json["raw_hits"]) + len(done.json["hits"])


@contextmanager
def served(data: Path, *words: str, **more: str) -> Iterator[tuple[Server, "subprocess.Popen[str]"]]:
    """Runs `muniment serve` on a data folder for the length of a block."""
    command = [*COMMAND, "serve", "--data", str(data), "--port", "0", "--json", *words]
    with (
        data.with_suffix(".log").open("w") as log,
        subprocess.Popen(command, cwd=ROOT, env=environment(**more), stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        try:
            assert "key" in told, told
            yield Server(data, told["url"], told["key"], told["workspace"]), process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(120)


def run(*words: str, **more: str) -> Done:
    """A command in a shell with just these variables."""
    done = subprocess.run([*COMMAND, *words], cwd=ROOT, env=environment(**more), capture_output=True, text=True, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with served(tmp_path_factory.mktemp("serve") / "data") as (server, _):
        yield server


@pytest.fixture
def muniment(serving: Server) -> Muniment:
    """Commands on a fresh project."""
    return Muniment(serving, serving.make_project())


@dataclass
class Gateway:
    """Hands requests on to a server. `script` holds what happens to the next ones instead: a status to answer, a body to answer (JSON), `lose`
    (the request is handed on and its answer lost) or `pass`; `most_bytes` is the largest body that passes; `held` is set when a request has come in while
    `holding` is clear."""

    server: Server
    url: str = ""
    script: deque[int | str] = field(default_factory=deque)
    most_bytes: int = 1 << 30
    holding: threading.Event = field(default_factory=threading.Event)
    held: threading.Event = field(default_factory=threading.Event)
    statuses: list[int | str] = field(default_factory=list)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        self.held.set()
        self.holding.wait(60)
        step = self.script.popleft() if self.script else 413 if len(body) > self.most_bytes else None
        if isinstance(step, int):
            problem = json.dumps({"code": "busy", "status": step, "error": "Not now."}).encode()
            self._send(handler, step, problem)
            return
        if isinstance(step, str) and step.startswith("{"):
            self._send(handler, 200, step.encode())
            return
        kept = {name: value for name, value in handler.headers.items() if name.lower() in {"authorization", "content-type"}}
        got = httpx2.request(handler.command, self.server.url + handler.path, content=body, headers=kept, trust_env=False, timeout=60)
        if step == "lose":
            self.statuses.append(step)
            handler.close_connection = True
            handler.connection.close()
            return
        self._send(handler, got.status_code, got.content)

    def _send(self, handler: BaseHTTPRequestHandler, status: int, body: bytes) -> None:
        self.statuses.append(status)
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body)))
        handler.send_header("Retry-After", "0")
        handler.end_headers()
        handler.wfile.write(body)


@pytest.fixture
def gateway(serving: Server) -> Iterator[Gateway]:
    made = Gateway(serving)
    made.holding.set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _hand_on(self) -> None:
            made.answer(self)

        do_GET = do_POST = do_PUT = _hand_on  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        httpd.daemon_threads = True
        made.url = f"http://127.0.0.1:{httpd.server_port}"
        thread = threading.Thread(target=httpd.serve_forever)
        thread.start()
        yield made
        made.holding.set()
        httpd.shutdown()
        thread.join()
