"""What an operator can set: environment variables, or the same names in a TOML file (`MUNIMENT_CONFIG`); the environment wins.

In: a mapping of variables. Out: `Settings`; a value that cannot be used is an `InvalidSetting` that names the variable.
docs/settings.md describes each of them; a test holds the two together.
"""

import difflib
import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from service.choices import choices_at
from service.errors import InvalidSetting

# `none` and HMAC are not among them: an issuer's tokens are checked by its public keys.
TokenAlgorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
Positive = Annotated[int, Meta(ge=1)]
Weight = Annotated[float, Meta(ge=0, le=1000)]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """One server's settings. Times are in milliseconds where the name says `_ms`, in seconds where it says `_s`."""

    database_url: str | None = None
    owner_url: str | None = None
    database_prepared: bool = True
    pool_max: Positive = 10
    pool_projects: Positive = 100
    redis_url: str | None = None
    key_pepper: str = ""
    oidc_issuer: str | None = None
    oidc_audience: list[str] = []
    oidc_jwks_url: str | None = None
    oidc_algorithms: list[TokenAlgorithm] = msgspec.field(default_factory=lambda: ["RS256", "ES256"])
    oidc_workspace_claim: str = "workspace"
    oidc_scope_claim: str = "scope"
    oidc_scope_map: list[str] = []
    oidc_leeway_s: Annotated[int, Meta(ge=0, le=300)] = 30
    audit_days: Annotated[int, Meta(ge=0, le=36_500)] = 365
    rate_key_per_minute: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    rate_workspace_per_minute: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    public_url: str | None = None
    allowed_hosts: list[str] = []
    allowed_origins: list[str] = []
    header_timeout_ms: Positive = 10_000
    body_timeout_ms: Positive = 15_000
    reading_timeout_ms: Positive = 60_000
    body_max_bytes: Positive = 10 * 1024 * 1024
    answer_max_bytes: Positive = 1024 * 1024
    redaction: Literal["on", "off"] = "on"
    redaction_policy: str | None = None
    embedding_provider: Literal["local", "openai", "ollama", "none"] = "local"
    embedding_model: str | None = None
    embedding_url: str | None = None
    embedding_key: str = ""
    embedding_dim: Positive | None = None
    embedding_window: Positive | None = None
    embedding_query_prefix: str = ""
    embedding_document_prefix: str = ""
    embedding_timeout_ms: Positive = 2_000
    embedding_previous_url: str | None = None
    embedding_previous_key: str = ""
    embedding_previous_query_prefix: str = ""
    embedding_previous_document_prefix: str = ""
    embedding_workspace_hosts: list[str] = msgspec.field(default_factory=lambda: ["api.openai.com"])
    embedding_stale_days: Annotated[int, Meta(ge=0, le=36_500)] = 0
    rerank_provider: Literal["none", "chat", "rerank"] = "none"
    rerank_url: str | None = None
    rerank_key: str = ""
    rerank_model: str | None = None
    rerank_deadline_ms: Positive = 20_000
    rerank_in_flight: Positive = 4
    search_deadline_ms: Positive = 5_000
    search_statement_ms: Positive = 2_000
    search_k: Annotated[float, Meta(ge=1, le=100_000)] = 60.0
    search_fts_weight: Weight = 1.0
    search_entity_weight: Weight = 0.02
    search_graph_weight: Weight = 0.02
    search_vector_weight: Weight = 0.1
    search_vector_lead: Annotated[float, Meta(ge=1, le=100_000)] = 100.0
    search_beside: Annotated[float, Meta(ge=0, le=1)] = 0.45
    graph: bool = True
    scoped_match: bool = True
    scoped_match_off_in: list[str] = []
    graph_deadline_ms: Positive = 10_000
    graph_statement_ms: Positive = 5_000
    graph_row_budget: Positive = 200_000
    sql_statement_ms: Positive = 5_000
    exact_candidates: Positive = 20_000
    index_memory_mb: Annotated[int, Meta(ge=64, le=1_048_576)] = 2048
    worker_poll_ms: Positive = 500
    drain_ms: Annotated[int, Meta(ge=0)] = 0
    metrics: bool = True
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["text", "json"] = "text"


_UNPREFIXED = {"database_url": "DATABASE_URL"}
# Variables that stand for options of the command line, or name the file of settings.
_OPTIONS: Final = ("CONFIG", "DATA", "HOST", "PORT", "URL", "KEY", "WORKSPACE", "PROJECT")
_ALIKE: Final = 0.85


