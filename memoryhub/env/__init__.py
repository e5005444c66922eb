"""The environment variables as typed settings, and the problems with their values.

docs/configuration.md describes each variable; a test compares the names. Reading never fails: a field with a problem
keeps its default, and a system check reports the variable. No problem repeats a value, which may be a secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import dj_database_url
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004 - Django's name
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    ValidationError,
)

from memoryhub.env.limits import DEFAULT_LIMITS, Limits
from memoryhub.env.values import (
    AbsolutePath,
    Address,
    BrokerUrl,
    DatabaseUrl,
    FernetKeys,
    Hosts,
    HttpUrl,
    InferencePair,
    MailUrl,
    Networks,
    Nodes,
    Origins,
    Prefix,
    RulePackage,
    SigningKeys,
    Token,
    UserCredential,
    is_local,
)
from memoryhub.installation import PROGRAM, default_data_dir
from memoryhub.observability import tracing

MIN_SECRET_KEY_CHARACTERS = 50
SETUP = "ELASTICSEARCH_SETUP"
# Elasticsearch's built-in superuser.
SUPERUSER = "elastic"
_UNSET = SecretStr("")
_WITH_ELASTICSEARCH = "MEMORYHUB_SEARCH=elasticsearch"


def _variable(field: str) -> str:
    """The environment variable of a field without an alias."""
    prefix = "" if field.startswith(("database_", "elasticsearch_", "openai_", "anthropic_")) else "MEMORYHUB_"
    return prefix + field.upper()


class Env(BaseModel):
    """Every variable with its type and default, in the order of docs/configuration.md."""

    model_config = ConfigDict(frozen=True, alias_generator=_variable, validate_default=True)

    mode: Literal["development", "production"] = Field(default="development", alias="MEMORYHUB_ENV")
    debug: bool = False
    secret_key: SecretStr = _UNSET
    allowed_hosts: Hosts = ()
    csrf_trusted_origins: Origins = ()
    trust_proxy: bool = False
    hsts: Literal["off", "host", "subdomains", "preload"] = "host"
    plain_hosts: Hosts = ()
    probes: Address = ""
    connections: PositiveInt = 1000
    connections_per_address: PositiveInt = 200
    header_seconds: PositiveFloat = 10.0
    body_seconds: PositiveFloat = 30.0
    send_seconds: PositiveFloat = 30.0
    database_url: DatabaseUrl = _UNSET
    migration_database_url: DatabaseUrl = _UNSET
    data_dir: AbsolutePath = Field(default_factory=default_data_dir)
    index_dir: AbsolutePath | None = None
    search: Literal["embedded", "elasticsearch"] = "embedded"
    elasticsearch_url: Nodes = ()
    elasticsearch_ca_certs: AbsolutePath | None = None
    elasticsearch_prefix: Prefix = "memoryhub"
    elasticsearch_archive_policy: str = ""
    elastic_inference: InferencePair = ()
    elasticsearch_indexer: SecretStr = _UNSET
    elasticsearch_minter: UserCredential = _UNSET
    elasticsearch_manager: SecretStr = _UNSET
    elasticsearch_checker: SecretStr = _UNSET
    elasticsearch_setup: SecretStr = _UNSET
    credential_keys: FernetKeys = _UNSET
    original_keys: FernetKeys = _UNSET
    signing_keys: SigningKeys = _UNSET
    audit_keys: SigningKeys = _UNSET
    anchor_file: AbsolutePath | None = None
    key_days: PositiveInt = 90
    webhook_networks: Networks = ()
    broker_url: BrokerUrl = _UNSET
    jobs: Literal["worker", "celery", "off"] = "worker"
    recording: Literal["background", "inline"] = "background"
    limits: Limits = Field(default_factory=lambda: dict(DEFAULT_LIMITS))
    encoder_threads: PositiveInt = 2
    index_cache_mb: PositiveInt = 256
    model: str = ""
    consolidate: Literal["turn", "batch", "off"] = "batch"
    consolidation_model: str = ""
    rules: RulePackage = "memories.english"
    tune_recall: Literal["off", "propose", "apply"] = "off"
    price_input: NonNegativeFloat = 0.0
    price_output: NonNegativeFloat = 0.0
    openai_base_url: HttpUrl = ""
    openai_api_key: SecretStr = _UNSET
    anthropic_base_url: HttpUrl = ""
    anthropic_api_key: SecretStr = _UNSET
    shared_upstream: bool = False
    classifier_model: str = ""
    classifier_url: HttpUrl = ""
    classifier_key: SecretStr = _UNSET
    embedding_model: str = ""
    embedding_dimensions: NonNegativeInt = 0
    embedding_url: HttpUrl = ""
    embedding_key: SecretStr = _UNSET
    rerank_model: str = ""
    rerank_url: HttpUrl = ""
    rerank_key: SecretStr = _UNSET
    tenant_indexes: bool = False
    mail_url: MailUrl = _UNSET
    mail_from: str = "memoryhub@localhost"
    metrics_token: Token = _UNSET
    bootstrap_key: SecretStr = _UNSET
    log_format: Literal["line", "json"] = "line"
    traces_url: HttpUrl = ""

    @property
    def production(self) -> bool:
        """True if this installation is served behind TLS and must be strict."""
        return self.mode == "production"

    @property
    def elasticsearch_credentials(self) -> dict[str, str]:
        """The credential of each service identity, by its name (memoryhub.elasticsearch.Identity)."""
        names = ("indexer", "minter", "manager", "checker", "setup")
        return {name: getattr(self, f"elasticsearch_{name}").get_secret_value() for name in names}

    @property
    def database(self) -> dj_database_url.DBConfig:
        """Django's connection settings, without options."""
        url = self.database_url.get_secret_value() or f"sqlite:///{self.data_dir / 'memoryhub.sqlite3'}"
        return dj_database_url.parse(url)

    @property
    def mail(self) -> dict[str, Any]:
        """Django's settings of mail; the host is empty if none is sent."""
        url = urlsplit(self.mail_url.get_secret_value())
        direct = url.scheme == "smtps"
        return {
            "EMAIL_HOST": url.hostname or "",
            "EMAIL_PORT": url.port or (465 if direct else 587),
            "EMAIL_HOST_USER": unquote(url.username or ""),
            "EMAIL_HOST_PASSWORD": unquote(url.password or ""),
            "EMAIL_USE_SSL": direct,
            "EMAIL_USE_TLS": not direct and not is_local(url.hostname or ""),
        }

    @property
    def migration_database(self) -> dj_database_url.DBConfig:
        """Django's connection settings of the role that owns the tables; empty if the role that serves owns them."""
        url = self.migration_database_url.get_secret_value()
        return dj_database_url.parse(url) if url else {}


