"""Whether somebody who was let in may go on: asked again and again by what takes minutes, such as a download."""

from __future__ import annotations

from tenants.errors import Forbidden
from tenants.models import User


def still(staff: User) -> User:
    """The same person as they are now, for their roles to be asked for. Raises Forbidden if they were switched off."""
    now = User.objects.filter(pk=staff.pk).first()
    if now is None or not now.is_active or (staff.is_staff and not now.is_staff):
        raise Forbidden("Whoever asked for this may not have it any more.")
    return now
