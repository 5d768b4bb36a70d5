"""What the settings and a policy make of redaction; a policy that cannot be used in full is refused."""

from pathlib import Path

import pytest

from service.errors import InvalidSetting
from service.memory.redact import OFF, STANDARD
from service.memory.redact_policy import make_redactor
from service.settings import Settings, load_settings
from tests.unit.memory.secret_builder import PREFIXED

GITHUB, JWT = PREFIXED["github_token"][0], PREFIXED["jwt"][0]


def _settings(tmp_path: Path, policy: str, **more: str) -> Settings:
    path = tmp_path / "policy.toml"
    path.write_text(policy, encoding="utf-8")
    return load_settings({"MUNIMENT_REDACTION_POLICY": str(path), **more})


def test_it_is_on_unless_it_is_switched_off() -> None:
    assert make_redactor(load_settings({})) is STANDARD
    assert make_redactor(load_settings({"MUNIMENT_REDACTION": "off"})) is OFF


def test_kinds_can_be_switched_off(tmp_path: Path) -> None:
    redactor = make_redactor(_settings(tmp_path, 'off = ["jwt"]'))
    assert redactor.redact(f"{JWT} {GITHUB}").text == f"{JWT} [redacted:github_token]"


def test_patterns_of_ones_own_come_first_and_take_their_group_alone(tmp_path: Path) -> None:
    policy = """
        [[pattern]]
        kind = "acme_key"
        regex = 'acme_(?P<secret>[a-z0-9]{4,})'
        [[pattern]]
        kind = "badge"
        regex = '\\b[A-Z]{2}-\\d{6}\\b'
    """
    redacted = make_redactor(_settings(tmp_path, policy)).redact(f"키 acme_ab12cd를 badge ZX-123456, {GITHUB}")
    assert redacted.text == "키 acme_[redacted:acme_key]를 badge [redacted:badge], [redacted:github_token]"
    assert redacted.kinds == {"acme_key": 1, "badge": 1, "github_token": 1}
    assert make_redactor(_settings(tmp_path, policy)).redact(redacted.text).kinds == {}


def test_a_pattern_of_ones_own_takes_linear_time(tmp_path: Path) -> None:
    redactor = make_redactor(_settings(tmp_path, "[[pattern]]\nkind = 'slow'\nregex = '(a*)*b'\n"))
    text = "a" * 300_000
    assert redactor.redact(text).text == text


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("off = [", "policy.toml"),
        ('off = "jwt"', "off"),
        ('off = ["jtw"]', "'jtw'"),
        ('offf = ["jwt"]', "offf"),
        ("[[pattern]]\nkind = 'x'", "regex"),
        ("[[pattern]]\nkind = 'x]'\nregex = 'a'", "kind"),
        ("[[pattern]]\nkind = 'x'\nregex = '(a'", "'x'"),
        ("[[pattern]]\nkind = 'x'\nregex = '(?<=a)b'", "'x'"),
        ("[[pattern]]\nkind = 'x'\nregex = 'a*'", "empty"),
        ("[[pattern]]\nkind = 'x'\nregex = 'a'\nflags = 'i'", "flags"),
    ],
)
def test_a_malformed_policy_refuses_to_start(tmp_path: Path, policy: str, said: str) -> None:
    for more in ({}, {"MUNIMENT_REDACTION": "off"}):
        with pytest.raises(InvalidSetting) as error:
            make_redactor(_settings(tmp_path, policy, **more))
        assert said in error.value.message


def test_a_policy_that_is_not_there_refuses_to_start(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting):
        make_redactor(load_settings({"MUNIMENT_REDACTION_POLICY": str(tmp_path / "none.toml")}))
    with pytest.raises(InvalidSetting):
        load_settings({"MUNIMENT_REDACTION": "no"})
