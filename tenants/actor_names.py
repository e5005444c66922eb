"""Who did what, as staff of one tenant may know them: the people and tokens of that tenant by name, all others not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from tenants.models import ApiToken, AuditEvent, Membership
from tenants.principal import ActorKind

_UNNAMED: Mapping[str, str] = {
    ActorKind.MEMBER: "a member",
    ActorKind.AGENT: "the agent",
    ActorKind.TOKEN: "a connected program",
    ActorKind.STAFF: "platform staff",
    ActorKind.SYSTEM: "the system",
}


@dataclass(frozen=True, slots=True)
class ActorNames:
    """Names by the ids of users and of tokens."""

    by_id: Mapping[UUID, str]

    def who(self, event: AuditEvent) -> str:
        """Such as `Mara Lindqvist`, `the agent of Mara Lindqvist`, or `the system`."""
        name = self.by_id.get(event.actor_id) if event.actor_id else None
        if name is None:
            return _UNNAMED.get(event.actor_kind, event.actor_kind)
        if event.actor_kind == ActorKind.AGENT:
            return f"the agent of {name}"
        return f"the token {name}" if event.actor_kind == ActorKind.TOKEN else name


def actor_names(tenant_id: UUID | None, events: Iterable[AuditEvent]) -> ActorNames:
    """The names of those who acted in these events and belong to the tenant, or once did; two queries at most."""
    users, tokens = set[UUID](), set[UUID]()
    for event in events:
        if event.actor_id is not None:
            (tokens if event.actor_kind == ActorKind.TOKEN else users).add(event.actor_id)
    names: dict[UUID, str] = {}
    if users and tenant_id is not None:
        members = Membership.objects.filter(tenant_id=tenant_id, user_id__in=users).select_related("user")
        names |= {member.user_id: member.user.speaker for member in members}
    if tokens and tenant_id is not None:
        known = ApiToken.objects.filter(pk__in=tokens, membership__tenant_id=tenant_id)
        names |= dict(known.values_list("pk", "name"))
    return ActorNames(names)


def names_of_members(tenant_id: UUID, user_ids: Iterable[str]) -> dict[str, str]:
    """The names of members of the tenant by the ids of their users; of others the beginning of the id."""
    wanted = list(user_ids)
    known = Membership.objects.filter(tenant_id=tenant_id, user_id__in=_ids(wanted)).select_related("user")
    names = {str(member.user_id): member.user.speaker for member in known}
    return {each: names.get(each) or f"member {each[:8]}" for each in wanted}


def _ids(texts: Iterable[str]) -> list[UUID]:
    """Those that are ids: the name of a chain can be changed by SQL."""
    found = []
    for text in texts:
        try:
            found.append(UUID(text))
        except ValueError:
            continue
    return found
