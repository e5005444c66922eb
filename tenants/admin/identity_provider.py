"""Identity providers in the admin: each tenant's administrators set where their people sign in."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from cryptography import x509
from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tenants.admin.scoping import TenantScopedAdmin, acting, signed_in, tenants_within, written
from tenants.oidc.faults import provider_fault_words
from tenants.oidc.pages import thread_of
from tenants.oidc.protocol import ProviderError, check_issuer
from tenants.oidc.providers import ProviderSettings, save_provider
from tenants.provider_models import IdentityProvider, ProviderKind
from tenants.saml.pages import service_of
from tenants.saml.protocol import read_metadata


class IdentityProviderForm(forms.ModelForm[IdentityProvider]):
    """The settings of a provider; the secret is written and never shown."""

    new_secret = forms.CharField(
        label=gettext_lazy("Client secret"),
        required=False,
        strip=True,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("Stored encrypted and never shown. Empty: keeps the one stored for this issuer."),
    )
    domain_lines = forms.CharField(
        label=gettext_lazy("E-mail domains"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("One a line. Addresses of these domains lead here; only operators set them."),
    )
    metadata = forms.CharField(
        label=gettext_lazy("Metadata of the provider"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=gettext_lazy("XML. It fills in the entity ID, the sign-in page and the certificates."),
    )
    role_lines = forms.CharField(
        label=gettext_lazy("Roles"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("One a line, such as it-admins = admin. Everybody else becomes a member."),
    )

    class Meta:
        model = IdentityProvider
        fields = [
            "tenant",
            "kind",
            "issuer",
            "client_id",
            "sign_in_url",
            "certificates",
            "role_claim",
            "makes_members",
            "trusts_names",
            "passwords_off",
            "is_active",
        ]
        labels = {
            "kind": gettext_lazy("Protocol"),
            "issuer": gettext_lazy("Issuer or entity ID"),
            "client_id": gettext_lazy("Client ID"),
            "sign_in_url": gettext_lazy("Sign-in page"),
            "certificates": gettext_lazy("Certificates"),
            "role_claim": gettext_lazy("Claim or attribute for the role"),
            "makes_members": gettext_lazy("Add people at their first sign-in"),
            "trusts_names": gettext_lazy("Believe names that are not verified"),
            "passwords_off": gettext_lazy("No sign-in with a password"),
            "is_active": gettext_lazy("In use"),
        }
        help_texts = {
            "issuer": gettext_lazy(
                "OpenID Connect: the address before /.well-known/openid-configuration. SAML: the provider's entity ID."
            ),
            "sign_in_url": gettext_lazy("The address for the HTTP-Redirect binding."),
            "certificates": gettext_lazy("In PEM; several while the provider changes its key."),
            "role_claim": gettext_lazy("Such as groups. Its values set the role at each sign-in. Empty: roles stay."),
            "makes_members": gettext_lazy(
                "People with an address of these domains. Off: only people whom you or your directory added come in."
            ),
            "trusts_names": gettext_lazy(
                "For SAML, and providers without email_verified, such as Microsoft Entra. It leads to ordinary members "
                "alone."
            ),
            "passwords_off": gettext_lazy("For accounts that belong to this organisation alone."),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance._state.adding:
            self.fields["domain_lines"].initial = "\n".join(self.instance.domains)
            lines = (f"{value} = {role}" for value, role in self.instance.roles.items())
            self.fields["role_lines"].initial = "\n".join(lines)
        self.fields["issuer"].required = False  # the metadata says it

    def clean_role_lines(self) -> dict[str, str]:
        """The roles by the values of the claim."""
        found = {}
        for line in filter(str.strip, self.cleaned_data["role_lines"].splitlines()):
            value, sign, role = (part.strip() for part in line.rpartition("="))
            if not (value and sign and role):
                raise ValidationError(_("Write each line as value = role."))
            found[value] = role
        return found

    def clean(self) -> dict[str, Any]:
        """Take over what the metadata says."""
        cleaned: dict[str, Any] = super().clean() or {}
        if cleaned.get("kind") == ProviderKind.SAML and (text := cleaned.get("metadata", "").strip()):
            try:
                cleaned |= asdict(read_metadata(text))
            except ProviderError as error:
                self.add_error("metadata", _("This cannot be used: %s.") % provider_fault_words(str(error)))
        if not cleaned.get("issuer") and not self.errors:
            self.add_error("issuer", _("This field is required."))
        return cleaned


@admin.register(IdentityProvider)
class IdentityProviderAdmin(TenantScopedAdmin[IdentityProvider]):
    """The providers of the tenants that the reader administers."""

    empty_words = gettext_lazy("Let people sign in at your organisation's own provider, by OpenID Connect or SAML.")
    confirmed = True
    form = IdentityProviderForm
    form_names = {"domains": "domain_lines", "roles": "role_lines", "secret": "new_secret"}
    list_display = ["tenant", "kind", "issuer", "makes_members", "passwords_off", "is_active"]
    list_select_related = ["tenant"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[IdentityProvider]:
        return super().get_queryset(request).defer("secret")

    def get_fieldsets(self, request: HttpRequest, obj: IdentityProvider | None = None) -> Any:
        domains = "domain_lines" if signed_in(request).is_superuser else "email_domains"
        people = ["role_claim", "role_lines", "makes_members", "trusts_names", "passwords_off", "is_active"]
        saml = ["metadata", "sign_in_url", "certificates"]
        return [
            (None, {"fields": ["tenant", "kind", "issuer"]}),
            (_("OpenID Connect"), {"fields": ["client_id", "new_secret"]}),
            (_("SAML 2.0"), {"fields": [*saml, *(["certificates_end"] if obj and obj.certificates else [])]}),
            (_("People"), {"fields": [domains, *people]}),
        ]

    def get_readonly_fields(self, request: HttpRequest, obj: IdentityProvider | None = None) -> list[Any]:  # noqa: ARG002
        return ["email_domains", *(["tenant", "certificates_end"] if obj else [])]

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """The form beside the addresses here; once saved, say whether the provider answers, after the transaction."""
        response = super().changeform_view(request, *args, **kwargs)
        if (saved := getattr(request, "saved_provider", None)) is not None:
            self._check(request, saved)
        return response

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        """Add the addresses that the provider must know, absolute."""
        obj: IdentityProvider | None = context.get("original")
        tenants = tenants_within(signed_in(request), self.roles).filter(is_active=True)[:2]
        known = obj.tenant if obj else tenants[0] if len(tenants) == 1 else None
        slug = known.slug if known else "short-name"
        context["callback"] = request.build_absolute_uri(reverse("organisation_callback", args=[slug]))
        context |= {"service": service_of(request, slug), "any_organisation": known is None}
        return super().render_change_form(request, context, *args, **kwargs)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The page of a provider; a button asks whether it answers."""
        row = self.get_object(request, unquote(object_id)) if "_check" in request.POST else None
        if row is None:
            return super().change_view(request, object_id, form_url, extra_context)
        if not self.has_change_permission(request, row):
            raise PermissionDenied
        self._check(request, row)
        return HttpResponseRedirect(request.get_full_path())

    def _check(self, request: HttpRequest, row: IdentityProvider) -> None:
        if row.kind == ProviderKind.SAML:
            said = _(
                "It was not checked: a SAML provider answers only when somebody signs in. Sign in once to check it."
            )
            self.message_user(request, said)
            return
        try:
            with thread_of(row):
                check_issuer(row.issuer)
        except ProviderError as error:
            said = _("Nobody can sign in at this provider yet: %s. Check the issuer.")
            self.message_user(request, said % provider_fault_words(str(error)), messages.WARNING)
        else:
            self.message_user(request, _("The provider answers. Sign in once to check the client ID and secret."))

    @admin.display(description=gettext_lazy("Valid until"))
    def certificates_end(self, row: IdentityProvider) -> str:
        """When each certificate ends; then its signatures are refused."""
        found = x509.load_pem_x509_certificates(row.certificates.encode())
        return ", ".join(written(each.not_valid_after_utc) for each in found)

    @admin.display(description=gettext_lazy("E-mail domains"))
    def email_domains(self, row: IdentityProvider) -> str:
        """The domains, for those who may not set them."""
        return ", ".join(row.domains) or _(
            "None. Until platform staff add yours, people reach this provider by the organisation's short name instead "
            "of their address, and only those who are members already come in."
        )

    def save_model(self, request: HttpRequest, obj: IdentityProvider, form: Any, change: bool) -> None:  # noqa: ARG002, FBT001
        given = form.cleaned_data  # `issuer` and others may be from the metadata
        kept = {name: given[name] for name in IdentityProviderForm.Meta.fields if name in given and name != "tenant"}
        domains = given["domain_lines"].splitlines() if signed_in(request).is_superuser else None
        wanted = ProviderSettings(
            **kept, secret=given["new_secret"] or None, domains=domains, roles=given["role_lines"]
        )
        saved = save_provider(obj.tenant, wanted, actor=acting(request))
        obj.pk = saved.pk
        request.saved_provider = saved  # type: ignore[attr-defined]  # for `changeform_view`
