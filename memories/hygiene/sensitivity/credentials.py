"""Detects credentials: vendors' tokens, web tokens, private keys, passwords in URLs, and unknown random tokens.

CredSweeper's format rules are used with their filters and checksums. Its loggers are disabled, because they print what
they read. Its keyword rules ("password", "key") need its model of source code; `passwords.py` reads prose instead. A
token with an unmistakable prefix is a secret even if its checksum is wrong, because it may have been shortened or
retyped. A random token of unknown form is a secret near a word that says so, else suspicious. All patterns run in
linear time.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import warnings
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, cast

from memories.hygiene.sensitivity.context import bits, classes, is_placeholder, looks_random, near
from memories.hygiene.sensitivity.findings import Finding
from memories.types import SensitiveKind

if TYPE_CHECKING:
    from credsweeper.file_handler.analysis_target import AnalysisTarget
    from credsweeper.file_handler.content_provider import ContentProvider
    from credsweeper.scanner.scanner import Scanner

_LOADING = threading.Lock()
# Characters; some of the library's patterns take quadratic time in the length of a line.
_PIECE = 2000
_OVERLAP = 400
# These rules also match harmless values: identifiers, public names, and any word of about fifteen letters.
_NOT_SECRET = frozenset(
    {
        "AWS S3 Bucket",
        "Alibaba Multi",
        "AWS Multi",
        "Composio Credentials",
        "Dropbox API secret (long term)",
        "Dropbox App secret",
        "Firebase Domain",
        "Google Multi",
        "JWK",  # takes seconds on a text full of such words; `private_keys` detects it
        "NKEY Seed",
        "OTP / 2FA Secret",
        "Product Activation Key",
        "Salesforce Credentials",
        "Tencent WeChat API App ID",
        "UUID",
    }
)
# Rules whose authors rely on a model of source code, but which are useful without it.
_WITHOUT_MODEL = frozenset({"URL Credentials", "CURL User Password"})
_KEYS = frozenset({"BASE64 encoded PEM Private Key", "BASE64 Private Key", "Age Secret Key", "JSON Web Key"})


def credentials(text: str) -> Iterator[Finding]:
    """Yield the credentials of known form in a folded text."""
    lines = _ScannedLines(text)
    for candidate in load().scan(cast("ContentProvider", lines)):
        kind = SensitiveKind.PRIVATE_KEY if candidate.rule_name in _KEYS else SensitiveKind.SECRET
        for found in candidate.line_data_list:
            if candidate.rule_name == "URL Credentials" and is_placeholder(found.value or ""):
                continue
            start = lines.starts[found.line_pos]
            yield Finding(kind, start + found.value_start, start + found.value_end, candidate.rule_name)


class _ScannedLines:
    """The lines of a text in the interface that the scanner expects, long ones split into overlapping pieces.

    The library's own providers read files, and are deprecated.
    """

    def __init__(self, text: str) -> None:
        self.starts: list[int] = []
        self._lines: list[str] = []
        start = 0
        for line in text.split("\n"):
            for piece in range(0, max(len(line), 1), _PIECE - _OVERLAP):
                self.starts.append(start + piece)
                self._lines.append(line[piece : piece + _PIECE])
            start += len(line) + 1

    def yield_analysis_target(self, min_len: int) -> Iterator[AnalysisTarget]:
        """Yield each line of at least `min_len` characters."""
        from credsweeper.file_handler.analysis_target import AnalysisTarget  # noqa: PLC0415 - as in _made
        from credsweeper.file_handler.descriptor import Descriptor  # noqa: PLC0415

        descriptor = Descriptor("", "", "")
        numbers = list(range(1, len(self._lines) + 1))
        for place, line in enumerate(self._lines):
            if len(line.strip()) >= min_len:
                yield AnalysisTarget(place, self._lines, numbers, descriptor)


def load() -> Scanner:
    """Return the process's scanner, which takes a second to load.

    Scanning does not modify it, so threads can share it.
    """
    with _LOADING:
        return _made()


@cache
def _made() -> Scanner:
    for name in ("credsweeper", "pdfminer"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    # It imports a library that searches for git and fails without it, as in a container image. Nothing here uses git.
    os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it subclasses a class that it deprecates
        from credsweeper.app import CredSweeper  # noqa: PLC0415 - a second to import

    made = CredSweeper().scanner
    made.rules_scanners = [
        (rule, how)
        for rule, how in made.rules_scanners
        if rule.rule_name not in _NOT_SECRET
        and (not rule.use_ml or rule.rule_name in _WITHOUT_MODEL)
        and rule.rule_type.name != "PEM_KEY"
    ]
    return made


# Name, prefix and minimum number of following characters, according to each vendor's documentation.
_PREFIXES: tuple[tuple[str, str, int], ...] = (
    ("OpenAI or alike", r"sk-(?:proj|svcacct|admin|None|or-v1|ant-[a-z]+\d\d|live|test)-", 16),
    ("OpenAI or alike, old", r"sk-", 20),
    ("GitHub", r"gh[pousr]_", 16),
    ("GitHub fine-grained", r"github_pat_", 20),
    ("GitLab", r"gl(?:pat|ptt|dt|rt|oas|cbt|imt|ft|soat|agent|ffct)-", 12),
    ("Slack", r"xox[abcdeoprs]-|xapp-\d-", 10),
    ("Stripe", r"(?:[prs]k|rk)_(?:live|test)_|whsec_", 12),
    ("npm", r"npm_", 24),
    ("PyPI", r"pypi-", 30),
    ("Google API", r"AIza", 30),
    ("Google OAuth", r"GOCSPX-|ya29\.", 16),
    ("SendGrid", r"SG\.", 24),
    ("DigitalOcean", r"do[oprs]_v1_", 24),
    ("Shopify", r"shp(?:at|ca|pa|ss|tka)_", 20),
    ("Hugging Face", r"hf_", 24),
    ("Docker", r"dckr_[op]at_", 16),
    ("Grafana", r"gl(?:c|sa)_", 24),
    ("Postman", r"PMAK-", 24),
    ("Atlassian", r"ATATT3|ATCTT3|ATBB", 20),
    ("Linear", r"lin_(?:api|oauth)_", 20),
    ("Notion", r"ntn_|secret_", 32),
    ("Vault", r"hv[sbr]\.", 20),
    ("Databricks", r"dapi", 30),
    ("Doppler", r"dp\.(?:pt|st|ct|sa|scim|audit)\.", 24),
    ("Groq, xAI, Perplexity, Replicate", r"gsk_|xai-|pplx-|r8_", 24),
    ("Telegram bot", r"\d{8,10}:AA", 30),
    ("Supabase, PlanetScale, Vercel, Netlify", r"sbp_|pscale_(?:tkn|pw|oauth)_|vcp_|nfp_", 24),
    ("Figma, Tavily, Pulumi, RubyGems, New Relic", r"figd_|tvly-|pul-|rubygems_|NRAK-", 20),
    ("Twilio", r"SK(?=[0-9a-f]{32}(?![0-9A-Za-z]))", 32),
    ("Tailscale", r"tskey-(?:api|auth|client)-", 16),
    ("Mailgun, Brevo", r"key-(?=[0-9a-f]{32})|xkeysib-", 32),
)
_TOKEN = re.compile(
    r"(?<![A-Za-z0-9_])(?:"
    + "|".join(
        rf"(?P<v{place}>(?:{prefix})[A-Za-z0-9_.~-]{{{least},400}}=*)"
        for place, (_, prefix, least) in enumerate(_PREFIXES)
    )
    + ")"
)
# An AWS key id: a four-letter prefix and sixteen capitals or digits, without a separator.
_AMAZON = re.compile(r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])")
# The signature may be cut off; the rest still identifies the session.
_WEB_TOKEN = re.compile(
    r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{6,8000}(?:\.[A-Za-z0-9_-]{0,2000})?"
)
_URL_PASSWORD = re.compile(
    r"(?<![a-z0-9])[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>]{0,64}:(?P<value>[^\s/@\"'<>{}$]{3,128})@(?=[\w\[])",
    re.IGNORECASE,
)


def vendor_tokens(text: str) -> Iterator[Finding]:
    """Yield tokens by prefix, web tokens and passwords in URLs in a folded text."""
    for found in _TOKEN.finditer(text):
        vendor, prefix, _ = _PREFIXES[int(str(found.lastgroup)[1:])]
        value = found.group().rstrip(".~-")
        body = re.sub(rf"^(?:{prefix})", "", value)
        if looks_random(body):
            yield Finding(SensitiveKind.SECRET, found.start(), found.start() + len(value), f"{vendor} token")
    for found in _AMAZON.finditer(text):
        yield Finding(SensitiveKind.SECRET, *found.span(), "AWS key id")
    for found in _WEB_TOKEN.finditer(text):
        yield Finding(SensitiveKind.SECRET, *found.span(), "web token")
    for found in _URL_PASSWORD.finditer(text):
        if not is_placeholder(found["value"]):
            yield Finding(SensitiveKind.SECRET, *found.span("value"), "password in a URL")


_BEGIN = re.compile(r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_END = re.compile(r"-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
# The content of a block without an end: base64 in lines or as a quoted string, and the headers of old formats.
_BODY = re.compile(
    r"(?:[\s\"'+,]|\\n|\\r)*(?:(?:Proc-Type|DEK-Info|Version|Comment):[^\n]{0,80}|[A-Za-z0-9+/=]{6,}|\\n)"
)
_PUTTY = re.compile(r"PuTTY-User-Key-File-\d: [a-z0-9-]{3,40}")
# The secret member of a JSON web key.
_WEB_KEY = re.compile(r"[\"'](?:d|k)[\"']\s{0,3}:\s{0,3}[\"'](?P<value>[A-Za-z0-9_-]{20,4000}={0,2})[\"']")
# Maximum characters of one block; an RSA key of 16384 bits has 12,600.
_LONGEST = 20_000


def private_keys(text: str) -> Iterator[Finding]:
    """Yield the private keys in a folded text."""
    place = 0
    while begin := _BEGIN.search(text, place):
        end = _END.search(text, begin.end(), begin.end() + _LONGEST)
        place = end.end() if end else _body_end(text, begin.end())
        yield Finding(SensitiveKind.PRIVATE_KEY, begin.start(), place, "PEM private key")
    for found in _PUTTY.finditer(text):
        mac = text.find("Private-MAC:", found.end(), found.end() + _LONGEST)
        line_end = text.find("\n", mac) if mac >= 0 else found.end()
        yield Finding(SensitiveKind.PRIVATE_KEY, found.start(), line_end if line_end >= 0 else len(text), "PuTTY key")

    if re.search(r"[\"']kty[\"']", text):
        for found in _WEB_KEY.finditer(text):
            yield Finding(SensitiveKind.PRIVATE_KEY, *found.span("value"), "JSON web key")


def _body_end(text: str, place: int) -> int:
    while body := _BODY.match(text, place):
        place = body.end()
    return place


_RANDOM_TOKEN = re.compile(r"(?<![\w/+=.@-])[A-Za-z0-9][A-Za-z0-9_+/=-]{19,511}(?![\w/+@-])")
_KNOWN = re.compile(
    (
        r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?:0x)?[0-9a-fA-F]+|[0-9a-f-]+|\d[\d_/+=-]*|(?:sha\d+|md5)[-:].*|"
        r"iVBOR.*|/9j/.*|R0lGOD.*|UklGR.*|PHN2Z.*|JVBER.*|AAAA[BCE]3N.*"
    ),
)
# Words near other random values: digests, ids, and image data.
_HARMLESS = (
    r"page|cursor|next|public|cache|fingerprint|signature|primary|foreign|partition|row|url|link|"
    r"sha|sha-?\d+|md5|hash|digest|checksum|commit|integrity|etag|uuid|guid|base64|image|png|jpe?g|video|"
    r"watch|isbn|sku|serial|tracking|order|parcel|build|id"
)
_OPENS = (
    r"keys?|(?:secret|access|private|auth|signing|encryption|master|licen[cs]e)[-_ ]?keys?|tokens?|"
    r"secrets?|credentials?|creds|bearer|passwords?|authorization|x-auth\w*|auth|login"
)
_BITS = 3.6


def named_tokens(text: str) -> Iterator[Finding]:
    """Yield random tokens in a folded text near a word such as "key" or "token", as secrets."""
    for found in _drawn(text):
        if near(text, *found.span(), _OPENS, after=0):
            yield Finding(SensitiveKind.SECRET, *found.span(), "random token near its name")


def suspicious(text: str) -> Iterator[Finding]:
    """Yield the suspicious tokens in a folded text."""
    for found in _drawn(text):
        yield Finding(SensitiveKind.SUSPICIOUS, *found.span(), "random token")


def _drawn(text: str) -> Iterator[re.Match[str]]:
    for found in _RANDOM_TOKEN.finditer(text):
        value = found.group()
        if (
            classes(value.rstrip("=")) >= 3
            and bits(value) >= _BITS
            and looks_random(value)
            and value.count("/") <= 2
            and not _KNOWN.fullmatch(value)
            and not near(text, *found.span(), _HARMLESS, before=24, after=0)
        ):
            yield found
