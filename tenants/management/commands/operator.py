"""`manage.py operator`: accounts of those who run the installation: create, set a password, list."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from getpass import getpass
from typing import Any

from allauth.mfa.models import Authenticator
from django.core.management.base import BaseCommand, CommandError
from django.views.decorators.debug import sensitive_variables

from tenants.errors import TenantsError
from tenants.models import User
from tenants.principal import SYSTEM
from tenants.services import create_user, set_password

VARIABLE = "MEMORYHUB_OPERATOR_PASSWORD"


class Command(BaseCommand):
    """Acts as the system; each change is an event of the platform's audit log."""

    help = "Operators of this installation: create, password, list."
    requires_migrations_checks = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="create an operator, who sees all tenants")
        create.add_argument("--name", default="", help="name that people see")
        create.add_argument("--email", default="")
        change = actions.add_parser("password", help="set an operator's password, which ends their sessions")
        change.add_argument("--remove-second-factor", action="store_true", help="for somebody who lost theirs")
        for action in (create, change):
            action.add_argument("username")
            action.epilog = f"The password is asked for, or taken from {VARIABLE}."
        actions.add_parser("list", help="list the operators")

    def handle(self, **options: Any) -> None:
        try:
            self.stdout.write(getattr(self, f"_{options['action']}")(options))
        except TenantsError as error:
            raise CommandError(str(error)) from error

    def _create(self, options: dict[str, Any]) -> str:
        user = create_user(
            username=options["username"],
            display_name=options["name"],
            email=options["email"],
            password=_password(),
            is_staff=True,
            is_superuser=True,
        )
        return user.username

    def _password(self, options: dict[str, Any]) -> str:
        user = User.objects.filter(username=options["username"], is_superuser=True).first()
        if user is None:
            raise CommandError("There is no operator of this name. An administrator makes links for members.")
        set_password(user, _password(), actor=SYSTEM)
        if options["remove_second_factor"]:
            Authenticator.objects.filter(user=user).delete()
        return user.username

    def _list(self, _options: dict[str, Any]) -> str:
        rows = User.objects.filter(is_superuser=True)
        return "\n".join(f"{each.username}\t{'active' if each.is_active else 'deactivated'}" for each in rows)


@sensitive_variables()
def _password() -> str:
    if (given := os.environ.get(VARIABLE)) is not None:
        return given
    if not sys.stdin.isatty():
        raise CommandError(f"Without a terminal the password is taken from {VARIABLE}.")
    password = getpass("Password: ")
    if password != getpass("Password again: "):
        raise CommandError("The passwords differ. Nothing was stored.")
    return password
