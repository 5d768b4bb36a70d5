"""Which project's memory a call touches, and which embedding space it searches: values made by access/, never from a user's text."""

import re

import msgspec

_ROLE = re.compile(r"mun_[0-9a-f]{8}_w[0-9]+")


class ProjectRef(msgspec.Struct, frozen=True):
    """One project as the database knows it. `schema` comes from the id, so that no name can collide or need quoting.

    `granted`: it is another workspace's than the caller's, which lets the caller read it.
    """

    workspace_id: int
    workspace: str
    role: str
    project_id: int
    project: str
    granted: bool = False

    def __post_init__(self) -> None:
        if not _ROLE.fullmatch(self.role):
            raise ValueError(f"not a workspace's role: {self.role!r}")

    @property
    def name(self) -> str:
        """How answers name it: by its slug, one of another workspace as `workspace/project`."""
        return f"{self.workspace}/{self.project}" if self.granted else self.project

    @property
    def schema(self) -> str:
        return "m_" + str(int(self.project_id))


class SpaceRef(msgspec.Struct, frozen=True):
    """One embedding space: vectors of two spaces are never compared.

    `heads` (of events) and `vectors` (of all passages) are what the worker last counted, None where it has not yet; `indexed` are the
    kinds of vectors that have a working index. All three may be some seconds old: for choosing a way, not for saying.
    """

    id: int
    provider: str
    model: str
    dim: int
    heads: int | None = None
    vectors: int | None = None
    indexed: tuple[int, ...] = ()
