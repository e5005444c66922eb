"""Django settings. `memoryhub.env` reads and checks the environment.

Importing this module never fails for a bad variable; a system check reports it.
"""

import os
import secrets
from ipaddress import ip_network
from typing import Any

import django_stubs_ext

from memoryhub import __version__
from memoryhub.db.sqlite import PrivateConnection
from memoryhub.env import EnvProblem, read
from memoryhub.env.values import POSTGRESQL, SQLITE, comma_separated, development_secret, host_and_port
from memoryhub.installation import LOCALE_DIR, TEMPLATE_DIR
from memoryhub.observability import logs

django_stubs_ext.monkeypatch()

ENV, ENVIRONMENT_PROBLEMS = read(os.environ)
PRODUCTION = ENV.production
DEBUG = ENV.debug and not PRODUCTION
DEFAULT_EXCEPTION_REPORTER_FILTER = "memoryhub.pages.Filter"

# The matrices of a recall are small: several BLAS threads would take ten times as long, and the server has a thread for
# each request. NumPy reads this on its first import.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Folders

MEMORYHUB_DATA_DIR = ENV.data_dir
MEMORYHUB_INDEX_DIR = ENV.index_dir or ENV.data_dir / "index"

# Memory

MEMORYHUB_SEARCH = ENV.search
MEMORYHUB_JOBS = ENV.jobs
MEMORYHUB_BROKER_URL = ENV.broker_url.get_secret_value()
MEMORYHUB_RECORDING = ENV.recording
# By name (memoryhub/env/limits.py); empty: nothing is limited.
MEMORYHUB_LIMITS = ENV.limits
MEMORYHUB_ENCODER_THREADS = ENV.encoder_threads
MEMORYHUB_INDEX_CACHE_MB = ENV.index_cache_mb
MEMORYHUB_MODEL = ENV.model
MEMORYHUB_CONSOLIDATE = ENV.consolidate
MEMORYHUB_CONSOLIDATION_MODEL = ENV.consolidation_model
MEMORYHUB_RULES = ENV.rules
MEMORYHUB_TUNE_RECALL = ENV.tune_recall
MEMORYHUB_PRICES = (ENV.price_input, ENV.price_output)
# Without a URL, the endpoint and key of OPENAI_* are used.
MEMORYHUB_CLASSIFIER_MODEL = ENV.classifier_model
MEMORYHUB_CLASSIFIER_URL = ENV.classifier_url
MEMORYHUB_CLASSIFIER_KEY = ENV.classifier_key.get_secret_value()
# Without a URL, likewise.
MEMORYHUB_EMBEDDING_MODEL = ENV.embedding_model if ENV.embedding_dimensions else ""
MEMORYHUB_EMBEDDING_DIMENSIONS = ENV.embedding_dimensions
MEMORYHUB_EMBEDDING_URL = ENV.embedding_url
MEMORYHUB_EMBEDDING_KEY = ENV.embedding_key.get_secret_value()
MEMORYHUB_TENANT_INDEXES = ENV.tenant_indexes
MEMORYHUB_RERANK_MODEL = ENV.rerank_model if ENV.rerank_url else ""
MEMORYHUB_RERANK_URL = ENV.rerank_url
MEMORYHUB_RERANK_KEY = ENV.rerank_key.get_secret_value()
# The first key encrypts. Without keys, development uses one in the data folder; production keeps no originals.
MEMORYHUB_ORIGINAL_KEYS = comma_separated(ENV.original_keys.get_secret_value())
# The first key signs, all verify. Without keys, development uses one in the data folder.
MEMORYHUB_SIGNING_KEYS = comma_separated(ENV.signing_keys.get_secret_value())
# The first key makes the digests of the audit log, all check them (memoryhub/signing/keyed.py).
MEMORYHUB_AUDIT_KEYS = comma_separated(ENV.audit_keys.get_secret_value())
MEMORYHUB_ANCHOR_FILE = ENV.anchor_file
OPENAI_BASE_URL = ENV.openai_base_url
OPENAI_API_KEY = ENV.openai_api_key.get_secret_value()
ANTHROPIC_BASE_URL = ENV.anthropic_base_url
ANTHROPIC_API_KEY = ENV.anthropic_api_key.get_secret_value()
MEMORYHUB_SHARED_UPSTREAM = ENV.shared_upstream

