"""Reading the environment. Invariant: it never fails; see the package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from memoryhub.env.choices import JobRunner, Search
from memoryhub.env.problems import Problem, of_identities
from memoryhub.env.variables import Env

MIN_SECRET_KEY_CHARACTERS = 50
_WITH_ELASTICSEARCH = "MEMORYHUB_SEARCH=elasticsearch"


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
            ("MEMORYHUB_BROKER_URL", env.broker_url or env.jobs is not JobRunner.CELERY, "MEMORYHUB_JOBS=celery"),
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
