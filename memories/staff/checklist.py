"""The checklist of an organisation's first day: people, model, policy, token. It goes away once all is done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _

from memories.agent.model import answers_offline
from memories.models import MemoryPolicy
from tenants.admin.scoping import PARAMETER, TenantScope
from tenants.models import ApiToken, AuditPayload, Membership, Tenant
from tenants.principal import Role

# Members counted: one alone is whoever reads this.
_SEVERAL = 2
_EVENTS_READ = 50


@dataclass(frozen=True, slots=True)
class FirstStep:
    """Something to set up, why, whether it is done, and where (label, URL)."""

    title: str
    words: str
    done: bool
    links: tuple[tuple[str, str], ...] = ()


def checklist_of(scope: TenantScope) -> list[FirstStep]:
    """The steps of the chosen tenant, for its administrators and operators; empty once all are done."""
    tenant = scope.chosen
    if tenant is None or not (scope.everything or scope.roles.get(tenant.pk) is Role.ADMIN):
        return []
    steps = [*_steps(tenant, in_it=not scope.everything)]
    return [] if all(step.done for step in steps) else steps


def _steps(tenant: Tenant, *, in_it: bool) -> Iterator[FirstStep]:
    def add(model: str, **more: str) -> str:
        return f"{reverse(f'admin:{model}_add')}?{urlencode({'tenant': str(tenant.pk)} | more)}"

    members = Membership.objects.filter(tenant=tenant, is_active=True)
    if not in_it:
        yield FirstStep(
            _("First administrator"),
            _("Runs the organisation: people, policy and keys."),
            members.filter(role=Role.ADMIN.value).exists(),
            ((_("Invite"), add("tenants_invitation", role=Role.ADMIN.value)),),
        )
    provider = reverse("admin:tenants_identityprovider_changelist")
    yield FirstStep(
        _("People"),
        _("Invite them, upload a file of them, or let them sign in at your own provider."),
        len(members.values_list("pk")[:_SEVERAL]) == _SEVERAL,
        (
            (_("Invite"), add("tenants_invitation")),
            (_("Upload a file"), f"{reverse('admin:tenants_membership_import')}?{PARAMETER}={tenant.slug}"),
            (_("Identity provider"), provider),
        ),
    )
    yield FirstStep(
        _("Model"),
        _("Answers in the chat. Without one, the chat answers from memory alone."),
        not answers_offline(tenant.pk),
        ((_("Connect a model"), reverse("connect:model")),) if in_it else (),
    )
    policy = MemoryPolicy.objects.filter(tenant=tenant).values_list("pk", flat=True).first()
    page = reverse("admin:memories_memorypolicy_change", args=[policy]) if policy else add("memories_memorypolicy")
    yield FirstStep(
        _("Policy"),
        _("Says what is kept, for how long, and who approves. Every field has a default: look, and save."),
        _decided(tenant),
        ((_("Set the policy"), page),),
    )
    yield FirstStep(
        _("Token"),
        _("Lets your own programs use the memory: a member's token, or a backend key for all members."),
        ApiToken.objects.filter(tenant=tenant, revoked_at=None).exists(),
        ((_("Make a token"), add("tenants_apitoken")),),
    )


def _decided(tenant: Tenant) -> bool:
    """Whether somebody saved the policy: connecting a model also stores a row, with the model alone."""
    saved = ("policy.changed", "policy.confirmed")
    stored = AuditPayload.objects.filter(event__tenant_id=tenant.pk, event__action__in=saved)
    said = (payload.data["after"] for payload in stored.order_by("event__sequence")[:_EVENTS_READ])
    return any(set(after or {}) != {"upstreams"} for after in said)