# Web server (memoryhub/web_worker.py, memoryhub/probes.py)

MEMORYHUB_PROBES = host_and_port(ENV.probes) if ENV.probes else None
MEMORYHUB_TRUST_PROXY = ENV.trust_proxy
MEMORYHUB_HEADER_SECONDS = ENV.header_seconds
MEMORYHUB_BODY_SECONDS = ENV.body_seconds
MEMORYHUB_SEND_SECONDS = ENV.send_seconds
MEMORYHUB_CONNECTIONS = ENV.connections
MEMORYHUB_CONNECTIONS_PER_ADDRESS = ENV.connections_per_address
# The largest body at all; it leaves room above the API's own limit (memories/api/problems.py), which explains more.
DATA_UPLOAD_MAX_MEMORY_SIZE = 1100 * 1024
# The addresses that take a file, and its largest size, likewise with room (MAX_IMPORT_BYTES in memories/constants.py).
UPLOADS = {
    **dict.fromkeys(("/api/v1/import", "/account/import/run"), 8300 * 1024),
    # The forms that take a file (MAX_CHECKED_BYTES; MAX_BYTES in tenants/admin/people_file.py): memoryhub/uploads.py.
    "/admin/memories/audit/file": 25 * 1024**2,
    "/admin/tenants/membership/import": 1100 * 1024,
    # Requests to models hold images and long conversations (MAX_PASSED_BYTES).
    **dict.fromkeys(
        ("/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens"), 17 * 1024**2
    ),
}
FILE_UPLOAD_HANDLERS: list[str] = []  # the page that takes a file names its own

# Observability

MEMORYHUB_BOOTSTRAP_KEY = ENV.bootstrap_key.get_secret_value()
MEMORYHUB_METRICS_TOKEN = ENV.metrics_token.get_secret_value()
MEMORYHUB_TRACES_URL = ENV.traces_url

# Elasticsearch: memoryhub/elasticsearch.py builds all clients from these.

ELASTICSEARCH_URLS = ENV.elasticsearch_url
ELASTICSEARCH_CA_CERTS = str(ENV.elasticsearch_ca_certs or "")
ELASTICSEARCH_PREFIX = ENV.elasticsearch_prefix
ELASTICSEARCH_ARCHIVE_POLICY = ENV.elasticsearch_archive_policy
MEMORYHUB_ELASTIC_INFERENCE = ENV.elastic_inference
ELASTICSEARCH_CREDENTIALS = ENV.elasticsearch_credentials
MEMORYHUB_KEY_DAYS = ENV.key_days
# The first key encrypts. Without keys, development uses one in the data folder (tenants/search_keys/claims.py).
MEMORYHUB_CREDENTIAL_KEYS = comma_separated(ENV.credential_keys.get_secret_value())
# Private networks that webhooks may reach, also without TLS (memoryhub/outgoing.py).
MEMORYHUB_WEBHOOK_NETWORKS = tuple(map(ip_network, ENV.webhook_networks))
# django-elasticsearch-dsl declares the documents; only the outbox writes them. The package is not installed as an app,
# so it connects no signals and no request can use its connection.
ELASTICSEARCH_DSL_AUTOSYNC = False
ELASTICSEARCH_DSL_AUTO_REFRESH = False

# Application

INSTALLED_APPS = [
    "memories",
    "tenants",
    "memoryhub",
    "memoryhub.admin_site.MemoryhubAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.humanize",  # allauth's templates
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "csp",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
]

MIDDLEWARE = [
    "memoryhub.middleware.AccessMiddleware",
    "tenants.middleware.RequestIdMiddleware",
    "memories.api.middleware.ApiMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "memoryhub.middleware.ResponseHeadersMiddleware",
    "memoryhub.languages.LanguageMiddleware",
    "csp.middleware.CSPMiddleware",
    "memoryhub.middleware.AdmissionMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "memoryhub.middleware.AnonymousBodyMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "tenants.session_rules.StaffSessionMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "tenants.middleware.TenantMiddleware",
    "tenants.session_rules.SecondFactorMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "memories.chat.presenting.TimeZoneMiddleware",
    "memoryhub.middleware.WrongMethodMiddleware",
]

