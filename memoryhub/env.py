"""The environment, typed: every variable that memoryhub reads, and what is wrong with it.

Invariant: reading never fails. A bad value becomes a `Problem` that `memoryhub.checks` reports by the variable's name,
and the field keeps its default; the value itself is never repeated, for it may be a secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dj_database_url
from cryptography.fernet import Fernet
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    PositiveInt,
    SecretStr,
    ValidationError,
    field_validator,
)

from memoryhub.modes import Consolidate, Drain, Mode, Recording, Search, TuneRecall
from memoryhub.problems import Problem, of_identities

BASE_DIR = Path(__file__).resolve().parent.parent
MIN_SECRET_KEY_CHARACTERS = 50
SQLITE = "django.db.backends.sqlite3"
POSTGRESQL = "django.db.backends.postgresql"
_WITH_ELASTICSEARCH = "MEMORYHUB_SEARCH=elasticsearch"
# The indices of a cluster: one for each kind of memory (memories.types.Kind), and the archive. Their names stand in the
# names of indices and aliases.
ARCHIVE = "archive"
SHELVES = ("episodic", "semantic", "procedural", "catalog", ARCHIVE)
DATABASE_ENGINES = frozenset({SQLITE, POSTGRESQL})


def variable(name: str, description: str, *, default: Any) -> Any:
    """A setting read from the environment variable `name`."""
    return Field(default=default, alias=name, description=description)


class Env(BaseModel):
    """Every variable with its default; the descriptions are those of docs/configuration.md."""

    model_config = ConfigDict(frozen=True)

    mode: Mode = variable(
        "MEMORYHUB_ENV",
        "`development` (plain HTTP on this machine) or `production` (behind TLS, every cookie and header strict).",
        default=Mode.DEVELOPMENT,
    )
    debug: bool = variable(
        "MEMORYHUB_DEBUG",
        "`true`: error pages with source and settings, in development only.",
        default=False,
    )
    secret_key: SecretStr = variable(
        "MEMORYHUB_SECRET_KEY",
        "Signs sessions and forms; 50 characters or more. Required in production; in development one is made once and"
        " kept in the data folder.",
        default=SecretStr(""),
    )
    allowed_hosts: tuple[str, ...] = variable(
        "MEMORYHUB_ALLOWED_HOSTS",
        "Host names that are served, separated by commas. Required in production.",
        default=(),
    )
    csrf_trusted_origins: tuple[str, ...] = variable(
        "MEMORYHUB_CSRF_TRUSTED_ORIGINS",
        "Origins (`https://host`) that may post forms when a proxy changes the host name, separated by commas.",
        default=(),
    )
    trust_proxy: bool = variable(
        "MEMORYHUB_TRUST_PROXY",
        "`true`: a proxy in front ends TLS and sets `X-Forwarded-Proto` itself on every request.",
        default=False,
    )
    database_url: SecretStr = variable(
        "DATABASE_URL",
        "`postgres://user:password@host/name` or `sqlite:///path`. Default: SQLite in the data folder.",
        default=SecretStr(""),
    )
    data_dir: Path = variable(
        "MEMORYHUB_DATA_DIR",
        "Folder of the SQLite database, the index and the development key. Default: `var` in the project.",
        default=BASE_DIR / "var",
    )
    index_dir: Path | None = variable(
        "MEMORYHUB_INDEX_DIR",
        "Folder of the embedded search plane: a cache that can be rebuilt. Default: `index` in the data folder.",
        default=None,
    )
    search: Search = variable(
        "MEMORYHUB_SEARCH",
        "The search plane: `embedded` (files in the data folder) or `elasticsearch`.",
        default=Search.EMBEDDED,
    )
    elasticsearch_urls: tuple[str, ...] = variable(
        "ELASTICSEARCH_URL",
        "Addresses of the cluster's nodes, separated by commas. Required with `MEMORYHUB_SEARCH=elasticsearch`.",
        default=(),
    )
    elasticsearch_ca_certs: Path | None = variable(
        "ELASTICSEARCH_CA_CERTS",
        "File with the certificates that sign the cluster's own. Default: those that the system trusts.",
        default=None,
    )
    elasticsearch_prefix: str = variable(
        "ELASTICSEARCH_PREFIX",
        "First part of the name of every index, alias, role and key; one for each installation on a cluster.",
        default="memoryhub",
    )
    elasticsearch_archive_policy: str = variable(
        "ELASTICSEARCH_ARCHIVE_POLICY",
        "Name of a lifecycle policy of the cluster for the index of archived memories. Empty: none.",
        default="",
    )
    elasticsearch_indexer: SecretStr = variable(
        "ELASTICSEARCH_INDEXER",
        "Credential (`user:password` or an encoded API key) of the identity that writes documents.",
        default=SecretStr(""),
    )
    elasticsearch_minter: SecretStr = variable(
        "ELASTICSEARCH_MINTER",
        "Credential (`user:password`, never an API key) of the identity that makes the members' keys.",
        default=SecretStr(""),
    )
    elasticsearch_manager: SecretStr = variable(
        "ELASTICSEARCH_MANAGER",
        "Credential of the identity that makes templates, indices and aliases; for commands.",
        default=SecretStr(""),
    )
    elasticsearch_checker: SecretStr = variable(
        "ELASTICSEARCH_CHECKER",
        "Credential of the identity that compares the indices with the database; for commands.",
        default=SecretStr(""),
    )
    elasticsearch_setup: SecretStr = variable(
        "ELASTICSEARCH_SETUP",
        "Credential of an administrator of the cluster, for `manage.py elasticsearch setup` alone. Never set it where"
        " memoryhub serves.",
        default=SecretStr(""),
    )
    credential_keys: SecretStr = variable(
        "MEMORYHUB_CREDENTIAL_KEYS",
        "Fernet keys that encrypt the members' search keys at rest, separated by commas: the first encrypts, all"
        " decrypt. Required in production with Elasticsearch; in development one is made once and kept in the data"
        " folder.",
        default=SecretStr(""),
    )
    key_days: PositiveInt = variable(
        "MEMORYHUB_KEY_DAYS",
        "Days until a member's search key expires; it is replaced after two thirds of them.",
        default=90,
    )
    broker_url: SecretStr = variable(
        "MEMORYHUB_BROKER_URL",
        "`redis://…` of the broker that Celery's workers listen to. Required with `MEMORYHUB_DRAIN=celery`.",
        default=SecretStr(""),
    )
    drain: Drain = variable(
        "MEMORYHUB_DRAIN",
        "Who carries the outbox to the search plane: `thread` (the web process), `celery` (the workers), or `off`"
        " (`manage.py index drain`).",
        default=Drain.THREAD,
    )
    recording: Recording = variable(
        "MEMORYHUB_RECORDING",
        "When a recall writes its trace and use counts: `background` (behind the answer) or `inline` (before it).",
        default=Recording.BACKGROUND,
    )
    encoder_threads: PositiveInt = variable(
        "MEMORYHUB_ENCODER_THREADS",
        "Cores that the encoder may use for many texts at once (an import, a rebuild); a question takes one.",
        default=2,
    )
    index_cache_mb: PositiveInt = variable(
        "MEMORYHUB_INDEX_CACHE_MB",
        "Memory that a process spends on vectors of the embedded search plane; 10,000 memories take 17.",
        default=256,
    )
    model: str = variable(
        "MEMORYHUB_MODEL",
        "Name of the language model at `OPENAI_BASE_URL`. Empty: the offline responder answers, and says so.",
        default="",
    )
    consolidate: Consolidate = variable(
        "MEMORYHUB_CONSOLIDATE",
        "When episodes become facts and playbooks by themselves: `turn` (after every turn), `batch` (after as many"
        " episodes or hours as the tenant's policy says) or `off` (on demand alone).",
        default=Consolidate.BATCH,
    )
    consolidation_model: str = variable(
        "MEMORYHUB_CONSOLIDATION_MODEL",
        "Name of the language model that consolidates, at the same endpoint. Empty: `MEMORYHUB_MODEL`; without that,"
        " rules for plain statements.",
        default="",
    )
    tune_recall: TuneRecall = variable(
        "MEMORYHUB_TUNE_RECALL",
        "Once a day, the recall threshold that a tenant's recorded use speaks for: `off`, `propose` or `apply` it.",
        default=TuneRecall.OFF,
    )
    price_input: NonNegativeFloat = variable(
        "MEMORYHUB_PRICE_INPUT",
        "Price of a million tokens that the consolidating model reads, for the cost of runs. 0: not known.",
        default=0.0,
    )
    price_output: NonNegativeFloat = variable(
        "MEMORYHUB_PRICE_OUTPUT", "Price of a million tokens that it writes.", default=0.0
    )
    openai_base_url: str = variable(
        "OPENAI_BASE_URL",
        "Address of any OpenAI-compatible endpoint, such as `https://host/v1`. Empty: the provider's own.",
        default="",
    )
    openai_api_key: SecretStr = variable("OPENAI_API_KEY", "Key for that endpoint.", default=SecretStr(""))

    @field_validator("allowed_hosts", "csrf_trusted_origins", "elasticsearch_urls", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("allowed_hosts")
    @classmethod
    def _names_only(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        if any("/" in host or "*" in host for host in hosts):
            raise ValueError("give host names such as memory.example.org, without https:// and without a wildcard")
        return hosts

    @field_validator("csrf_trusted_origins")
    @classmethod
    def _origins_only(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        if not all(_is_http_url(origin) and not urlsplit(origin).path for origin in origins):
            raise ValueError("give origins such as https://memory.example.org, without a path")
        return origins

    @field_validator("elasticsearch_urls")
    @classmethod
    def _nodes_only(cls, urls: tuple[str, ...]) -> tuple[str, ...]:
        if any(not _is_http_url(url) or "@" in url for url in urls):
            raise ValueError("give addresses such as https://search.example.org:9200, without user and password")
        return urls

    @field_validator("elasticsearch_prefix")
    @classmethod
    def _index_name(cls, prefix: str) -> str:
        if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", prefix):
            raise ValueError("give lower case letters, digits and single hyphens, such as memoryhub")
        if not set(SHELVES).isdisjoint(prefix.split("-")[1:]):
            raise ValueError(f"leave {', '.join(SHELVES)} out: another installation's patterns would match")
        return prefix

    @field_validator("elasticsearch_minter")
    @classmethod
    def _native_user(cls, credential: SecretStr) -> SecretStr:
        if credential and ":" not in credential.get_secret_value():
            raise ValueError("give user:password; a key that an API key makes has no rights of its own")
        return credential

    @field_validator("credential_keys")
    @classmethod
    def _fernet_keys(cls, keys: SecretStr) -> SecretStr:
        for key in filter(None, keys.get_secret_value().split(",")):
            try:
                Fernet(key.strip())
            except ValueError as error:
                raise ValueError(
                    "give keys such as python -c"
                    ' "from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())" prints'
                ) from error
        return keys

    @field_validator("broker_url")
    @classmethod
    def _redis_only(cls, url: SecretStr) -> SecretStr:
        if url and urlsplit(url.get_secret_value()).scheme not in {"redis", "rediss"}:
            raise ValueError("give redis://host:port/number, or rediss:// with TLS")
        return url

    @field_validator("openai_base_url")
    @classmethod
    def _http_only(cls, url: str) -> str:
        if url and not _is_http_url(url):
            raise ValueError("give an http:// or https:// address such as https://host/v1")
        return url

    @field_validator("data_dir", "index_dir", "elasticsearch_ca_certs")
    @classmethod
    def _absolute(cls, path: Path | None) -> Path | None:
        return None if path is None else path.expanduser().absolute()

    @field_validator("database_url")
    @classmethod
    def _known_database(cls, url: SecretStr) -> SecretStr:
        try:
            engine = dj_database_url.parse(url.get_secret_value()).get("ENGINE") if url else ""
        except ValueError:
            engine = None
        if engine not in {"", *DATABASE_ENGINES}:
            raise ValueError("give postgres://user:password@host/name or sqlite:///path")
        return url

    @property
    def production(self) -> bool:
        """Whether this process stands behind TLS and must be strict."""
        return self.mode is Mode.PRODUCTION

    @property
    def elasticsearch_credentials(self) -> dict[str, SecretStr]:
        """The credential of each service identity, by its name (memoryhub.elasticsearch.Identity)."""
        return {
            "indexer": self.elasticsearch_indexer,
            "minter": self.elasticsearch_minter,
            "manager": self.elasticsearch_manager,
            "checker": self.elasticsearch_checker,
            "setup": self.elasticsearch_setup,
        }

    @property
    def database(self) -> dj_database_url.DBConfig:
        """Django's connection settings, without options."""
        url = self.database_url.get_secret_value() or f"sqlite:///{self.data_dir / 'memoryhub.sqlite3'}"
        return dj_database_url.parse(url)


