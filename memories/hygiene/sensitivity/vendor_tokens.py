"""Vendors' tokens by their prefixes, also those whose check digits CredSweeper cannot confirm.

A token that was shortened, retyped or made up has a wrong checksum and may be a secret all the same: where the prefix
is unmistakable it is enough. Invariant: every pattern takes time in proportion to the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memories.hygiene.sensitivity.entropy import is_placeholder, looks_random
from memories.hygiene.sensitivity.findings import Finding
from memories.types import SensitiveKind
from memoryhub.regexes import lazy_regex

# Prefix and the fewest characters that follow it, as each vendor documents the format of its tokens.
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
_TOKEN = lazy_regex(
    r"(?<![A-Za-z0-9_])(?:"
    + "|".join(
        rf"(?P<v{place}>(?:{prefix})[A-Za-z0-9_.~-]{{{least},400}}=*)"
        for place, (_, prefix, least) in enumerate(_PREFIXES)
    )
    + ")"
)
# Amazon's key ids have sixteen to twenty letters and digits 2 to 7 in capitals and no separator.
_AMAZON = lazy_regex(r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])")
# The signature may be cut off: what is left says whose session it is.
_WEB_TOKEN = lazy_regex(
    r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{6,8000}(?:\.[A-Za-z0-9_-]{0,2000})?"
)
_URL_PASSWORD = lazy_regex(
    r"(?<![a-z0-9])[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>]{0,64}:(?P<value>[^\s/@\"'<>{}$]{3,128})@(?=[\w\[])",
    re.IGNORECASE,
)


def vendor_tokens(text: str) -> Iterator[Finding]:
    """Tokens by prefix, web tokens and passwords in URLs, in a folded text."""
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
