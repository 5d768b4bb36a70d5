"""Redaction: every kind of secret goes, wherever it stands; what only looks like one stays."""

import base64
import hashlib
import random
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.memory.redact import OFF, Redacted, redact
from service.memory.secret_patterns import KINDS
from tests.unit.memory.secret_builder import ALNUM, PLACED, PREFIXED, chars

AROUND = ("{}", "say {} now", "키는 {}를", "密钥是{}吧", "キー「{}」です", "\\n{}\\n", "({})", "x={};y", '"{}"', "a\n{}\nb", "[{}](docs)")
HARMLESS = (
    "commit 3f786850e387550fdab836ed7e6dc881de23001b reverts da6d6ac and 744c386",
    f"id {uuid.UUID(int=random.Random(7).getrandbits(128))} of session {uuid.UUID(int=random.Random(8).getrandbits(128))}",
    "![dot](data:image/png;base64," + base64.b64encode(random.Random(1).randbytes(60_000)).decode() + ")",
    '"integrity": "sha512-' + base64.b64encode(hashlib.sha512(b"x").digest()).decode() + '"',
    f"    --hash=sha256:{hashlib.sha256(b'x').hexdigest()} \\",
    f'checksum = "{hashlib.sha256(b"y").hexdigest()}"',
    f"go.sum: golang.org/x/text v0.3.0 h1:{base64.b64encode(hashlib.sha256(b'z').digest()).decode()}",
    "image: ghcr.io/acme/app@sha256:" + hashlib.sha256(b"i").hexdigest(),
    "The password must have at least 8 characters; the token expires in 3600 seconds.",
    "Password: required. Secret: none. Token: optional, see RFC6750 section 2.1.",
    "password: ${DB_PASSWORD}\ntoken: {{ .Values.token }}\napi_key: <your-key-here-1>\nsecret: $SECRET_V2",
    "password = os.environ['DB_PASSWORD_2'] or get_secret('db1')",
    "const token = await fetchToken1(options); token: string; apiKey: process.env.API_KEY_2",
    'password: str = Field(min_length=8)\n"password": "required|min:8|max:64"',
    "token=/var/run/secrets/kubernetes.io/serviceaccount/token1",
    "secret: my-app-secret-v2\ntoken: gpt-4o-mini-2024-07-18\ncredential: role/deploy-bot-17",
    "The token: 2026-11-30T00:08:50Z is when it was made; the secret is that nobody knows.",
    "Bearer authentication with bearer tokens; Authorization: Bearer <token>; the bearer of internationalisation",
    "Authorization: Basic authentication is off; authorization: token based",
    "See https://example.net:8443/a@2x.png and ssh://git@host:22/repo, user:pass, http://localhost:8000/@me",
    "redis://localhost:6379/0 and postgres://localhost:5432/db?user=a@b",
    "postgres://app:${PASSWORD}@db/app and mysql://app:****@db/app and amqp://u:<password>@h",
    "Look for -----BEGIN PRIVATE KEY----- and -----END PRIVATE KEY----- in the file",
    "-----BEGIN CERTIFICATE-----\n" + chars(64, ALNUM + "+/") + "\n-----END CERTIFICATE-----",
    "task-sk-12 risk-free sk-learn mun_ ghp_ eyJ npm_config_registry glpat xoxb npm_package_json_dependencies_version",
    "class PasswordHasher: token: Base64String = Argon2PasswordEncoder; key=KubernetesServiceAccountTokenVolume",
    "if token == TokenType.OBJECT_IDENTIFIER: _TOKEN: t.ClassVar = connect(user=user, password=password, x=1)",
    "redis://[[username]:[password]]@localhost:6379 and (?P<secret>[A-Za-z0-9+/]{40,128})",
    "monkey: tomorrow2, turkey=Ankara06, keyboard: qwerty1234",
    "[redacted:password] stays, password=[redacted:assignment] too",
    "비밀번호는 여덟 글자 이상이어야 합니다. 密码长度至少为8个字符。パスワードは8文字以上です。",
)


@pytest.mark.parametrize(("kind", "secret"), [(kind, secret) for kind, secrets in PREFIXED.items() for secret in secrets])
def test_a_secret_that_names_itself_goes_wherever_it_stands(kind: str, secret: str) -> None:
    for around in AROUND:
        assert redact(around.format(secret)) == Redacted(around.format(f"[redacted:{kind}]"), {kind: 1}), around


@pytest.mark.parametrize(("kind", "text", "secret"), [(kind, *placed) for kind, texts in PLACED.items() for placed in texts])
def test_a_secret_goes_and_what_is_around_it_stays(kind: str, text: str, secret: str) -> None:
    for around in ("{}", "이것은 {} 입니다", "这是 {} 。", "a\n{}\nb"):
        given = around.format(text)
        assert redact(given) == Redacted(given.replace(secret, f"[redacted:{kind}]"), {kind: 1})


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert redact(text) == Redacted(text)


def test_every_kind_has_a_case() -> None:
    assert PREFIXED.keys() | PLACED.keys() == KINDS


def test_many_secrets_of_many_kinds_are_counted() -> None:
    everything = "\n".join(secret for secrets in PREFIXED.values() for secret in secrets)
    found = redact(everything)
    assert found.kinds == {kind: len(secrets) for kind, secrets in PREFIXED.items()}
    assert found.count == sum(map(len, PREFIXED.values()))


def test_an_access_key_takes_the_secret_key_beside_it_along() -> None:
    (first, *_) = PREFIXED["aws_key"]
    assert redact(f"{first},{chars(40, ALNUM + '+/')}\nnext").text == "[redacted:aws_key]\nnext"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_redacting_again_changes_nothing(kind: str) -> None:
    for text in [*PREFIXED.get(kind, []), *(text for text, _ in PLACED.get(kind, []))]:
        once = redact(text).text
        assert redact(once) == Redacted(once)
        assert redact(f"password={once}").kinds.keys() <= {"assignment"}


@given(st.text())
def test_any_text_can_be_redacted_twice(text: str) -> None:
    once = redact(text).text
    assert redact(once).text == once


@pytest.mark.parametrize(
    "piece",
    [
        *"aA0 _-=\\\"':/@.+x\n密",
        "password",
        "://",
        "a://:",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "password=",
        'password="',
        "token: ",
        "--a-",
    ],
)
def test_two_megabytes_of_one_thing_are_read_in_one_go(piece: str) -> None:
    text = piece * (2_000_000 // len(piece))
    assert redact(text) == Redacted(text)


def test_nothing_is_redacted_when_it_is_off() -> None:
    text = PREFIXED["jwt"][0]
    assert OFF.redact(text) == Redacted(text)