ROOT_URLCONF = "memoryhub.urls"
WSGI_APPLICATION = "memoryhub.wsgi.application"

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [TEMPLATE_DIR],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "memories.chat.frame.frame",
            ],
            "builtins": ["memories.presenting.markup", "django.templatetags.i18n"],
        },
    },
]

# Database: services own their transactions.

DATABASES: dict[str, dict[str, Any]] = {"default": {**ENV.database}}
DATABASES["default"] |= {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True, "ATOMIC_REQUESTS": False}
MEMORYHUB_MIGRATION_DATABASE = ENV.migration_database
if DATABASES["default"]["ENGINE"] == POSTGRESQL:
    # Its cursor sends the database scope; a server-side cursor would run without one.
    DATABASES["default"] |= {"ENGINE": "memoryhub.db.postgresql", "DISABLE_SERVER_SIDE_CURSORS": True}
if DATABASES["default"]["ENGINE"] == SQLITE:
    # IMMEDIATE: a transaction takes the write lock at its beginning, so it waits and never fails later for a stale
    # read. FULL: commits are durable when acknowledged. secure_delete: a forgotten memory must not stay in the file.
    DATABASES["default"]["OPTIONS"] = {
        "factory": PrivateConnection,
        "timeout": 30,
        "transaction_mode": "IMMEDIATE",
        "init_command": (
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;"
            " PRAGMA temp_store = MEMORY; PRAGMA cache_size = -32768; PRAGMA mmap_size = 268435456;"
        ),
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Limits of sign-in are counted in the default cache, which all processes share; `local` is of one process.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "memoryhub_cache",
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    },
    "local": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
}

# Users

AUTH_USER_MODEL = "tenants.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "login"
PASSWORD_RESET_TIMEOUT = 24 * 3600
SESSION_ENGINE = "memoryhub.session_store"
SESSION_COOKIE_AGE = 14 * 24 * 3600  # staff: tenants/session_rules.py

# Signing in, with django-allauth (docs/sign-in.md). Nobody signs up; administrators invite.

ACCOUNT_ADAPTER = "tenants.signing_in.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_PASSWORD_RESET_TOKEN_GENERATOR = "tenants.reset_tokens.ResetTokens"  # noqa: S105 - a class
ACCOUNT_SESSION_REMEMBER = True
# Attempts are counted for each address, which may be that of a whole company, and for each name.
ACCOUNT_RATE_LIMITS = {
    "login": "60/m/ip",
    "login_failed": "20/m/ip,10/5m/key",
    "organisation": "120/m/ip",  # three pages of each sign-in
    "organisation_answer": "300/m/key",
}
MFA_ADAPTER = "tenants.signing_in.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "memoryhub"
MFA_TOTP_TOLERANCE = 1
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not PRODUCTION  # http://localhost

# Mail: invitations and links to set a password. Without a host nothing is sent, and the links are copied by hand.

EMAIL_HOST: str = ENV.mail["EMAIL_HOST"]
EMAIL_PORT: int = ENV.mail["EMAIL_PORT"]
EMAIL_HOST_USER: str = ENV.mail["EMAIL_HOST_USER"]
EMAIL_HOST_PASSWORD: str = ENV.mail["EMAIL_HOST_PASSWORD"]
EMAIL_USE_SSL: bool = ENV.mail["EMAIL_USE_SSL"]
EMAIL_USE_TLS: bool = ENV.mail["EMAIL_USE_TLS"]
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = SERVER_EMAIL = ENV.mail_from

# The admin: see memoryhub/admin_site.py. Roles decide the contents of its sidebar and index page.

ADMIN_NAVIGATION = "memories.staff.navigation.sidebar"
ADMIN_DASHBOARD = "memories.staff.dashboard.dashboard"

# Security

try:
    SECRET_KEY = ENV.secret_key.get_secret_value()
    if not (SECRET_KEY or PRODUCTION):
        SECRET_KEY = development_secret(ENV.data_dir, "secret_key", size=64)
except OSError as error:
    SECRET_KEY = ""
    ENVIRONMENT_PROBLEMS += (EnvProblem("MEMORYHUB_DATA_DIR", f"the folder cannot be written ({error.strerror})"),)
