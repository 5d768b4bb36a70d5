"""The secret that keys are hashed with, the same for all who work on one database: of the settings, or of a file in the data folder.

In: the string of a login, settings, a data folder. Out: the secret. The database holds a mark of it, from which it cannot be told: the
first who uses a secret leaves the mark, and any other is refused, since keys that were made with it would open nothing.
"""

import hashlib
import os
import secrets
from pathlib import Path
from typing import Final

import psycopg

from service.db.queries import load
from service.errors import InvalidSetting, UnsuitableDatabase
from service.settings import Settings
from service.tenants.owner import Owner, login_connection, run, run_one

FILE_NAME: Final = "pepper"
_VOID: Final = "To change it on purpose, which ends every key: `muniment key change-pepper`."


def find_pepper(url: str, settings: Settings, data: Path) -> str:
    """The installation's secret; raises `InvalidSetting` where neither the settings nor the data folder has it.

    `url`: the owner's login or the API's.
    """
    with login_connection(url, "The database does not answer.", sessions=False) as login:
        tag, known = _settle(login, None)
        if known is None:
            chosen = _first_pepper(settings, data)
            if _settle(login, _mark(chosen, tag))[1] == _mark(chosen, tag):
                return chosen
            tag, known = _settle(login, None)
    for pepper in _at_hand(settings, data):
        if _mark(pepper, tag) == known:
            return pepper
    raise _refusal(settings, data)


def change_pepper(owner: Owner, settings: Settings, data: Path) -> bool:
    """Takes the secret of the settings, or of the data folder, for the installation's from now on; False where it was that already."""
    tag, known = _settle(owner, None)
    mark = _mark(_first_pepper(settings, data), tag)
    run(owner, load("control", "admin")["set_pepper"], mark)
    return mark != known


def _settle(login: Owner, mark: str | None) -> tuple[str, str | None]:
    """The installation's tag and the mark that it knows, which is the given one where it knew none."""
    try:
        row = run_one(login, load("control", "login")["settle_pepper"], mark)
    except (psycopg.errors.InvalidSchemaName, psycopg.errors.UndefinedFunction, psycopg.errors.InsufficientPrivilege):
        row = None
    if row is None:
        raise UnsuitableDatabase("The database is not set up for this login.", hint="Run `muniment migrate` first.")
    return row["tag"], row["mark"]


def _mark(pepper: str, tag: str) -> str:
    """Slow to make, so that who reads the database cannot try out secrets that people thought of."""
    return hashlib.scrypt(pepper.encode(), salt=f"muniment pepper {tag}".encode(), n=2**14, r=8, p=1, dklen=16).hex()


def _at_hand(settings: Settings, data: Path) -> list[str]:
    """What the secret may be: that of the settings, else the data folder's or none."""
    if settings.key_pepper:
        return [settings.key_pepper]
    path = data / FILE_NAME
    return [path.read_text(encoding="ascii").strip(), ""] if path.exists() else [""]


def _first_pepper(settings: Settings, data: Path) -> str:
    """The secret of an installation that has none yet: with the embedded database it is made and kept in the data folder."""
    if settings.key_pepper or settings.database_url is not None or settings.owner_url is not None:
        return settings.key_pepper
    path = data / FILE_NAME
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text(encoding="ascii").strip()
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(secrets.token_hex(32))
    return path.read_text(encoding="ascii").strip()


def _refusal(settings: Settings, data: Path) -> InvalidSetting:
    path = data / FILE_NAME
    if settings.key_pepper:
        return InvalidSetting(
            "MUNIMENT_KEY_PEPPER is not the secret that this installation's keys are hashed with.",
            hint="Set it as the servers have it, or leave it out where they have it from the file `pepper` in their data folder (--data). "
            + _VOID,
        )
    file = f"the one in {path} is another" if path.exists() else f"there is none in {path}"
    return InvalidSetting(
        f"The secret that this installation's keys are hashed with is not here: MUNIMENT_KEY_PEPPER is not set, and {file}.",
        hint="Set MUNIMENT_KEY_PEPPER as the servers have it, or name their data folder with --data. " + _VOID,
    )