@dataclass(frozen=True, slots=True)
class EnvProblem:
    """A missing or unusable variable, and a hint how to correct it."""

    variable: str
    hint: str


def name_of(field: str) -> str:
    """The environment variable of a field of Env."""
    return str(Env.model_fields[field].alias)


def read(environ: Mapping[str, str]) -> tuple[Env, tuple[EnvProblem, ...]]:
    """The settings in `environ`, and the problems with them; fields with a problem keep their defaults."""
    values = {name: value for name in map(name_of, Env.model_fields) if (value := environ.get(name))}
    bad: dict[str, str] = {}
    try:
        env = Env.model_validate(values)
    except ValidationError as error:
        details = error.errors(include_input=False, include_url=False)
        bad = {str(detail["loc"][0]): detail["msg"].removeprefix("Value error, ") for detail in details}
        env = Env.model_validate({name: value for name, value in values.items() if name not in bad})
    missing = [problem for problem in _missing(env) if problem.variable not in bad]
    return env, (*(EnvProblem(name, hint) for name, hint in sorted(bad.items())), *missing)


def _missing(env: Env) -> list[EnvProblem]:
    """Variables that the chosen components or production require."""
    on_cluster = env.search == "elasticsearch"
    strict = env.production and on_cluster
    needed = [
        ("elasticsearch_url", on_cluster, f"needed with {_WITH_ELASTICSEARCH}"),
        ("broker_url", env.jobs == "celery", "needed with MEMORYHUB_JOBS=celery"),
        ("embedding_dimensions", bool(env.embedding_model), "needed with MEMORYHUB_EMBEDDING_MODEL"),
        ("rerank_url", bool(env.rerank_model), "needed with MEMORYHUB_RERANK_MODEL"),
        ("allowed_hosts", env.production, "production needs the host names it serves"),
    ]
    secrets = ("credential_keys", "elasticsearch_indexer", "elasticsearch_minter")
    needed += [(field, strict, f"production needs it with {_WITH_ELASTICSEARCH}") for field in secrets]
    problems = [
        EnvProblem(name_of(field), hint) for field, wanted, hint in needed if wanted and not getattr(env, field)
    ]
    if strict:
        users = env.elasticsearch_credentials
        problems += of_identities({f"ELASTICSEARCH_{name.upper()}": users[name] for name in users})
    if env.production and len(env.secret_key.get_secret_value()) < MIN_SECRET_KEY_CHARACTERS:
        hint = (
            f"production needs a random value of {MIN_SECRET_KEY_CHARACTERS} characters or more, such as"
            ' python -c "import secrets; print(secrets.token_urlsafe(64))" prints'
        )
        problems.append(EnvProblem("MEMORYHUB_SECRET_KEY", hint))
    if env.production and env.debug:
        problems.append(EnvProblem("MEMORYHUB_DEBUG", "production never shows source and settings; remove it"))
    return problems


