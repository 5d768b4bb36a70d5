"""What a caller may give away: never more than it has.

In: a `Caller` and what it wants to give. Out: nothing or what is left of it, or `Forbidden`. The database checks the same once more, in
the transaction that gives (control.may_grant), so that a key that was revoked meanwhile gives nothing.
"""

from collections.abc import Collection
from datetime import UTC, datetime

from service.access.keys import PERSON, Caller
from service.errors import Forbidden, InvalidRequest


def granting_key(caller: Caller) -> str | None:
    """The key whose rights the database looks up; None for a person, whose token was checked."""
    return None if caller.key_id.startswith(PERSON) else caller.key_id


def reach_of(caller: Caller) -> list[int] | None:
    """The numbers of the projects that a caller is bound to, for the database; None for all."""
    return None if caller.projects is None else sorted(caller.projects)


def require_all_projects(caller: Caller, what: str) -> None:
    """Raises `Forbidden` for a key that is bound to some projects and would do `what`, which concerns all of them."""
    if caller.projects is not None:
        raise Forbidden(f"This key is bound to some projects and cannot {what}.", hint="Use an admin key of the whole workspace.")


def require_scopes(caller: Caller, scopes: Collection[str]) -> None:
    """Raises `Forbidden` where a scope is to be given that the caller does not have."""
    beyond = sorted(set(scopes) - caller.scopes)
    if beyond:
        has = ", ".join(sorted(caller.scopes))
        raise Forbidden(f"This {caller.noun} does not have {', '.join(beyond)} and cannot give it.", hint=f"It can give: {has}.")


def limit_life(caller: Caller, wanted: datetime | None) -> datetime | None:
    """When what is given ends: as wanted, else with the caller's key. Raises `Forbidden` for a longer life than the key's own."""
    if wanted is not None and wanted <= datetime.now(UTC):
        raise InvalidRequest("expires_at: that is over already.", hint="Give a time to come, or leave it out.")
    if caller.expires_at is None:
        return wanted
    if wanted is not None and wanted > caller.expires_at:
        raise Forbidden(
            f"This key ends at {caller.expires_at.isoformat()}; what it gives cannot last longer.", hint="Give an earlier expires_at."
        )
    return wanted or caller.expires_at


def gone_meanwhile() -> Forbidden:
    """The refusal when the database finds that a right, or a project that it is for, went while it was given."""
    return Forbidden("The key that asks, or a project that is named, is gone or changed.", hint="Look at both and try again.")
