"""The shapes of secrets that name themselves: tokens with a prefix, key blocks, addresses with a password, headers, assignments.

In: nothing. Out: `DETECTORS`, in the order in which they are tried; what one has replaced the next ones leave alone.
Every pattern takes linear time on any text: a run of characters is taken possessively, and either is bounded or begins only where no other
attempt has read before. Boundaries are ASCII, so that a secret may touch Chinese or Korean text; a written `\\n` before it is one too.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from service.memory.secret_assignments import ASSIGNMENT_HINTS, assigned_secrets
from service.memory.secret_values import is_credential, is_key_block, is_literal, is_secret
from service.memory.windows import matches


class Detector(msgspec.Struct, frozen=True):
    """Finds one kind of secret: `spans` gives where each begins and ends, in order, none in another.

    It is tried only on texts that hold one of the `hints` (lower case; compared without case); none: on all.
    """

    kind: str
    hints: tuple[str, ...]
    spans: Callable[[str], Iterator[tuple[int, int]]]


def _make(kind: str, hints: str, pattern: str, judge: Callable[[str], bool] | None = None) -> Detector:
    """The secret is the group `secret` of the pattern, or all of it; `judge` has the last word."""
    compiled = re.compile(pattern)
    group = "secret" if "secret" in compiled.groupindex else 0

    def spans(text: str) -> Iterator[tuple[int, int]]:
        for match in matches(compiled, text):
            start, end = match.span(group)
            if start < 0:
                start, end = match.span()
            if judge is None or judge(text[start:end]):
                yield start, end

    return Detector(kind, tuple(hints.split()), spans)


def _make_at(kind: str, before: str, reach: int, anchor: str, pattern: str, judge: Callable[[str], bool]) -> Detector:
    """The same for what holds a literal: `before` leads up to the `anchor`, is at most `reach` long, and holds none itself."""
    leads, follows = re.compile(before), re.compile(pattern)

    def spans(text: str) -> Iterator[tuple[int, int]]:
        done = 0
        at = text.find(anchor)
        while at >= 0:
            led = leads.search(text, max(done, at - reach), at)
            found = follows.match(text, at + len(anchor)) if led else None
            if found is not None and judge(found["secret"]):
                yield found.span("secret")
            done = found.end() if found is not None else at + len(anchor)
            at = text.find(anchor, done)

    return Detector(kind, (anchor,), spans)


_LEFT: Final = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
_RIGHT: Final = r"(?![A-Za-z0-9])"
_B64URL: Final = r"[A-Za-z0-9_\-]"


_BLOCK: Final = _make(
    "private_key",
    "-----begin",
    # Closed; or cut off somewhere: then what still looks like its lines.
    r"-----BEGIN (?:(?!PRIVATE )[A-Z0-9]{1,20}+ ){0,4}+PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:[^-]|-(?!----))*+-----END [A-Z0-9 ]{1,80}+-----"
    r"|(?:(?:\s|\\[nr]){0,8}+(?:[A-Za-z0-9+/=]{16,}+|(?:Proc-Type|DEK-Info|Version): [^\n]{0,80}+))*+)",
    is_key_block,
)

_TOKENS: Final = (
    _make("muniment_key", "mun_", rf"mun_[a-z0-9]{{12}}_{_B64URL}{{43}}"),
    _make(
        "aws_key",
        "akia asia abia acca",
        rf"{_LEFT}(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{{16}}{_RIGHT}(?:[\s,;:|\"']{{1,5}}+[A-Za-z0-9/+]{{40}}(?![A-Za-z0-9/+=]))?",
    ),
    _make(
        "gcp_key",
        "aiza ya29. gocspx- 1//0",
        rf"{_LEFT}(?:AIza{_B64URL}{{35}}|ya29\.{_B64URL}{{20,2048}}+|GOCSPX-{_B64URL}{{28}}|1//0{_B64URL}{{40,512}}+)",
    ),
    _make("azure_key", "accountkey sharedaccess", r"(?i:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{40,128}+={0,2}+)"),
    _make("azure_key", "sig=", r"(?<=[?&])sig=(?P<secret>[A-Za-z0-9%+/=]{43,128}+)"),
    _make(
        "azure_key",
        "q~ jqqj99 azdo",
        rf"{_LEFT}(?:[A-Za-z0-9]{{52}}JQQJ99[A-Za-z0-9]{{26}}|[A-Za-z0-9]{{76}}AZDO[A-Za-z0-9]{{4}}){_RIGHT}"
        r"|(?:(?<![A-Za-z0-9_.~\-])|(?<=\\[nrt]))[A-Za-z0-9_.~\-]{3}[0-9]Q~[A-Za-z0-9_.~\-]{31,34}+",
    ),
    _make("github_token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"gh[pousr]_[A-Za-z0-9]{36,255}+|github_pat_[A-Za-z0-9_]{22,255}+"),
    _make(
        "gitlab_token",
        "gl gr1348941",
        rf"gl(?:pat|ptt|dt|rt|cbt|ft|soat|agent|imt|oas|ffct)-{_B64URL}{{20,300}}+(?:\.[a-z0-9]{{1,20}}+){{0,2}}+|GR1348941{_B64URL}{{20}}",
    ),
    _make(
        "slack_token",
        "xox xapp- hooks.slack.com",
        r"(?:xoxe\.)?xox[abeoprs]-[A-Za-z0-9\-]{10,512}+|xapp-[0-9]-[A-Za-z0-9\-]{20,512}+"
        r"|hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9+/]{20,200}+)",
    ),
    _make(
        "stripe_key", "k_live_ k_test_ whsec_", rf"{_LEFT}(?:[srp]k_(?:live|test)_[A-Za-z0-9]{{16,255}}+|whsec_[A-Za-z0-9+/=]{{32,255}}+)"
    ),
    _make("anthropic_key", "sk-ant-", rf"sk-ant-{_B64URL}{{20,255}}+"),
    _make(
        "openai_key",
        "sk-",
        rf"{_LEFT}sk-(?:(?:proj|svcacct|admin|None|or-v1)-{_B64URL}{{20,255}}+|[A-Za-z0-9]{{32,255}}+)",
    ),
    _make("npm_token", "npm_", rf"{_LEFT}npm_[A-Za-z0-9]{{36}}{_RIGHT}"),
    _make("pypi_token", "pypi-age", rf"pypi-AgE{_B64URL}{{50,1024}}+"),
    _make(
        "vendor_token",
        "hf_ sg. dop_v1_ doo_v1_ dor_v1_ hvs. hvb. glsa_ glc_ dckr_pat_ lin_api_ shp dapi age-secret-key-1",
        rf"{_LEFT}(?:hf_[A-Za-z]{{34}}{_RIGHT}|SG\.{_B64URL}{{22}}\.{_B64URL}{{43}}|do[opr]_v1_[a-f0-9]{{64}}|hv[sb]\.{_B64URL}{{24,512}}+"
        rf"|gls?a?c?_[A-Za-z0-9+/_]{{32,512}}+|dckr_pat_{_B64URL}{{27}}|lin_api_[A-Za-z0-9]{{40}}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{{32}}"
        rf"|dapi[a-f0-9]{{32}}{_RIGHT}|AGE-SECRET-KEY-1[A-Z0-9]{{58}})",
    ),
    _make(
        "jwt",
        "eyj",
        rf"(?:(?<![A-Za-z0-9_\-])|(?<=\\[nrt]))eyJ{_B64URL}{{8,}}+\.{_B64URL}{{8,}}+\.{_B64URL}{{8,}}+(?:\.{_B64URL}++){{0,2}}+",
    ),
)

_HOST: Final = r"@(?=[A-Za-z0-9\[_%.\-])"
_ADDRESSES: Final = (
    _make_at(
        "url_password",
        rf"{_LEFT}[A-Za-z][A-Za-z0-9+.\-]{{1,30}}+\Z",
        31,
        "://",
        rf"[^\s:/@?#\"'`<>]{{0,256}}+:(?P<secret>[^\s/\"'`<>]{{1,512}}){_HOST}",
        is_literal,
    ),
    # A password that was not percent-encoded may hold a slash; a number there is a port.
    _make_at(
        "url_password",
        r"(?i:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|mssql|clickhouse)(?:\+[a-z0-9]{1,20}+)?\Z",
        31,
        "://",
        rf"[^\s:/@?#\"'`<>]{{0,256}}+:(?![0-9]{{1,5}}+(?:[/?\s,]|\Z))(?P<secret>[^\s\"'`<>]{{1,256}}){_HOST}",
        is_literal,
    ),
    _make(
        "connection_password",
        "password= pwd= password =",
        # What it may begin with stands first, which the search skips to.
        r"[;hHuUdDpP](?:(?<=;)[ ]?(?i:password|pwd)[ ]?=[ ]?|(?i:(?<=h)ost|(?<=u)ser|(?<=d)bname|(?<=p)ort)=[^\s=,]{1,100}+ (?i:password)=)"
        r"(?P<secret>[^\s;\"'`]{1,256}+)",
        is_literal,
    ),
    _make("bearer", "bearer", r"(?i:bearer)(?:[ \t]|%20|\+){1,4}+(?P<secret>[A-Za-z0-9._~+/\-]{16,4096}+={0,2}+)", is_secret),
    _make(
        "basic_auth",
        "authorization",
        r"(?i:authorization)\\{0,3}+[\"']?[ \t]{0,3}+[:=][ \t]{0,3}+\\{0,3}+[\"']?"
        r"(?i:basic|token)[ \t]{1,3}+(?P<secret>[A-Za-z0-9+/._\-]{8,4096}+={0,2}+)",
        is_credential,
    ),
)

DETECTORS: Final = (_BLOCK, *_TOKENS, *_ADDRESSES, Detector("assignment", ASSIGNMENT_HINTS, assigned_secrets))
KINDS: Final = frozenset(detector.kind for detector in DETECTORS)
