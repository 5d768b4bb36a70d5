"""Which secrets this server takes out of text: all that are known, fewer, or more, as the settings and a policy file say.

In: the settings. Out: a `Redactor`. A policy that cannot be used in full is an `InvalidSetting`: the server does not start, since text
would otherwise be stored unscreened.

    off = ["jwt"]                      # kinds that stay in the text

    [[pattern]]
    kind = "acme_key"                  # shows as [redacted:acme_key]
    regex = "acme_(?P<secret>[a-z0-9]{20})"     # RE2's syntax; only the group `secret` goes, or all when there is none
"""

import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from service.errors import InvalidSetting
from service.memory.redact import OFF, STANDARD, Redactor
from service.memory.secret_patterns import DETECTORS, KINDS, Detector
from service.settings import Settings

_HINT: Final = "docs/settings.md shows how a policy is written."


class ExtraPattern(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of secret that only this installation knows."""

    kind: Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
    regex: Annotated[str, Meta(min_length=1, max_length=2000)]


class RedactionPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is written in a policy file."""

    off: list[str] = []
    pattern: Annotated[list[ExtraPattern], Meta(max_length=100)] = []


def make_redactor(settings: Settings) -> Redactor:
    """The redactor that the settings ask for; raises `InvalidSetting`, also for a policy that is not in use while redaction is off."""
    detectors = _with_policy(settings.redaction_policy) if settings.redaction_policy else None
    if settings.redaction == "off":
        return OFF
    return STANDARD if detectors is None else Redactor(detectors)


def _with_policy(path: str) -> list[Detector]:
    policy = _read(path)
    for kind in policy.off:
        if kind not in KINDS:
            raise InvalidSetting(f"{path}: there is no kind {kind!r}.", hint=f"The kinds are {', '.join(sorted(KINDS))}.")
    kept = [detector for detector in DETECTORS if detector.kind not in policy.off]
    return [*(_detector(path, extra) for extra in policy.pattern), *kept]


def _read(path: str) -> RedactionPolicy:
    try:
        return msgspec.convert(tomllib.loads(Path(path).read_text(encoding="utf-8")), RedactionPolicy)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InvalidSetting(f"MUNIMENT_REDACTION_POLICY: {path} cannot be used: {error}", hint=_HINT) from error


def _detector(path: str, extra: ExtraPattern) -> Detector:
    """RE2 takes linear time whatever the pattern."""
    re2 = _engine(path)
    try:
        compiled = re2.compile(extra.regex, _quiet(re2))
    except re2.error as error:
        raise InvalidSetting(f"{path}: the pattern of {extra.kind!r} cannot be read: {_text(error)}", hint=_HINT) from error
    if compiled.search("") is not None:
        raise InvalidSetting(f"{path}: the pattern of {extra.kind!r} matches the empty text.", hint=_HINT)
    group = compiled.groupindex.get("secret", 0)

    def spans(text: str) -> Iterator[tuple[int, int]]:
        for match in compiled.finditer(text):
            start, end = match.span(group)
            if end > start and not _MARK.match(text, start):
                yield start, end

    return Detector(extra.kind, (), spans)


_MARK: Final = re.compile(r"\[redacted:")


def _engine(path: str) -> Any:
    try:
        return import_module("re2")
    except ImportError as error:
        raise InvalidSetting(f"{path}: patterns of one's own need RE2.", hint="Install `muniment[redaction]`.") from error


def _quiet(re2: Any) -> Any:
    """A pattern that cannot be read is reported by the error alone, not on standard error as well."""
    options = re2.Options()
    options.log_errors = False
    return options


def _text(error: Any) -> str:
    first = error.args[0] if error.args else error
    return first.decode() if isinstance(first, bytes) else str(first)