# Without a usable key no server starts (see ENVIRONMENT_PROBLEMS), but commands can report it.
SECRET_KEY = SECRET_KEY or secrets.token_urlsafe(64)

ALLOWED_HOSTS = [*ENV.allowed_hosts] if PRODUCTION else [*ENV.allowed_hosts, "localhost", "127.0.0.1", "[::1]"]
CSRF_TRUSTED_ORIGINS = [*ENV.csrf_trusted_origins]

SECURE_SSL_REDIRECT = PRODUCTION
SECURE_REDIRECT_EXEMPT = [r"^livez$", r"^readyz$"]  # probes come from the same machine over plain HTTP
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if ENV.trust_proxy else None
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if PRODUCTION and ENV.hsts != "off" else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = ENV.hsts in {"subdomains", "preload"}
SECURE_HSTS_PRELOAD = ENV.hsts == "preload"
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]  # whether HSTS covers other hosts is MEMORYHUB_HSTS
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

# With this prefix browsers accept the cookie only from this host and over TLS.
_COOKIE_PREFIX = "__Host-" if PRODUCTION else ""
SESSION_COOKIE_NAME = f"{_COOKIE_PREFIX}memoryhub_session"
SESSION_COOKIE_SECURE = PRODUCTION
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_NAME = f"{_COOKIE_PREFIX}memoryhub_csrf"
CSRF_COOKIE_SECURE = PRODUCTION
CSRF_COOKIE_HTTPONLY = True  # scripts read the token from the form they submit
CSRF_COOKIE_SAMESITE = "Lax"

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "manifest-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    },
}

# Language and time

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("es", "Español")]
LOCALE_PATHS = [LOCALE_DIR]
TIME_ZONE = "UTC"
USE_I18N = True
FORMAT_MODULE_PATH = "memoryhub"
USE_TZ = True

# Static files: hashed and compressed in production, served from the source folders in development.

STATIC_URL = "static/"
STATIC_ROOT = MEMORYHUB_DATA_DIR / "static" if PRODUCTION else None
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if PRODUCTION
        else "django.contrib.staticfiles.storage.StaticFilesStorage",
    },
}
WHITENOISE_USE_FINDERS = not PRODUCTION
WHITENOISE_AUTOREFRESH = DEBUG

# API

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_SCHEMA_CLASS": "memories.api.openapi.ContractSchema",
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "memoryhub",
    "DESCRIPTION": "A memory for LLM agents: converse, remember, recall, correct, forget. Every path answers with and"
    " without a slash at its end. The guide is docs/api.md.",
    "VERSION": f"1 (memoryhub {__version__})",
    "OAS_VERSION": "3.1.1",
    "LICENSE": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    "CONTACT": {"name": "Whoever runs this server"},
    "SERVERS": [{"url": "/", "description": "This server."}],
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "memories.api.openapi.complete",
    ],
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "COMPONENT_SPLIT_PATCH": False,
    "ENUM_NAME_OVERRIDES": {
        "Learn": "memories.api.serializers.calls.LEARN",
        "Kind": "memories.api.fields.KINDS",
        "Right": "tenants.principal.Right",
        "EntryPart": "memories.api.serializers.sessions.ENTRY_PARTS",
        "ProposalPart": "memories.api.serializers.reviews.PROPOSAL_PARTS",
        "Verdict": "memories.api.serializers.reviews.VERDICTS",
        **{
            name: f"memories.{module}.{name}"
            for module, names in (
                ("types", "Scope Status Source Contradiction WriteResult SensitiveKind Importance"),
                (
                    "models",
                    "MessageRole MessageState Relation ReviewKind ReviewDecision ProposalState RunState Trigger",
                ),
                ("models.erasure", "RequestState"),
                ("models.webhook", "DeliveryState EventType"),
                ("agent.events", "NoticeKind Doing"),
                ("api.serializers.reviews", "ReviewAnswer"),
                ("selectors.operations", "OperationState"),
                ("importing.formats", "ExportFormat"),
            )
            for name in names.split()
        },
    },
}

# Logs go to standard error and hold ids, never a memory's text (memoryhub/observability/logs.py).

LOGGING = logs.settings_for(ENV.log_format)
