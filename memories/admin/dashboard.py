"""The first page of the admin: what needs attention, what happened lately, and how memory goes; by role and tenant.

Invariant: whoever opens it sees sums over the tenants of their roles and no words of any memory, so nothing that they
read here is told to the trail of a member.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from memories.admin.attention_list import figures_of, needs_of
from memories.admin.dashboard_charts import groups_of
from memories.metrics.alerts import LONGEST_GAP
from memories.metrics.charting import FRAME
from memories.metrics.sampling import last_look
from tenants.admin.scoping import scope_of
from tenants.principal import READS_HISTORY


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The callback of the theme: what its first page shows. `?tenant=` narrows it to one, by its slug."""
    scope = scope_of(request, READS_HISTORY)
    now = timezone.localtime()
    look = last_look(None if scope.everything and scope.chosen is None else scope.names)
    return {
        **context,
        "scope": scope,
        "needs": needs_of(scope, look, now),
        "figures": figures_of(scope, now),
        "groups": groups_of(scope, look, now) if scope.tenants else (),
        "look": look,
        "late": look.at is None or now - look.at > LONGEST_GAP,
        "frame": FRAME,
    }
