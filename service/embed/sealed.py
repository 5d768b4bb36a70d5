"""Providers' keys as the database may hold them: encrypted with a secret of the installation that is not in it.

In: the secret that the server's keys are hashed with, a provider's key, the workspace that it belongs to. Out: text that only this
installation reads, and only for that workspace.
"""

import base64
import os
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from service.errors import Conflict
from service.remote import Secret

_NONCE: Final = 12


class Seal:
    """Seals keys and opens them again."""

    def __init__(self, pepper: str) -> None:
        self._cipher = None
        if pepper:
            self._cipher = AESGCM(HKDF(SHA256(), 32, None, b"muniment embedding keys").derive(pepper.encode()))

    def seal(self, secret: Secret, workspace_id: int) -> str:
        """The key, encrypted; raises `Conflict` where the installation has no secret of its own."""
        if self._cipher is None:
            raise Conflict("This installation has no secret to encrypt keys with.", hint="Its operator sets MUNIMENT_KEY_PEPPER.")
        nonce = os.urandom(_NONCE)
        return base64.b64encode(nonce + self._cipher.encrypt(nonce, secret.reveal().encode(), _bound_to(workspace_id))).decode()

    def open(self, sealed: str, workspace_id: int) -> Secret | None:
        """The key; None where it was sealed with another secret or for another workspace."""
        if self._cipher is None:
            return None
        try:
            whole = base64.b64decode(sealed, validate=True)
            return Secret(self._cipher.decrypt(whole[:_NONCE], whole[_NONCE:], _bound_to(workspace_id)).decode())
        except (InvalidTag, ValueError):
            return None


def _bound_to(workspace_id: int) -> bytes:
    return f"workspace {workspace_id:d}".encode()
