"""Staff at the pages of the admin, each in a browser of their own."""

from __future__ import annotations

from uuid import UUID

from django.test import Client
from django.urls import reverse

from tenants.models import Membership, User


def signed_in(membership: Membership) -> Client:
    """The browser of this member, whom the admin lets in."""
    User.objects.filter(pk=membership.user_id).update(is_staff=True)
    membership.user.refresh_from_db()
    client = Client()
    client.force_login(membership.user)
    return client


def at(name: str, *ids: UUID | str) -> str:
    """The address of a staff page, or of a list of memories in the admin."""
    return reverse(f"admin:memories_{name}" if name.endswith("_changelist") else f"staff:{name}", args=ids)
