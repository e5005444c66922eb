"""`manage.py createsuperuser`: refuses, because Django's command checks no password and leaves no event."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.management.commands import createsuperuser
from django.core.management.base import CommandError

from memoryhub.installation import PROGRAM


class Command(createsuperuser.Command):
    """Names the command to use instead."""

    def execute(self, *_args: Any, **_options: Any) -> None:
        raise CommandError(f"Use `{PROGRAM} operator create`, which checks the password and records the change.")
