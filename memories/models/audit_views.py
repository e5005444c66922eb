"""Proxies: rows as the pages of staff look at them. They have no table, only an address and a name in the admin."""

from __future__ import annotations

from memories.models.fact import Fact
from tenants.models import Membership


class MemberMemory(Membership):
    """A member, as the inspector opens them."""

    class Meta:
        proxy = True
        verbose_name = "member's memory"
        verbose_name_plural = "members' memory"


class History(Fact):
    """How facts and how-tos came to be, as the auditor browses it."""

    class Meta:
        proxy = True
        verbose_name = "history"
        verbose_name_plural = "histories"
