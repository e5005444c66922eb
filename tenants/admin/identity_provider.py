"""Identity providers in the admin: each tenant's administrators set where their people sign in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tenants.admin.scoping import TenantScopedAdmin, acting, signed_in
from tenants.oidc.providers import ProviderSettings, save_provider
from tenants.provider_models import IdentityProvider

if TYPE_CHECKING:
    from django.forms import PasswordInput, Textarea  # the theme's have no types
else:
    from unfold.widgets import UnfoldAdminPasswordWidget as PasswordInput
    from unfold.widgets import UnfoldAdminTextareaWidget as Textarea


class IdentityProviderForm(forms.ModelForm[IdentityProvider]):
    """The settings of a provider; the secret is written and never shown."""

    new_secret = forms.CharField(
        label=gettext_lazy("Client secret"),
        required=False,
        strip=True,
        widget=PasswordInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("Stored encrypted and never shown. Empty: keeps the one stored for this issuer."),
    )
    domain_lines = forms.CharField(
        label=gettext_lazy("E-mail domains"),
        required=False,
        widget=Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("One a line. Addresses of these domains lead here; only operators set them."),
    )
    role_lines = forms.CharField(
        label=gettext_lazy("Roles"),
        required=False,
        widget=Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("One a line, such as it-admins = admin. Everybody else becomes a member."),
    )

    class Meta:
        model = IdentityProvider
        fields = [
            "tenant",
            "issuer",
            "client_id",
            "role_claim",
            "makes_members",
            "trusts_names",
            "passwords_off",
            "is_active",
        ]
        labels = {
            "client_id": gettext_lazy("Client ID"),
            "role_claim": gettext_lazy("Claim for the role"),
            "makes_members": gettext_lazy("Add people at their first sign-in"),
            "trusts_names": gettext_lazy("Believe names that are not verified"),
            "passwords_off": gettext_lazy("No sign-in with a password"),
            "is_active": gettext_lazy("In use"),
        }
        help_texts = {
            "issuer": gettext_lazy("The address before /.well-known/openid-configuration."),
            "role_claim": gettext_lazy("Such as groups. Its values set the role at each sign-in. Empty: roles stay."),
            "makes_members": gettext_lazy(
                "People with an address of these domains. Off: only people whom you or your directory added come in."
            ),
            "trusts_names": gettext_lazy(
                "For providers without email_verified, such as Microsoft Entra. It leads to ordinary members alone."
            ),
            "passwords_off": gettext_lazy("For accounts that belong to this organisation alone."),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance._state.adding:
            self.fields["domain_lines"].initial = "\n".join(self.instance.domains)
            lines = (f"{value} = {role}" for value, role in self.instance.roles.items())
            self.fields["role_lines"].initial = "\n".join(lines)

    def clean_role_lines(self) -> dict[str, str]:
        """The roles by the values of the claim."""
        found = {}
        for line in filter(str.strip, self.cleaned_data["role_lines"].splitlines()):
            value, sign, role = (part.strip() for part in line.rpartition("="))
            if not (value and sign and role):
                raise ValidationError(_("Write each line as value = role."))
            found[value] = role
        return found


@admin.register(IdentityProvider)
class IdentityProviderAdmin(TenantScopedAdmin[IdentityProvider]):
    """The providers of the tenants that the reader administers."""

    empty_words = gettext_lazy("Let people sign in at your organisation's own provider, by OpenID Connect.")
    confirmed = True
    form = IdentityProviderForm
    list_display = ["tenant", "issuer", "makes_members", "passwords_off", "is_active"]
    list_select_related = ["tenant"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[IdentityProvider]:
        return super().get_queryset(request).defer("secret")

    def get_fields(self, request: HttpRequest, obj: IdentityProvider | None = None) -> list[Any]:
        domains = "domain_lines" if signed_in(request).is_superuser else "email_domains"
        shown = ["tenant", "issuer", "client_id", "new_secret", *(["redirect_address"] if obj else []), domains]
        return [*shown, "role_claim", "role_lines", "makes_members", "trusts_names", "passwords_off", "is_active"]

    def get_readonly_fields(self, request: HttpRequest, obj: IdentityProvider | None = None) -> list[Any]:  # noqa: ARG002
        return ["email_domains", *(["tenant", "redirect_address"] if obj else [])]

    @admin.display(description=gettext_lazy("Redirect address"))
    def redirect_address(self, row: IdentityProvider) -> str:
        """The path that the provider must allow."""
        path = reverse("organisation_callback", args=[row.tenant.slug])
        return _("%s on this server; register it at the provider.") % path

    @admin.display(description=gettext_lazy("E-mail domains"))
    def email_domains(self, row: IdentityProvider) -> str:
        """The domains, for those who may not set them."""
        return ", ".join(row.domains) or _("None. Ask the operator to add yours.")

    def save_model(self, request: HttpRequest, obj: IdentityProvider, form: Any, change: bool) -> None:  # noqa: ARG002, FBT001
        given = form.cleaned_data
        kept = {name: given[name] for name in IdentityProviderForm.Meta.fields if name in given and name != "tenant"}
        domains = given["domain_lines"].splitlines() if signed_in(request).is_superuser else None
        wanted = ProviderSettings(
            **kept, secret=given["new_secret"] or None, domains=domains, roles=given["role_lines"]
        )
        obj.pk = save_provider(obj.tenant, wanted, actor=acting(request)).pk
