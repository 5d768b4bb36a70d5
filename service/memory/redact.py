"""Takes secrets out of text before it is stored.

In: any text. Out: the same text with `[redacted:<kind>]` in the place of each secret, and how many of each kind there were.
The time is linear in the text. Redacting a redacted text changes nothing.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from service.errors import InvalidRequest
from service.memory.secret_patterns import DETECTORS, Detector


class Redacted(msgspec.Struct, frozen=True):
    """A text without its secrets; `kinds` counts what was taken out."""

    text: str
    kinds: dict[str, int] = {}

    @property
    def count(self) -> int:
        return sum(self.kinds.values())


class Redactor:
    """Redacts with some detectors; with none it gives every text back as it is."""

    def __init__(self, detectors: Iterable[Detector]) -> None:
        self._detectors = tuple(detectors)
        hints = {hint for detector in self._detectors for hint in detector.hints}
        # One that holds another one says nothing more.
        self._hints = tuple(hint for hint in sorted(hints) if not any(other in hint for other in hints - {hint}))
        self._always = any(not detector.hints for detector in self._detectors)

    def may_find(self, text: str) -> bool:
        """Whether any detector has to look at the text: most texts hold none of the hints."""
        return self._is_hinted(text.lower())

    def _is_hinted(self, folded: str) -> bool:
        if self._always:
            return True
        for hint in self._hints:  # noqa: SIM110  (many short texts: a generator takes three times as long, one pattern of all six times)
            if hint in folded:
                return True
        return False

    def redact(self, text: str) -> Redacted:
        """The text with every secret replaced by `[redacted:<kind>]`."""
        if not self._detectors:
            return Redacted(text)
        folded = text.lower()
        if not self._is_hinted(folded):
            return Redacted(text)
        kinds: dict[str, int] = {}
        for detector in self._detectors:
            if not detector.hints or any(hint in folded for hint in detector.hints):
                text, count = _replace(detector, text)
                if count:
                    kinds[detector.kind] = kinds.get(detector.kind, 0) + count
        return Redacted(text, kinds)


class Tally:
    """Redacts one text after the other and keeps count."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self.count = 0

    def clear(self, text: str) -> str:
        """The text without its secrets."""
        found = self._redactor.redact(text)
        self.count += found.count
        return found.text

    def clear_all(self, texts: Sequence[str]) -> list[str]:
        """Each text without its secrets."""
        return [self.clear(text) for text in texts] if self._redactor.may_find("\n".join(texts)) else list(texts)

    def require_none(self, field: str, text: str) -> None:
        """Raises `InvalidRequest` for a name that holds a secret: names tell things apart, so a part of one cannot be taken out."""
        kinds = self._redactor.redact(text).kinds
        if kinds:
            raise InvalidRequest(f"{field}: holds what looks like a secret ({', '.join(kinds)}).", hint="Choose a name without it.")


STANDARD: Final = Redactor(DETECTORS)
OFF: Final = Redactor(())


def redact(text: str) -> Redacted:
    """Redacts every kind of secret that is known."""
    return STANDARD.redact(text)


def _replace(detector: Detector, text: str) -> tuple[str, int]:
    mark = f"[redacted:{detector.kind}]"
    kept: list[str] = []
    done = 0
    for start, end in detector.spans(text):
        kept += (text[done:start], mark)
        done = end
    return ("".join((*kept, text[done:])), len(kept) // 2) if kept else (text, 0)
