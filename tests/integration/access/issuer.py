"""An OIDC issuer of the tests' own: an HTTP server with a discovery document and a key set, and tokens signed with its keys."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

AUDIENCE = "https://muniment.test/mcp"


class Issuer:
    """Serves the public halves of `keys`. `fetches` counts how often they were asked for; `down` answers 503 to everything."""

    def __init__(self) -> None:
        self.keys: dict[str, Any] = {}
        self.fetches = 0
        self.fetched = threading.Semaphore(0)
        self.down = False
        self.said_issuer: str | None = None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}/realm"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def add_rsa(self, kid: str) -> None:
        self.keys[kid] = rsa.generate_private_key(65537, 2048)

    def add_ec(self, kid: str) -> None:
        self.keys[kid] = ec.generate_private_key(ec.SECP256R1())

    def public_pem(self, kid: str) -> bytes:
        return self.keys[kid].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def claims(self, workspace: str, **changed: Any) -> dict[str, Any]:
        """What a good token says; a claim of None is left out."""
        now = int(time.time())
        good = {"iss": self.url, "aud": AUDIENCE, "sub": "ann", "iat": now, "exp": now + 600, "workspace": workspace, "scope": "read write"}
        return {name: value for name, value in {**good, **changed}.items() if value is not None}

    def token(self, claims: dict[str, Any], kid: str | None, algorithm: str = "RS256", key: Any = None, **header: Any) -> str:
        """A token signed with the key of this id, or with another one under its name."""
        named = {**({} if kid is None else {"kid": kid}), **header}
        # Signed as bytes, since PyJWT would not make a token whose claims are wrong.
        return jwt.PyJWS().encode(json.dumps(claims).encode(), key if key is not None else self.keys[kid or "rsa"], algorithm, named)

    def document(self) -> dict[str, Any]:
        found = []
        for kid, key in self.keys.items():
            algorithm = RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else ECAlgorithm
            found.append({**algorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid, "use": "sig"})
        # Kinds of keys that nobody here can use; they must not stand in the way of the others.
        return {
            "keys": [{"kty": "new", "kid": "new"}, {"kty": "oct", "kid": "shared", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0ISE"}, *found]
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path == "/realm/.well-known/openid-configuration":
                    body: Any = {"issuer": issuer.said_issuer or issuer.url, "jwks_uri": f"{issuer.url}/keys"}
                else:
                    issuer.fetches += 1
                    issuer.fetched.release()
                    body = issuer.document()
                self.send_response(503 if issuer.down else 200)
                self.end_headers()
                self.wfile.write(json.dumps(body).encode())

            def log_message(self, *args: Any) -> None:
                """Says nothing."""

        return Handler
