"""The view of a tenant's memory policy, for administrators and backend keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from memories.api.acting import USER_FIELD, Acts, require_password
from memories.api.authentication import ADMINISTER
from memories.api.etags import state_of_row
from memories.api.serializers.policy import PolicyRequest, PolicyResponse
from memories.api.views.base import ApiView, operation
from memories.errors import InvalidInput
from memories.models import MemoryPolicy
from memories.selectors.policies import LINES, lines_of
from memories.selectors.upstreams import shown_upstreams
from memories.services.policies import POLICY_FIELDS, set_policy
from tenants.errors import Forbidden
from tenants.locks import wait_for_tenant
from tenants.principal import Principal, Role


class PolicyView(ApiView):
    """The memory policy of the caller's tenant."""

    acts = Acts.FOR_TENANT
    is_item = True

    @operation("policy_read", ADMINISTER, gives=PolicyResponse)
    def get(self) -> dict[str, Any]:
        """Read what the tenant decided; what is null or empty has the default."""
        return _shown(self.policy())

    @operation("policy_change", ADMINISTER, takes=PolicyRequest, gives=PolicyResponse, refuses=(412,))
    def patch(self, **decisions: Any) -> dict[str, Any]:
        """Change the memory policy, as an administrator does in the admin; each change is in the audit log.

        A session does so within ten minutes of its sign-in. A backend key does not change what protects people from
        programs: approvals, looks, sensitive values, limits, the life of tokens, and model endpoints.
        """
        self.policy()
        require_password(self.request._request, self.caller)
        texts: dict[str, Any] = {name: _stored(value) for name, value in decisions.items() if name in LINES}
        if "apps" in decisions:
            apps = decisions["apps"].items()
            texts["apps"] = {app: {name: _stored(value) for name, value in own.items()} for app, own in apps}
        with self.once():
            wait_for_tenant(self.caller.tenant_id)
            self.check_match({})
            changed = set_policy(self.caller, tenant_id=self.caller.tenant_id, **{**decisions, **texts})
        return _shown(changed)

    def policy(self) -> MemoryPolicy:
        """The policy of the caller's tenant, unsaved if it decided nothing yet. Raises Forbidden, InvalidInput."""
        if isinstance(self.caller, Principal) and self.caller.role is not Role.ADMIN:
            raise Forbidden("Only an administrator, or a backend key, sees and changes the memory policy.")
        if self.user_id is not None:
            raise InvalidInput(USER_FIELD, "is named, but the policy is that of the whole tenant.")
        tenant_id = self.caller.tenant_id
        return MemoryPolicy.objects.filter(tenant_id=tenant_id).first() or MemoryPolicy(tenant_id=tenant_id)

    def state(self, ids: Mapping[str, UUID]) -> str:  # noqa: ARG002 - a tenant has one policy
        """The state of the policy, for its ETag."""
        return state_of_row(self.policy())


def _stored(value: str | list[str]) -> str:
    return value if isinstance(value, str) else "\n".join(value)


def _shown(policy: MemoryPolicy) -> dict[str, Any]:
    shown = {name: getattr(policy, name) for name in POLICY_FIELDS} | {"updated_at": policy.updated_at}
    shown |= _learning({name: shown[name] for name in LINES})
    shown |= {"upstreams": shown_upstreams(policy.upstreams)}
    return shown | {"apps": {app: _learning(own) for app, own in policy.apps.items()}}


def _learning(own: Mapping[str, str]) -> dict[str, Any]:
    return {name: list(lines_of(text)) if name in LINES else text for name, text in own.items()}
