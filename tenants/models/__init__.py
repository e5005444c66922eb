"""The models of tenants, a file each."""

from tenants.models.accounts import ApiToken, Membership, Tenant, User
from tenants.models.audit import AuditEvent, AuditHead, AuditPayload, ChainCheck, Checked
from tenants.models.search_credential import CredentialState, KeyTrouble, RetiredKey, SearchCredential

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