def of_identities(credentials: Mapping[str, str]) -> list[EnvProblem]:
    """Problems of credentials (by variable) in production: an administrator's, or one shared by several identities."""
    users = {variable: credential.partition(":")[0] for variable, credential in credentials.items() if credential}
    problems = []
    if SETUP in users:
        hint = f"an administrator's credential is for `{PROGRAM} elasticsearch setup` alone; remove it here"
        problems.append(EnvProblem(SETUP, hint))
    for variable, user in users.items():
        if variable != SETUP and user == SUPERUSER:
            problems.append(EnvProblem(variable, f"production never works as the superuser {SUPERUSER}"))
        if others := [other for other in users if other != variable and users[other] == user]:
            problems.append(EnvProblem(variable, f"give it a user of its own, not that of {others[0]}"))
    return problems


@register(Tags.security)
def environment_is_usable(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:  # noqa: ARG001 - Django's signature
    """System check: one error for each missing or unusable variable."""
    return [
        Error(f"{problem.variable} is missing or cannot be used.", hint=f"{problem.hint}.", id="memoryhub.E001")
        for problem in settings.ENVIRONMENT_PROBLEMS
    ]


@register(Tags.security)
def traces_can_be_sent(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:  # noqa: ARG001 - Django's signature
    """System check: an error if spans are to be exported and OpenTelemetry is not installed."""
    if not settings.MEMORYHUB_TRACES_URL or tracing.available():
        return []
    hint = "Install the extra: pip install 'memoryhub[otel]', or requirements/otel.txt."
    return [Error("MEMORYHUB_TRACES_URL needs OpenTelemetry.", hint=hint, id="memoryhub.E002")]


@register(Tags.security, deploy=True)
def connections_are_encrypted(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:  # noqa: ARG001 - Django's signature
    """System check: a warning for each variable that sends words or secrets over a network in plain text."""
    env: Env = settings.ENV
    database = env.database
    urls = {
        "OPENAI_BASE_URL": [env.openai_base_url],
        "ANTHROPIC_BASE_URL": [env.anthropic_base_url],
        "MEMORYHUB_CLASSIFIER_URL": [env.classifier_url],
        "MEMORYHUB_EMBEDDING_URL": [env.embedding_url],
        "MEMORYHUB_RERANK_URL": [env.rerank_url],
        "MEMORYHUB_BROKER_URL": [env.broker_url.get_secret_value()],
        "MEMORYHUB_TRACES_URL": [env.traces_url],
        "ELASTICSEARCH_URL": env.elasticsearch_url,
    }
    plain = {
        name: [str(urlsplit(url).hostname) for url in found if urlsplit(url).scheme in {"http", "redis"}]
        for name, found in urls.items()
    }
    if database.get("OPTIONS", {}).get("sslmode") not in {"require", "verify-ca", "verify-full"}:
        plain["DATABASE_URL"] = [str(database.get("HOST", ""))]
    return [
        Warning(
            f"{name} is not encrypted.",
            hint="Use https://, rediss:// or ?sslmode=verify-full, or name the host in MEMORYHUB_PLAIN_HOSTS if nobody"
            " can listen on the way to it.",
            id="memoryhub.W001",
        )
        for name, hosts in plain.items()
        if not all(is_local(host) or host in env.plain_hosts for host in hosts)
    ]


@register(Tags.security, deploy=True)
def exports_can_be_signed(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:  # noqa: ARG001 - Django's signature
    """System check: a warning in production without a key that signs exports and receipts of erasure."""
    if settings.MEMORYHUB_SIGNING_KEYS or not settings.PRODUCTION:
        return []
    hint = f"Set it to what `{PROGRAM} signing_keys new` prints; without it nothing is exported, or erased on request."
    return [Warning("MEMORYHUB_SIGNING_KEYS is empty.", hint=hint, id="memoryhub.W002")]


def refuse(problems: Sequence[EnvProblem]) -> None:
    """Exit with the problems as the message; for entry points that run no system checks."""
    if problems:
        raise SystemExit("\n".join(f"{problem.variable}: {problem.hint}." for problem in problems))