def variable_of(field: str) -> str:
    """The environment variable of a setting."""
    return _UNPREFIXED.get(field, f"MUNIMENT_{field.upper()}")


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Reads the environment and the file that MUNIMENT_CONFIG names; raises `InvalidSetting`."""
    environment = os.environ if environment is None else environment
    values: dict[str, Any] = _from_file(environment.get("MUNIMENT_CONFIG"))
    for field in msgspec.structs.fields(Settings):
        text = environment.get(variable_of(field.name))
        if text:
            values[field.name] = [part.strip() for part in text.split(",") if part.strip()] if _is_list(field.type) else text
    for name, value in values.items():
        _convert(name, value)
    return msgspec.convert(values, Settings, strict=False)


def misspelled_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that are none of ours but are written nearly like one, with that one; others may have variables of our prefix too."""
    known = [variable_of(field.name) for field in msgspec.structs.fields(Settings)] + [f"MUNIMENT_{name}" for name in _OPTIONS]
    found: dict[str, str] = {}
    for name in environment:
        if name.startswith("MUNIMENT_") and name not in known:
            found.update((name, near) for near in difflib.get_close_matches(name, known, 1, _ALIKE))
    return found


def _from_file(path: str | None) -> dict[str, Any]:
    if not path:
        return {}
    try:
        values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidSetting(f"MUNIMENT_CONFIG: {path} cannot be read: {error}") from error
    known = {field.name for field in msgspec.structs.fields(Settings)}
    for name in values:
        if name not in known:
            raise InvalidSetting(f"{path}: there is no setting {name!r}.", hint="docs/settings.md lists them.")
    return values


def _convert(name: str, value: Any) -> None:
    """Converts one value alone, so that the error names its variable and not its content, which may be a secret."""
    field = next(field for field in msgspec.structs.fields(Settings) if field.name == name)
    try:
        msgspec.convert(value, field.type, strict=False)
    except msgspec.ValidationError as error:
        reason = str(error) if "url" not in name and "key" not in name else "not text"
        allowed = ", ".join(str(value) for value in choices_at(field.type))
        hint = f"Choose of: {allowed}." if allowed else "docs/settings.md says what it takes."
        raise InvalidSetting(f"{variable_of(name)}: {reason}.", hint=hint) from error
    check = _CHECKS.get(name)
    if check is not None and value and not check[0](value):
        raise InvalidSetting(f"{variable_of(name)}: not {check[1]}.", hint=f"Write it as {check[2]}.")


def _leads_to_postgres(url: str) -> bool:
    from psycopg import ProgrammingError  # commands that ask a server need no driver
    from psycopg.conninfo import conninfo_to_dict

    try:
        parts = conninfo_to_dict(url)
    except (ProgrammingError, UnicodeError):
        return False
    ports = str(parts.get("port") or "").split(",")
    return url.startswith(("postgresql://", "postgres://")) and all(
        not port or (port.isdecimal() and 0 < int(port) < 65536) for port in ports
    )


def _leads_to_redis(url: str) -> bool:
    from redis import Redis

    try:
        Redis.from_url(url).connection_pool.make_connection()  # nothing is sent
    except (ValueError, TypeError, AttributeError):
        return False
    return True


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _is_provider_address(url: str) -> bool:
    from service.remote import check_url  # with the client for HTTP, which few commands need

    try:
        check_url(url)
    except InvalidSetting:
        return False
    return True


def _fits_a_header(key: str) -> bool:
    return key.strip().isascii() and key.strip().isprintable()


_Check: TypeAlias = tuple[Callable[[str], bool], str, str]
_POSTGRES: Final[_Check] = (
    _leads_to_postgres,
    "the address of a Postgres database",
    "postgresql://USER:PASSWORD@HOST:5432/DATABASE; characters with a meaning in addresses are percent-encoded (@ is %40)",
)
_PROVIDER: Final[_Check] = (
    _is_provider_address,
    "a provider's address",
    "https://HOST/v1, without a user, password or key, which have settings of their own",
)
_KEY: Final[_Check] = (_fits_a_header, "a key that can be sent", "it was given: ASCII on one line")
_CHECKS: Final[Mapping[str, _Check]] = {
    "database_url": _POSTGRES,
    "owner_url": _POSTGRES,
    "redis_url": (_leads_to_redis, "the address of a Redis", "redis://HOST:6379/0, rediss://… or unix://…"),
    "public_url": (_is_web_address, "a web address", "https://HOST"),
    "embedding_url": _PROVIDER,
    "rerank_url": _PROVIDER,
    "embedding_key": _KEY,
    "embedding_previous_key": _KEY,
    "rerank_key": _KEY,
}


def _is_list(kind: Any) -> bool:
    return getattr(kind, "__origin__", None) is list
