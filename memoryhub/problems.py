"""What is wrong with a variable of the environment, and the rules on several of them together. Never a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
