"""System checks of the environment: each bad variable by name, with what to do. Never a value, it may be a secret."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register

from memoryhub import tracing
from memoryhub.problems import Problem


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
