"""What the settings make of an issuer, and what clients are told about it."""

import pytest

from service.access.tokens import claim_of, protected_resource, token_rules
from service.errors import InvalidSetting
from service.settings import load_settings

GOOD = {"MUNIMENT_OIDC_ISSUER": "https://id.example.net/realm", "MUNIMENT_OIDC_AUDIENCE": "one, two"}


def test_without_an_issuer_there_are_no_rules() -> None:
    assert token_rules(load_settings({})) is None


def test_public_key_algorithms_alone_are_taken() -> None:
    rules = token_rules(load_settings(GOOD))
    assert rules is not None
    assert (rules.algorithms, rules.audience) == (("RS256", "ES256"), ("one", "two"))
    for wrong in ("none", "HS256", "RS256,HS512", "rs256"):
        with pytest.raises(InvalidSetting, match="MUNIMENT_OIDC_ALGORITHMS"):
            load_settings({**GOOD, "MUNIMENT_OIDC_ALGORITHMS": wrong})


@pytest.mark.parametrize(
    "wrong",
    [
        {"MUNIMENT_OIDC_AUDIENCE": ""},
        {"MUNIMENT_OIDC_ISSUER": "http://id.example.net"},
        {"MUNIMENT_OIDC_ISSUER": "id.example.net"},
        {"MUNIMENT_OIDC_ISSUER": "file:///etc/passwd"},
        {"MUNIMENT_OIDC_ISSUER": "http://[::1"},
        {"MUNIMENT_OIDC_JWKS_URL": "http://id.example.net/keys"},
        {"MUNIMENT_OIDC_SCOPE_MAP": "read"},
        {"MUNIMENT_OIDC_SCOPE_MAP": "=read"},
        {"MUNIMENT_OIDC_SCOPE_MAP": "theirs=owner"},
    ],
    ids=str,
)
def test_rules_that_would_let_too_much_in_are_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(InvalidSetting):
        token_rules(load_settings({**GOOD, **wrong}))


def test_the_resource_names_its_issuer_and_the_scopes_it_knows() -> None:
    url = "https://memory.example.net/mcp"
    plain = {"resource": url, "resource_name": "Muniment", "bearer_methods_supported": ["header"]}
    assert protected_resource(load_settings({}), url) == plain
    assert protected_resource(load_settings(GOOD), url) == {
        **plain,
        "authorization_servers": ["https://id.example.net/realm"],
        "scopes_supported": ["read", "write", "admin"],
    }
    mapped = load_settings({**GOOD, "MUNIMENT_OIDC_SCOPE_MAP": "memory:edit=read,memory:edit=write,memory:own=admin"})
    assert protected_resource(mapped, url)["scopes_supported"] == ["memory:edit", "memory:own"]


def test_a_claim_is_found_by_its_name_first_and_then_by_its_path() -> None:
    claims = {"a.b": 1, "a": {"b": 2, "c": {"d": [3]}}}
    assert [claim_of(claims, name) for name in ("a.b", "a.c.d", "a.b.c", "x", "a.x.y")] == [1, [3], None, None, None]
