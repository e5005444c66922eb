"""Models of signing in at a tenant's own provider; only `tenants/oidc/` writes them."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils.translation import gettext


class ProviderKind(models.TextChoices):
    """The protocol of a provider."""

    OIDC = "oidc", "OpenID Connect"
    SAML = "saml", "SAML 2.0"


class IdentityProvider(models.Model):
    """The provider by which a tenant's people sign in, by OpenID Connect or SAML 2.0.

    `issuer` is the address of the one and the entity ID of the other, which also has the `sign_in_url` of its page and
    the `certificates` (PEM) of its signatures. `secret` is the OpenID Connect client's, encrypted. `domains` are those
    of the e-mail addresses that lead to it; operators set them, since they say whose page people are sent to. `roles`
    are roles by the values of `role_claim`, a claim or attribute, which holds at each sign-in if it is set.
    `makes_members`: somebody new to the tenant becomes a member. `trusts_names`: addresses without `email_verified`,
    the `preferred_username` and the NameID say which ordinary member somebody is. `passwords_off`: accounts that open
    this tenant alone sign in here only.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.OneToOneField("tenants.Tenant", on_delete=models.PROTECT, related_name="identity_provider")
    kind = models.CharField(max_length=4, choices=ProviderKind.choices, default=ProviderKind.OIDC.value)
    issuer = models.CharField(max_length=500)
    client_id = models.CharField(max_length=200, blank=True, default="")
    sign_in_url = models.CharField(max_length=500, blank=True, default="")
    certificates = models.TextField(blank=True, default="")
    secret = models.TextField(blank=True, default="", editable=False)
    domains: models.JSONField[list[str]] = models.JSONField(default=list, blank=True)
    role_claim = models.CharField(max_length=100, blank=True, default="")
    roles: models.JSONField[dict[str, str]] = models.JSONField(default=dict, blank=True)
    makes_members = models.BooleanField(default=False)
    trusts_names = models.BooleanField(default=False)
    passwords_off = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)

    def __str__(self) -> str:
        return gettext("%(issuer)s for %(tenant)s") % {"issuer": self.issuer, "tenant": self.tenant}


class ProvidedIdentity(models.Model):
    """Who a member is for their tenant's provider: the `subject` of its ID tokens, or the NameID of its assertions."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    provider = models.ForeignKey(IdentityProvider, on_delete=models.CASCADE, related_name="identities")
    membership = models.ForeignKey("tenants.Membership", on_delete=models.CASCADE, related_name="identities")
    subject = models.CharField(max_length=255)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["provider", "subject"], name="identity_subject_once"),
            models.UniqueConstraint(fields=["provider", "membership"], name="identity_once_for_a_member"),
        ]

    def __str__(self) -> str:
        return f"identity of {self.membership_id}"
