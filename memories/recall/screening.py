"""A question as it may go on: to the search plane, the encoder and the trace."""

from __future__ import annotations

from memories.constants import MAX_QUERY_CHARACTERS
from memories.hygiene.sensitivity.detecting import scan
from memories.hygiene.sensitivity.findings import judged
from memories.selectors.policies import policy_of
from tenants.principal import Principal


def screened(principal: Principal, query: str) -> str:
    """`query`, masked where the principal's tenant would not store it. What cannot be asked is left to `checked`."""
    findings = scan(query) if len(query) <= MAX_QUERY_CHARACTERS else ()
    return judged(query, findings, policy_of(principal.tenant_id).handling).text if findings else query
