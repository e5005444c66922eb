"""User: a login, or an end user that a tenant's own system names by an external id (no usable password then)."""

from __future__ import annotations

import uuid

from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    """One person. What they may do in a tenant is in their memberships, not here."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    display_name = models.CharField(max_length=100, blank=True, default="")

    class Meta:
        ordering = ["username"]

    @property
    def is_erased(self) -> bool:
        """Whether all that was known of this person was erased; they do not come back."""
        return self.username == erased_username(self.pk)

    @property
    def speaker(self) -> str:
        """The name under which this person's words are kept."""
        if self.is_erased:
            return f"erased member {str(self.pk)[:8]}"
        return self.display_name or self.get_full_name() or self.get_username()


def erased_username(user_id: uuid.UUID) -> str:
    """The only name that is left of somebody who was erased."""
    return f"erased-{user_id}"
