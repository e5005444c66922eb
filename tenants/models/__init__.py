"""The models of tenants, a file each."""

from tenants.models.api_token import ApiToken
from tenants.models.audit_event import AuditEvent, AuditHead, AuditPayload
from tenants.models.chain_check import ChainCheck, Checked
from tenants.models.membership import Membership
from tenants.models.search_credential import CredentialState, KeyTrouble, RetiredKey, SearchCredential
from tenants.models.tenant import Tenant
from tenants.models.user import User

__all__ = [
    "ApiToken",
    "AuditEvent",
    "AuditHead",
    "AuditPayload",
    "ChainCheck",
    "Checked",
    "CredentialState",
    "KeyTrouble",
    "Membership",
    "RetiredKey",
    "SearchCredential",
    "Tenant",
    "User",
]
