"""The names by which an owner goes, to tell their own words from those of others."""

from __future__ import annotations

from memories.words import folded
from tenants.models import Membership
from tenants.principal import Principal

# What frameworks send as the name of whoever talks to the agent.
ROLE_NAME = "user"


def own_names(principal: Principal) -> frozenset[str]:
    """The owner's display name, names, username and external id, and the role's name; folded."""
    names = {principal.speaker, ROLE_NAME}
    member = Membership.objects.select_related("user").filter(pk=principal.membership_id).first()
    if member is not None:
        user = member.user
        names |= {user.display_name, user.get_full_name(), user.get_username(), member.external_id}
    return frozenset(folded(name).strip() for name in names if name.strip())
