"""The forms of vendors' tokens: prefix, and what follows it.

Two thirds of the forms come from the rule file of CredSweeper 1.19 (https://github.com/Samsung/CredSweeper), under the
licence in `LICENSE.credsweeper` (MIT).

Every pattern reads a bounded number of characters and never goes back over them.
"""

from __future__ import annotations

from memories.hygiene.sensitivity.context import UUID_FORM

# Of a long token the first characters decide; the finding covers the rest (`credentials.py`).
MOST = 400

# Name, prefix, and the rest: a pattern, or the fewest of the characters A-Z, a-z, 0-9, "_", ".", "~" and "-". The rest
# must look random, and must not be words where a number says how long it is.
PREFIXED: tuple[tuple[str, str, str | int], ...] = (
    ("memoryhub", r"mhb?_", 40),
    ("OpenAI or alike", r"sk-(?:proj|svcacct|admin|None|or-v1|ant-[a-z]+\d\d|live|test)-", 16),
    ("OpenAI or alike, old", r"sk-", 20),
    ("GitHub", r"gh[pousr]_", 16),
    ("GitHub fine-grained", r"github_pat_", 20),
    (
        "GitLab",
        r"gl(?:p[at]t|[dfrw]t|rtr|oas|cbt|imt|soat|agent|ffct)-",
        r"[0-9A-Za-z_-]{20,64}+(?:\.[\w-]{2,16}){0,2}",
    ),
    ("GitLab", r"gl(?:p[at]t|[dfrw]t|rtr|oas|cbt|imt|soat|agent|ffct)-", 12),
    ("GitLab", r"GR1348941|_gitlab_session=", 20),
    ("Slack", r"xox[a-z]-|xapp-", 10),
    ("Stripe", r"[prs]k_(?:live|test)_|whsec_", 12),
    ("npm", r"npm_", 24),
    ("PyPI", r"pypi-", 30),
    ("Google API", r"AIza", 30),
    ("Google OAuth", r"GOCSPX-|ya29\.", 16),
    ("Google OAuth", r"1//0", r"[0-9A-Za-z_-]{80,400}+"),
    ("SendGrid", r"SG\.", 24),
    ("DigitalOcean", r"do[oprs]_v1_", 24),
    ("Shopify", r"shp(?:at|ca|pa|ss|tka)_", 20),
    ("Hugging Face", r"hf_", 24),
    ("Docker", r"dckr_[op]at_", 16),
    ("Docker Swarm", r"SWM(?:TKN|KEY)-1-", r"[0-9A-Za-z-]{43,80}+"),
    ("Grafana", r"gl(?:c|sa)_", 24),
    ("Postman", r"PMA[KT]-", 24),
    ("Atlassian", r"ATATT3|ATCTT3|ATBB|BBDC-", r"[0-9A-Za-z_-]{20,400}+(?:(?:\\?=|(?:%|\\u00)3[dD])[A-F0-9]{8})?"),
    ("Linear", r"lin_(?:api|oauth)_", 20),
    ("Notion", r"ntn_|secret_", 32),
    ("Vault", r"hv[sbr]\.", 20),
    ("Databricks", r"dapi", 30),
    ("Doppler", r"dp\.(?:pt|st|ct|sa|scim|audit)\.", 24),
    ("Groq", r"gsk_", 24),
    ("xAI", r"xai-", 24),
    ("Perplexity", r"pplx-", 24),
    ("Replicate", r"r8_", 24),
    ("Telegram bot", r"\d{8,10}:AA", 30),
    ("Supabase", r"sbp_", 24),
    ("PlanetScale", r"pscale_(?:tkn|pw|oauth)_", 24),
    ("Vercel, Netlify", r"vcp_|nfp_", 24),
    ("Figma, Tavily, Pulumi", r"figd_|tvly-|pul-", 20),
    ("RubyGems, New Relic", r"rubygems_|NR(?:AK|BR|II|JS)-", 19),
    ("Twilio", r"(?:AC|SK)(?=[0-9a-f]{32}(?![0-9A-Za-z]))", 32),
    ("Tailscale", r"tskey-(?:api|auth|client|scim|webhook)-", 16),
    ("Mailgun", r"key-(?=[0-9a-z]{32})", 32),
    ("Brevo", r"xkeysib-", 32),
    ("Akamai", r"akab-", r"[0-9a-z]{16}-[0-9a-z]{16}"),
    ("Amazon Bedrock", r"ABSK|bedrock-api-key-", r"[0-9A-Za-z/+]{28,400}+=*"),
    ("Amazon AppSync", r"da2-", r"[a-z0-9]{26}"),
    ("Amazon MWS", r"amzn\.mws\.", r"[0-9a-z]{8}(?:-[0-9a-z]{4}){3}-[0-9a-z]{12}"),
    ("Alibaba", r"LTAI", r"[0-9A-Za-z]{12,20}+(?![\w+-])"),
    ("Defined Networking", r"dnkey-", r"[A-Z2-7]{26}-[A-Z2-7]{52}"),
    ("Dynatrace", r"dt0[a-z]\d\d\.", r"[0-9A-Z]{24}\.[0-9A-Z]{64}"),
    ("Facebook, Square", r"EAA", r"[0-9A-Za-z_-]{61,400}+"),
    ("Instagram", r"IGQVJ", r"[=0-9A-Za-z_-]{80,400}+"),
    ("Square", r"sq0[a-z]{3}-", r"[0-9A-Za-z_-]{22,43}+"),
    ("Heroku", r"HRKU-", r"[0-9A-Za-z_-]{36,60}+"),
    ("PASETO", r"v[1-4]\.(?:local|public)\.", 40),
    ("PASERK", r"k[1-4]\.(?:local|secret)(?:-pw)?\.", 40),
    ("PayPal Braintree", r"access_token\$production\$", r"[0-9a-z]{16}\$[0-9a-z]{32}"),
    ("Clojars", r"CLOJARS_", r"[0-9a-f]{60}"),
    ("JFrog", r"cmVmdGtuO|AKCp", r"[0-9A-Za-z_-]{55,69}+"),
    ("CircleCI", r"CCIPAT_", r"[0-9A-Za-z]{22}_[0-9a-f]{40}"),
    ("Dropbox", r"sl\.(?:u\.)?", r"[0-9A-Za-z_-]{77,177}+"),
    ("NuGet", r"oy2", r"[a-z0-9]{43}(?![\w-])"),
    ("X", r"A{21}", r"[0-9A-Za-z%]{40,42}(?:%|\\u00)3[dD][0-9A-Za-z]{50}"),
    ("Cloudflare", r"cf(?:at|ut|k)_", r"[0-9A-Za-z]{40}[0-9a-f]{8}"),
    ("Airtable", r"pat(?=[0-9A-Za-z]{14}\.)", r"[0-9A-Za-z]{14}\.[0-9a-f]{64}"),
    ("Contentful", r"CFPAT-", r"[0-9A-Za-z_-]{43}"),
    ("1Password", r"ops_eyJ", r"[0-9A-Za-z_-]{160,400}+"),
    ("Together AI", r"tgp_v1_", r"[0-9A-Za-z_-]{43}"),
    ("LlamaIndex", r"llx-", r"[0-9A-Za-z_-]{48}"),
    ("SonarQube", r"sq[apu]_", r"[0-9a-f]{40}"),
    ("Sentry", r"sntrys_eyJ|sntryu_", r"[0-9A-Za-z_-]{64,400}+(?:=+[0-9A-Za-z_-]{32,256}+)?"),
    ("Nylas", r"nyk_v0_", r"[0-9A-Za-z_-]{64}"),
    ("WakaTime", r"waka_", UUID_FORM),
    ("Riot Games", r"RGAPI-", UUID_FORM),
    ("Sourcegraph", r"sgp_(?:local_|[0-9a-f]{16}_)?", r"[0-9a-f]{40}"),
    ("Typeform", r"tfp_", r"[0-9A-Za-z_-]{44,60}+"),
    ("PostHog", r"ph[acrsx]_", r"[0-9A-Za-z]{40,60}+"),
    ("WunderGraph", r"cosmo_", r"[0-9a-f]{32}"),
    ("NTLM", r"TlRMTVNTUAA[BCD]", r"[0-9A-Za-z_/+-]{32,400}+=*"),
    ("age", r"AGE-SECRET-KEY-1", r"[0-9A-Z]{58}"),
)

