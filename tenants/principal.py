"""Principal: who acts, on which owner's memory. Actor: who acts in administration.

A principal is the first argument of every service of memories. It names exactly one owner (tenant and user); no service
takes an owner from anywhere else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from tenants.errors import Forbidden


class Role(TextChoices):
    """The role of a membership in its tenant."""

    MEMBER = "member", _("member")
    SUPPORT = "support", _("support")
    AUDITOR = "auditor", _("auditor")
    ADMIN = "admin", _("admin")


# Rights of staff by role; superusers have all of them in all tenants.
READS_MEMORY: tuple[Role, ...] = (Role.SUPPORT, Role.ADMIN)
READS_HISTORY: tuple[Role, ...] = (Role.SUPPORT, Role.AUDITOR, Role.ADMIN)
AUDITS: tuple[Role, ...] = (Role.AUDITOR, Role.ADMIN)
ADMINISTERS: tuple[Role, ...] = (Role.ADMIN,)


class ActorKind(TextChoices):
    """Who acts: the member in person, their agent, their token, their tenant's backend key, staff, or the system."""

    MEMBER = "member", _("member")
    AGENT = "agent", _("agent")
    TOKEN = "token", _("token")
    KEY = "key", _("key")
    STAFF = "staff", _("staff")
    SYSTEM = "system", _("system")


class Right(TextChoices):
    """What a caller may do; also the scopes of an API token. A label says what the scope lets a program do.

    DECIDE is for people: to confirm what an agent proposes. No agent has it. TOKENS: to make, list and revoke tokens.
    MEMBERS, ERASE and PEOPLE administer a tenant's members, which only a backend key does by program. EVENTS shows what
    happens to all of them. AUDIT and ADMINISTER are for a backend key, and for people with a role in the tenant.
    """

    READ = "memory:read", _("read the member's memories and conversations, and recall")
    WRITE = "memory:write", _("write, correct and retire memories, and change conversations; needs memory:read")
    CHAT = (
        "chat",
        _(
            "talk with the agent as the member, which needs memory:read and memory:write; use the tenant's language"
            " model"
        ),
    )
    DECIDE = (
        "memory:decide",
        _("erase, and decide for the member what an agent proposes; only for people's own programs"),
    )
    TOKENS = "tokens", _("make, list, rotate and revoke tokens that reach no further")
    MEMBERS = "members", _("list, make, rename and deactivate members; only for a backend key")
    EVENTS = "events", _("read what happens in the whole tenant, and administer webhooks; for keys and administrators")
    PEOPLE = "people", _("provision people and their roles by SCIM, administrators among them; only for a backend key")
    ERASE = (
        "members:erase",
        _("erase all of a member, and ask for their erasure; needs members; only for a backend key"),
    )
    AUDIT = (
        "audit",
        _("read and verify the audit log of the tenant; for auditors, administrators and backend keys"),
    )
    ADMINISTER = "administer", _("change the memory policy; administrators also place legal holds and decide erasures")


# All that a member may do with what is theirs; what an agent may; and a backend key, unless more was asked for.
ALL_RIGHTS: frozenset[Right] = frozenset(Right) - {Right.MEMBERS, Right.ERASE, Right.PEOPLE}
AGENT_RIGHTS: frozenset[Right] = frozenset({Right.READ, Right.WRITE, Right.CHAT})
KEY_RIGHTS: frozenset[Right] = AGENT_RIGHTS | {Right.MEMBERS}


@dataclass(frozen=True, slots=True)
class Principal:
    """The actor (`actor_kind`, `actor_id`), the owner of the memory (`tenant_id`, `user_id`), and the actor's rights.

    `membership_id` is the row whose lock serialises this owner's writes. `speaker` is the owner's display name, the
    default speaker of their episodes. `request_id` links audit events to a request. `platform` is set only by
    `platform_principal`: a superuser acts, and only they may write what all tenants share. Nothing calls this yet.
    `purpose` is why staff look, as they stated it; read events record it. `app` is the tenant's agent that makes the
    call; new memories carry it. `apart`: the tenant keeps its apps apart, so a call of an app sees only the memories of
    that app and of none.
    `off_record`: the call belongs to a temporary chat, of which no memory is stored. `recalls`: whether memories may
    come up for this call, if that was decided when its turn began; None: as the member has it now.
    """

    tenant_id: UUID
    user_id: UUID
    membership_id: UUID
    role: Role
    actor_kind: ActorKind
    actor_id: UUID | None
    rights: frozenset[Right] = ALL_RIGHTS
    speaker: str = ""
    request_id: str = ""
    platform: bool = False
    purpose: str = ""
    app: str = ""
    apart: bool = False
    off_record: bool = False
    recalls: bool | None = None

    @property
    def only_app(self) -> str | None:
        """The app to whose memories this principal is confined; None if it is not."""
        return self.app if self.apart and self.app else None

    def require(self, right: Right) -> None:
        """Raise Forbidden unless this principal has `right`."""
        _require(self.rights, right)

    @property
    def actor(self) -> Actor:
        """Who acts, for audit events and administrative services."""
        return Actor(self.actor_kind, self.actor_id, self.request_id)

    def as_agent(self) -> Principal:
        """A copy with the owner's agent as the actor in audit events; owner and rights stay, but for DECIDE."""
        return replace(self, actor_kind=ActorKind.AGENT, rights=self.rights & AGENT_RIGHTS, platform=False)


@dataclass(frozen=True, slots=True)
class Actor:
    """The `actor` of administrative services; memory services take a `Principal` instead."""

    kind: ActorKind
    id: UUID | None = None
    request_id: str = ""


SYSTEM = Actor(ActorKind.SYSTEM)


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """The holder of a tenant's backend key. No memory is theirs: `principals.principal_of_key` names a member."""

    tenant_id: UUID
    key_id: UUID
    rights: frozenset[Right]
    request_id: str = ""

    def require(self, right: Right) -> None:
        """Raise Forbidden unless the key has `right`."""
        _require(self.rights, right)

    @property
    def actor(self) -> Actor:
        """The key, for administrative services."""
        return Actor(ActorKind.KEY, self.key_id, self.request_id)


def _require(rights: frozenset[Right], right: Right) -> None:
    if right not in rights:
        raise Forbidden(
            f"This needs the scope `{right.value}`, which the caller does not have. Scopes are named when a"
            " token or key is made, as in `token create --scopes`: use one that has it."
        )