def name_of(field: str) -> str:
    """The environment variable of a field of Env."""
    return str(Env.model_fields[field].alias)


def read(environ: Mapping[str, str]) -> tuple[Env, tuple[Problem, ...]]:
    """The settings in `environ`, and the problems with them; fields with a problem keep their defaults."""
    values = {name: value for name in map(name_of, Env.model_fields) if (value := environ.get(name))}
    problems: list[Problem] = []
    try:
        env = Env.model_validate(values)
    except ValidationError as error:
        bad = {str(detail["loc"][0]): detail for detail in error.errors(include_input=False, include_url=False)}
        problems = [Problem(name, _hint(detail)) for name, detail in sorted(bad.items())]
        env = Env.model_validate({name: value for name, value in values.items() if name not in bad})
    return env, (*problems, *_missing(env, {problem.variable for problem in problems}))


def _missing(env: Env, bad: set[str]) -> list[Problem]:
    """What the chosen parts cannot do without, and what production cannot."""
    problems = [
        Problem(name, f"needed with {why}")
        for name, value, why in (
            ("ELASTICSEARCH_URL", env.elasticsearch_urls or env.search is Search.EMBEDDED, _WITH_ELASTICSEARCH),
            ("MEMORYHUB_BROKER_URL", env.broker_url or env.drain is not Drain.CELERY, "MEMORYHUB_DRAIN=celery"),
        )
        if not value and name not in bad
    ]
    return problems + (_missing_in_production(env, bad) if env.production else [])