# Name, a literal of the form, and the form, in which `value` is the secret part if not all of it is. The value must
# look random.
SHAPED: tuple[tuple[str, str, str], ...] = (
    ("Mailchimp", "-us", r"(?<![\w-])[0-9A-Za-z]{32}-us\d{1,2}(?![\w-])"),
    ("Mailgun", "-", r"(?<![\w-])[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![\w-])"),
    ("Facebook app", "|", r"(?<![\w+-])\d{12,18}+\|[\w-]{24,28}+(?![\w+-])"),
    ("Azure secret", "8Q~", r"(?<![\w~.-])[\w~.-]{3}8Q~[\w~.-]{34}(?![\w-])"),
    ("Azure storage", "JQQJ9", r"(?<!\w)[0-9A-Za-z]{52}JQQJ9[9DH][0-9A-Za-z]{26}(?:[0-9A-Za-z=]{4})?(?![\w/+-])"),
    ("New Relic", "NRAL", r"(?<![\w-])[0-9a-z]{5}[0-9a-f]{31}NRAL(?![\w-])"),
    ("Terraform", ".atlasv1.", r"(?<![\w-])[\w-]{14}\.atlasv1\.[\w-]{67}(?![\w-])"),
    ("Slack webhook", "hooks.slack.com/", r"hooks\.slack\.com/services(?P<value>/T\w{8,16}/B\w{8,16}/\w{24})"),
    ("Discord webhook", "/api/webhooks", r"discord(?:app)?\.com/api/webhooks(?P<value>/\d{16,22}/[\w-]{40,100}+)"),
    (
        "Discord bot",
        ".",
        r"(?<![\w-])[MNO][ADQTgjwz][AEIMQUYcgk][0-5w-z][\w-]{20,24}\.[\w-]{6}\.[\w-]{30,40}+(?![\w-])",
    ),
    ("Atlassian", "", r"(?<![\w-])[MNO][ADQTgjwz][AEIMQUYcgk][0-5w-z][\w-]{40}(?![\w-])"),
)
