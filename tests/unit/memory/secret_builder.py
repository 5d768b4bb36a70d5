"""Secrets of every kind, made anew at each run, so that the repository holds none that a scanner would find."""

import base64
import json
import random
import string

ALNUM = string.ascii_letters + string.digits
URL = ALNUM + "_-"
HEX = "0123456789abcdef"


def chars(size: int, alphabet: str = ALNUM, seed: int = 0) -> str:
    """Random characters, a digit among them where the alphabet has any."""
    source = random.Random(f"{size}{alphabet}{seed}")
    drawn = "".join(source.choice(alphabet) for _ in range(size))
    return drawn if set(drawn) & set(string.digits) or not set(alphabet) & set(string.digits) else chars(size, alphabet, seed + 1)


def jwt() -> str:
    parts = ({"alg": "RS256", "typ": "JWT"}, {"sub": "someone", "exp": 1})
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
    return ".".join((*encoded, chars(86, URL)))


def key_block(name: str = "RSA PRIVATE KEY", line: str = "\n", closed: bool = True) -> str:
    dashes = "-" * 5
    body = line.join(chars(64, ALNUM + "+/", seed) for seed in range(5))
    return f"{dashes}BEGIN {name}{dashes}{line}{body}" + (f"{line}{dashes}END {name}{dashes}" if closed else "")


PREFIXED: dict[str, list[str]] = {
    "muniment_key": ["mun" + f"_{chars(12, string.ascii_lowercase + string.digits)}_{chars(43, URL)}"],
    "aws_key": [
        "AK" + "IA" + chars(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
        "AS" + "IA" + chars(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 1),
    ],
    "gcp_key": ["AI" + "za" + chars(35, URL), "ya" + "29." + chars(60, URL), "GOC" + "SPX-" + chars(28, URL)],
    "azure_key": [chars(52) + "JQQ" + "J99" + chars(26), chars(76) + "AZ" + "DO" + chars(4), chars(3) + "8" + "Q~" + chars(34)],
    "github_token": ["gh" + "p_" + chars(36), "gh" + "s_" + chars(40), "github" + "_pat_" + chars(82, ALNUM + "_")],
    "gitlab_token": ["gl" + "pat-" + chars(20, URL), "GR" + "1348941" + chars(20, URL)],
    "slack_token": ["xox" + "b-" + "-".join((chars(12, "123456789"), chars(24))), "xa" + "pp-1-" + chars(40)],
    "stripe_key": ["sk" + "_live_" + chars(24), "rk" + "_test_" + chars(99), "wh" + "sec_" + chars(32)],
    "anthropic_key": ["sk" + "-ant-api03-" + chars(95, URL)],
    "openai_key": ["sk" + "-proj-" + chars(120, URL), "sk" + "-" + chars(48)],
    "npm_token": ["np" + "m_" + chars(36)],
    "pypi_token": ["py" + "pi-AgE" + "IcHlwaS5vcmc" + chars(150, URL)],
    "vendor_token": [
        "h" + "f_" + chars(34, string.ascii_letters),
        "S" + "G." + chars(22, URL) + "." + chars(43, URL),
        "dop" + "_v1_" + chars(64, HEX),
        "hv" + "s." + chars(90, URL),
    ],
    "jwt": [jwt()],
    "private_key": [
        key_block(),
        key_block("OPENSSH PRIVATE KEY"),
        key_block("PGP PRIVATE KEY BLOCK"),
        key_block("PRIVATE KEY", "\\n"),
        key_block("EC PRIVATE KEY", closed=False),
    ],
}

# The text, and the part of it that must go.
PLACED: dict[str, list[tuple[str, str]]] = {
    "azure_key": [
        (f"DefaultEndpointsProtocol=https;AccountName=x;AccountKey={(k := chars(86) + '==')};EndpointSuffix=core.windows.net", k),
        (f"https://x.blob.core.windows.net/a?sv=2024-01-01&sig={(k := chars(43) + '%3D')}", k),
    ],
    "slack_token": [("https://hooks.slack.com/services/" + f"{(k := 'T' + chars(8) + '/B' + chars(8) + '/' + chars(24))}", k)],
    "url_password": [
        (f"postgresql://app:{(k := 'plain' + 'word')}@db.example.net:5432/app?sslmode=require", k),
        (f"redis://:{(k := chars(12))}@cache:6379/0", k),
        (f"postgres://app:{(k := 'p/a' + 'ss@w#rd')}@db/app", k),
        (f"clone https://bot:{(k := chars(20))}@git.example.net/repo.git and go", k),
    ],
    "connection_password": [
        (f"Server=tcp:db,1433;Database=app;User Id=sa;Password={(k := 'simple' + 'word')};Encrypt=true", k),
        (f"host=db user=app password={(k := 'simple' + 'word')} dbname=app", k),
    ],
    "bearer": [(f"curl -H 'Authorization: Bearer {(k := chars(32))}' https://api.example.net", k)],
    "basic_auth": [(f"Authorization: Basic {(k := base64.b64encode(b'user:' + chars(9).encode()).decode())}", k)],
    "assignment": [
        (f"password={(k := chars(16))}", k),
        (f"DB_PASSWORD = '{(k := chars(12) + '#' + chars(2))}'", k),
        (f'{{"api_key": "{(k := chars(32, HEX))}", "user": "x"}}', k),
        (f'"{{\\"apiKey\\": \\"{(k := chars(32))}\\", \\"user\\": 1}}"', k),
        (f"aws_secret_access_key = {(k := chars(40, ALNUM + '+/'))}\nregion = eu-central-1", k),
        (f"client_secret: {(k := chars(24))}", k),
        (f"muniment --token {(k := chars(24))} search", k),
        (f"- **Password:** `{(k := chars(14) + '!')}`", k),
        (f"https://x.example.net/cb?user=1&token={(k := chars(24))}&page=2", k),
        (f"the password is {(k := 'Xk9' + '#mQ2$vL')}, keep it", k),
        (f"密码：{(k := chars(14))}。", k),
        (f"パスワードは{(k := chars(14))}です", k),
        (f"비밀번호: {(k := chars(14))}를", k),
        (f"session_token={(k := chars(900, ALNUM + '+/'))}\n", k),
        (f"token=https://x.example.net/a?password={(k := chars(16))}", k),
        (f"api_key: {(k := 'RMCzbf' + 'VsyHmOaA')}", k),
        (f"<password>{(k := chars(16))}</password>", k),
    ],
}
