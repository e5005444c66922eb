"""What is wrong with a variable of the environment, and the rules on several of them together. Never a value.

System checks of the environment: each bad variable by name, with what to do. Never a value, it may be a secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register

from memoryhub.observability import tracing

SETUP = "ELASTICSEARCH_SETUP"
# The user with which a cluster is born.
SUPERUSER = "elastic"


@dataclass(frozen=True, slots=True)
class Problem:
    """A variable that is missing or has a value that cannot be used, and what to do about it."""

    variable: str
    hint: str


def of_identities(credentials: Mapping[str, str]) -> list[Problem]:
    """What production refuses in `credentials` (by variable): an administrator's, and one for several tasks."""
    users = {variable: credential.partition(":")[0] for variable, credential in credentials.items() if credential}
    problems = []
    if SETUP in users:
        hint = "an administrator's credential is for `manage.py elasticsearch setup` alone; remove it here"
        problems.append(Problem(SETUP, hint))
    for variable, user in users.items():
        if variable != SETUP and user == SUPERUSER:
            problems.append(Problem(variable, f"production never works as the superuser {SUPERUSER}"))
        if others := [other for other in users if other != variable and users[other] == user]:
            problems.append(Problem(variable, f"give it a user of its own, not that of {others[0]}"))
    return problems


@register(Tags.security)
def environment_is_usable(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:  # noqa: ARG001 - Django's signature
    """One error for each variable that is missing or cannot be used."""
    return [
        Error(f"{problem.variable} is missing or cannot be used.", hint=f"{problem.hint}.", id="memoryhub.E001")
        for problem in settings.ENVIRONMENT_PROBLEMS
    ]


@register(Tags.security)
def traces_can_be_sent(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:  # noqa: ARG001 - Django's signature
    """An error where spans are wanted and what sends them is not installed."""
    if not settings.MEMORYHUB_TRACES_URL or tracing.available():
        return []
    hint = "Install the extra: pip install 'memoryhub[otel]', or requirements/otel.txt."
    return [Error("MEMORYHUB_TRACES_URL needs OpenTelemetry.", hint=hint, id="memoryhub.E002")]


def refuse(problems: Sequence[Problem]) -> None:
    """End the process with the problems in words; for entry points that run no system checks."""
    if problems:
        raise SystemExit("\n".join(f"{problem.variable}: {problem.hint}." for problem in problems))
