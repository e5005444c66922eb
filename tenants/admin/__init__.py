"""Django admin pages of tenants. Every change goes through `tenants.services`; no page deletes a row."""

from django.contrib import admin

from tenants.admin.accounts import ApiTokenAdmin, TenantAdmin, UserAdmin
from tenants.admin.audit_event import AuditEventAdmin
from tenants.admin.identity_provider import IdentityProviderAdmin
from tenants.admin.invitation import InvitationAdmin
from tenants.admin.membership import MembershipAdmin

__all__ = [
    "ApiTokenAdmin",
    "AuditEventAdmin",
    "IdentityProviderAdmin",
    "InvitationAdmin",
    "MembershipAdmin",
    "TenantAdmin",
    "UserAdmin",
]

admin.site.site_header = admin.site.site_title = "memoryhub"
