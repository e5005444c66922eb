"""Every variable that memoryhub reads, with its type, its default and the words of docs/configuration.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dj_database_url
from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, PositiveInt, SecretStr

from memoryhub.env.values import (
    AbsolutePath,
    BrokerUrl,
    Consolidate,
    DatabaseUrl,
    FernetKeys,
    Hosts,
    HttpUrl,
    JobRunner,
    LogFormat,
    Mode,
    Nodes,
    Origins,
    Prefix,
    Recording,
    RulePackage,
    Search,
    SigningKeys,
    Token,
    TuneRecall,
    UserCredential,
)

BASE_DIR = Path(__file__).resolve().parents[2]


def variable(name: str, description: str, *, default: Any = "") -> Any:
    """A setting read from the environment variable `name`; its type reads the default, too."""
    return Field(default=default, alias=name, description=description, validate_default=True)


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
    )
    allowed_hosts: Hosts = variable(
        "MEMORYHUB_ALLOWED_HOSTS",
        "Host names that are served, separated by commas. Required in production.",
    )
    csrf_trusted_origins: Origins = variable(
        "MEMORYHUB_CSRF_TRUSTED_ORIGINS",
        "Origins (`https://host`) that may post forms when a proxy changes the host name, separated by commas.",
    )
    trust_proxy: bool = variable(
        "MEMORYHUB_TRUST_PROXY",
        "`true`: a proxy in front ends TLS and sets `X-Forwarded-Proto` itself on every request.",
        default=False,
    )
    database_url: DatabaseUrl = variable(
        "DATABASE_URL",
        "`postgres://user:password@host/name` or `sqlite:///path`. Default: SQLite in the data folder.",
    )
    data_dir: AbsolutePath = variable(
        "MEMORYHUB_DATA_DIR",
        "Folder of the SQLite database, the index and the development key. Default: `var` in the project.",
        default=BASE_DIR / "var",
    )
    index_dir: AbsolutePath | None = variable(
        "MEMORYHUB_INDEX_DIR",
        "Folder of the embedded search plane: a cache that can be rebuilt. Default: `index` in the data folder.",
        default=None,
    )
    search: Search = variable(
        "MEMORYHUB_SEARCH",
        "The search plane: `embedded` (files in the data folder) or `elasticsearch`.",
        default=Search.EMBEDDED,
    )
    elasticsearch_urls: Nodes = variable(
        "ELASTICSEARCH_URL",
        "Addresses of the cluster's nodes, separated by commas. Required with `MEMORYHUB_SEARCH=elasticsearch`.",
    )
    elasticsearch_ca_certs: AbsolutePath | None = variable(
        "ELASTICSEARCH_CA_CERTS",
        "File with the certificates that sign the cluster's own. Default: those that the system trusts.",
        default=None,
    )
    elasticsearch_prefix: Prefix = variable(
        "ELASTICSEARCH_PREFIX",
        "First part of the name of every index, alias, role and key; one for each installation on a cluster.",
        default="memoryhub",
    )
    elasticsearch_archive_policy: str = variable(
        "ELASTICSEARCH_ARCHIVE_POLICY",
        "Name of a lifecycle policy of the cluster for the index of archived memories. Empty: none.",
    )
    elasticsearch_indexer: SecretStr = variable(
        "ELASTICSEARCH_INDEXER",
        "Credential (`user:password` or an encoded API key) of the identity that writes documents.",
    )
    elasticsearch_minter: UserCredential = variable(
        "ELASTICSEARCH_MINTER",
        "Credential (`user:password`, never an API key) of the identity that makes the members' keys.",
    )
    elasticsearch_manager: SecretStr = variable(
        "ELASTICSEARCH_MANAGER",
        "Credential of the identity that makes templates, indices and aliases; for commands.",
    )
    elasticsearch_checker: SecretStr = variable(
        "ELASTICSEARCH_CHECKER",
        "Credential of the identity that compares the indices with the database; for commands.",
    )
    elasticsearch_setup: SecretStr = variable(
        "ELASTICSEARCH_SETUP",
        "Credential of an administrator of the cluster, for `manage.py elasticsearch setup` alone. Never set it where"
        " memoryhub serves.",
    )
    credential_keys: FernetKeys = variable(
        "MEMORYHUB_CREDENTIAL_KEYS",
        "Fernet keys that encrypt the members' search keys at rest, separated by commas: the first encrypts, all"
        " decrypt. Required in production with Elasticsearch; in development one is made once and kept in the data"
        " folder.",
    )
    original_keys: FernetKeys = variable(
        "MEMORYHUB_ORIGINAL_KEYS",
        "Fernet keys that encrypt originals of masked texts at rest, separated by commas: the first encrypts, all"
        " decrypt. Required in production as soon as a tenant keeps originals; in development one is made once and kept"
        " in the data folder.",
    )
    signing_keys: SigningKeys = variable(
        "MEMORYHUB_SIGNING_KEYS",
        "Ed25519 keys that sign exports and receipts of erasure, separated by commas: the first signs, all verify"
        " (`manage.py signing_keys new`). In production nothing is exported or erased on request without one; in"
        " development one is made once and kept in the data folder.",
    )
    key_days: PositiveInt = variable(
        "MEMORYHUB_KEY_DAYS",
        "Days until a member's search key expires; it is replaced after two thirds of them.",
        default=90,
    )
    broker_url: BrokerUrl = variable(
        "MEMORYHUB_BROKER_URL",
        "`redis://…` of the broker that Celery's workers listen to. Required with `MEMORYHUB_JOBS=celery`.",
    )
    jobs: JobRunner = variable(
        "MEMORYHUB_JOBS",
        "Who runs the background jobs: `worker` (one `manage.py worker`, which `serve` and `demo` start), `celery`, or"
        " `off` (nobody; `manage.py index drain` delivers what waits for the search plane).",
        default=JobRunner.WORKER,
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
        " the rules of `MEMORYHUB_RULES`.",
    )
    rules: RulePackage = variable(
        "MEMORYHUB_RULES",
        "Package with the rules of one language, which read, judge and answer where no model does. `none`: no rules.",
        default="memories.english",
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
    openai_base_url: HttpUrl = variable(
        "OPENAI_BASE_URL",
        "Address of any OpenAI-compatible endpoint, such as `https://host/v1`. Empty: the provider's own.",
    )
    openai_api_key: SecretStr = variable("OPENAI_API_KEY", "Key for that endpoint.")
    classifier_model: str = variable(
        "MEMORYHUB_CLASSIFIER_MODEL",
        "Name of the model that judges the shape of suspicious values. Empty: nobody judges them.",
    )
    classifier_url: HttpUrl = variable(
        "MEMORYHUB_CLASSIFIER_URL",
        "Address of that model's OpenAI-compatible endpoint. Empty: `OPENAI_BASE_URL`, with its key.",
    )
    classifier_key: SecretStr = variable("MEMORYHUB_CLASSIFIER_KEY", "Key for an endpoint of its own.")
    metrics_token: Token = variable(
        "MEMORYHUB_METRICS_TOKEN",
        "The token, 32 characters or more, with which Prometheus reads `/metrics`. Empty: nobody reads it.",
    )
    log_format: LogFormat = variable(
        "MEMORYHUB_LOG_FORMAT",
        "Logs as text (`line`) or as one JSON object a line (`json`), both on standard error.",
        default=LogFormat.LINE,
    )
    traces_url: HttpUrl = variable(
        "MEMORYHUB_TRACES_URL",
        "Address that takes OpenTelemetry's spans over HTTP, such as `http://collector:4318/v1/traces`; needs the extra"
        " `otel`. Empty: off.",
    )

    @property
    def production(self) -> bool:
        """True if this installation is served behind TLS and must be strict."""
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
