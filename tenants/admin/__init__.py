"""Django admin pages of tenants. Every change goes through `tenants.services`; no page deletes a row."""

from django.contrib import admin
from django.contrib.auth.models import Group

from tenants.admin.accounts import ApiTokenAdmin, TenantAdmin, UserAdmin
from tenants.admin.audit_event import AuditEventAdmin
from tenants.admin.membership import MembershipAdmin

__all__ = ["ApiTokenAdmin", "AuditEventAdmin", "MembershipAdmin", "TenantAdmin", "UserAdmin"]

admin.site.site_header = admin.site.site_title = "memoryhub"
admin.site.unregister(Group)  # rights come from roles; a group would have no effect
