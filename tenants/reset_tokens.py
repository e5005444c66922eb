"""Tokens of links that set a password. A token ends when its account comes to open something else.

Otherwise an administrator could make a link for a member of their own tenant, and use it after that member
joined another.
"""

from __future__ import annotations

from django.contrib.auth.tokens import PasswordResetTokenGenerator

from memoryhub.db.scope import WideRole, acting_as
from tenants.models import Membership, User


class ResetTokens(PasswordResetTokenGenerator):
    """Django's tokens, which also hold for the memberships and platform rights that the account had."""

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        with acting_as(WideRole.SIGN_IN):
            memberships = Membership.objects.filter(user_id=user.pk).order_by("pk").values_list("pk", flat=True)
            opened = ",".join(map(str, memberships))
        return f"{super()._make_hash_value(user, timestamp)}:{user.is_superuser}:{opened}"