def _missing_in_production(env: Env, bad: set[str]) -> list[Problem]:
    problems = []
    if env.search is Search.ELASTICSEARCH:
        problems += [
            Problem(name_of(field), f"production needs it with {_WITH_ELASTICSEARCH}")
            for field in ("credential_keys", "elasticsearch_indexer", "elasticsearch_minter")
            if not getattr(env, field) and name_of(field) not in bad
        ]
        credentials = env.elasticsearch_credentials
        problems += of_identities(
            {name_of(f"elasticsearch_{name}"): credentials[name].get_secret_value() for name in credentials}
        )
    if "MEMORYHUB_SECRET_KEY" not in bad and len(env.secret_key.get_secret_value()) < MIN_SECRET_KEY_CHARACTERS:
        problems.append(
            Problem(
                "MEMORYHUB_SECRET_KEY",
                f"production needs a random value of {MIN_SECRET_KEY_CHARACTERS} characters or more, such as"
                ' python -c "import secrets; print(secrets.token_urlsafe(64))" prints',
            )
        )
    if "MEMORYHUB_ALLOWED_HOSTS" not in bad and not env.allowed_hosts:
        problems.append(Problem("MEMORYHUB_ALLOWED_HOSTS", "production needs the host names it serves"))
    if env.debug:
        problems.append(Problem("MEMORYHUB_DEBUG", "production never shows source and settings; remove it"))
    return problems


def _hint(detail: Mapping[str, Any]) -> str:
    return str(detail["msg"]).removeprefix("Value error, ")


def _is_http_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)
