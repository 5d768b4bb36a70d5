"""What can go wrong, as classes: each has a stable code, a status and a hint; every surface reads the same three.

In: what the rooms raise. Out: `Problem`, the one shape of an error that REST, MCP and the command line encode.
A class's docstring is the meaning of its code (`docs/errors.md` lists them; a test holds the two together).
"""

from typing import Any, ClassVar

import msgspec


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """An error as a caller sees it: `code` is stable, `error` is for people, `hint` says what to do next."""

    code: str
    status: int
    error: str
    hint: str | None = None
    members: dict[str, Any] = {}


class MunimentError(Exception):
    """Something went wrong."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    hint: str | None = None

    def __init__(self, message: str | None = None, *, hint: str | None = None, **members: Any) -> None:
        super().__init__(message or (self.__doc__ or "").strip().splitlines()[0])
        if hint is not None:
            self.hint = hint
        self.members = members

    @property
    def message(self) -> str:
        return str(self.args[0])

    def problem(self) -> Problem:
        """The error as every surface shows it."""
        return Problem(code=self.code, status=self.status, error=self.message, hint=self.hint, members=self.members)


class InvalidRequest(MunimentError):
    """The request cannot be read: a wrong name, type or value."""

    code = "invalid_request"
    status = 422


class MalformedBody(MunimentError):
    """The body is not the JSON that was announced."""

    code = "malformed_body"
    status = 400
    hint = "Send one JSON object in UTF-8: names and texts in double quotes, no comma after the last."


class BodyTooLarge(MunimentError):
    """The body is larger than the server takes."""

    code = "body_too_large"
    status = 413


class UnsupportedMediaType(MunimentError):
    """The body's content type is not one that this address reads."""

    code = "unsupported_media_type"
    status = 415


class Unauthenticated(MunimentError):
    """No valid key was given."""

    code = "unauthenticated"
    status = 401
    hint = "Send the header `Authorization: Bearer mun_…` with a key that is neither revoked nor expired."


class Forbidden(MunimentError):
    """The key or token may not do this."""

    code = "forbidden"
    status = 403


class QuotaReached(MunimentError):
    """The workspace keeps as much as it may; nothing was stored."""

    code = "quota_reached"
    status = 403


class OriginRefused(MunimentError):
    """The request comes from an origin or names a host that this server does not serve."""

    code = "origin_refused"
    status = 403
    hint = "Add the host to MUNIMENT_ALLOWED_HOSTS or the origin to MUNIMENT_ALLOWED_ORIGINS."


class NotFound(MunimentError):
    """There is no such thing, or the key or token cannot read it."""

    code = "not_found"
    status = 404


def reason_of(error: Exception) -> str | None:
    """The stable word in which an error of ours says why, where it has one."""
    reason = error.members.get("reason") if isinstance(error, MunimentError) else None
    return None if reason is None else str(reason)


def no_workspace(slug: str) -> NotFound:
    """What is said of a workspace that is not there, and of one that the caller may not see."""
    return NotFound(
        f"There is no workspace {slug[:80]!r} here, or the key or token cannot read it.",
        hint="Leave `workspace` out for the one that the key or token belongs to; memory_status and list_projects name it.",
    )


def no_project(slug: str) -> NotFound:
    """The same of a project."""
    return NotFound(
        f"There is no project {slug[:80]!r} here, or the key or token cannot read it.",
        hint="list_projects (GET /workspaces/{workspace}/projects) shows those that it can.",
    )


def no_event(public_id: str, field: str = "") -> NotFound:
    """What is said of an event that is not there, or not there any more."""
    where = f"{field}: there" if field else "There"
    return NotFound(
        f"{where} is no event {public_id[:80]} in this project.",
        hint="list_memory_timeline and memory_query show ids; one that was forgotten is not given again.",
    )


def no_page(path: str) -> NotFound:
    """The same of a page."""
    return NotFound(f"There is no page {path!r}.", hint="list_pages shows the paths, by their beginning (`prefix`).")


def no_session(name: str, field: str = "") -> NotFound:
    """The same of a session."""
    where = f"{field}: there" if field else "There"
    return NotFound(
        f"{where} is no session {name[:80]!r}.",
        hint="Give its name or UUID, as GET …/sessions lists them; a session begins with its first event, or by starting it.",
    )


def no_version(path: str, version: int, earliest: int, newest: int) -> NotFound:
    """What is said of a version that a page does not have, or not any more."""
    kept = f"earlier ones are kept from {earliest} on" if earliest < newest else "no earlier one is kept"
    return NotFound(f"There is no version {version} of the page {path!r}.", hint=f"Its newest version is {newest}, and {kept}.")


class ScopeMissing(MunimentError):
    """No project was named and the key has no default project."""

    code = "scope_missing"
    status = 422


class Conflict(MunimentError):
    """The change collides with what is stored."""

    code = "conflict"
    status = 409


class VersionConflict(Conflict):
    """The page was changed in the meantime."""

    code = "version_conflict"


class TooLong(InvalidRequest):
    """A text is longer than its field takes."""

    code = "too_long"


class DatabaseUnavailable(MunimentError):
    """The database does not answer."""

    code = "database_unavailable"
    status = 503
    hint = "Try again in a few seconds; /readyz says what is missing."


class DatabaseBusy(MunimentError):
    """Every database connection is in use."""

    code = "database_busy"
    status = 503
    hint = "Try again in a moment, or raise MUNIMENT_POOL_MAX."


class DatabaseFull(MunimentError):
    """The disk under the database is full."""

    code = "database_full"
    status = 507
    hint = "Nothing was changed, and reading goes on. Free some space where the database keeps its files, then try again."


class QueryTooSlow(MunimentError):
    """The database stopped the statement at its time limit."""

    code = "query_too_slow"
    status = 503
    hint = "Ask for less: a smaller limit or a narrower scope."


class UnsuitableDatabase(MunimentError):
    """The database server cannot be used as it is."""

    code = "unsuitable_database"
    status = 500


class InvalidSetting(MunimentError):
    """A setting has a value that cannot be used."""

    code = "invalid_setting"
    status = 500


class InternalError(MunimentError):
    """Something unexpected went wrong on the server; its log has the details under the request's id."""

    code = "internal_error"
    status = 500
