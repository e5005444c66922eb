"""Signing in: allauth's flows with this product's accounts, limits, records and second factors.

Nobody signs up: administrators invite (`tenants/invitations.py`). A sign-in, a failed one (both with the address) and a
sign-out are events of the user's own chain. A name that is nobody's is counted and not recorded, because people type
passwords into the wrong field.
"""

from __future__ import annotations

import base64
from datetime import timedelta
from ipaddress import ip_address
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.forms import LoginForm
from allauth.account.internal.stagekit import clear_login
from allauth.account.signals import authentication_step_completed
from allauth.account.utils import perform_login
from allauth.account.views import LoginView, PasswordResetView, password_set
from allauth.core import context
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.core.internal import ratelimit
from allauth.mfa import signals as mfa_signals
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import user_logged_out
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.password_validation import password_validators_help_texts
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import translation
from django.utils.crypto import salted_hmac
from django.utils.decorators import method_decorator
from django.utils.functional import lazy
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop
from django.views.generic import FormView

from memoryhub import limits
from memoryhub.middleware import client_address
from memoryhub.reauthentication import PASSWORD_HOLDS, give_freshness, is_fresh
from tenants import invitations, services
from tenants.errors import InvalidValue, InvitationOver
from tenants.middleware import request_id_of
from tenants.models import User
from tenants.oidc.providers import refuses_password
from tenants.principal import SYSTEM, Actor, ActorKind

FAILED = "sign_in_failed"

# Attempts from one address are counted one after the other. Of several at once, those that wait longer than this for
# the database, which counts them, are refused as too many: seconds, in allauth 1.
ratelimit.CACHE_LOCK_WAIT_TIMEOUT = 10

# allauth's German says "Du" in these, and its Spanish miscounts or lacks some; the catalogs of this site come first.
WORDED_HERE = (
    gettext_noop("Passwordless"),
    gettext_noop("Please type your current password."),
    gettext_noop("You are about to deactivate authenticator app based authentication. Are you sure?"),
    gettext_noop("You are about to generate a new set of recovery codes for your account."),
    gettext_noop("You must type the same password each time."),
)


def _themselves(request: HttpRequest, user: User) -> Actor:
    kind = ActorKind.MEMBER if user.memberships.exists() else ActorKind.STAFF
    return Actor(kind, user.id, request_id_of(request))


def _record_failure(request: HttpRequest, user: User | None, step: str) -> None:
    """Count a failed sign-in and, if the name is somebody's, record it."""
    limits.count(FAILED)
    if user is not None and not user.is_erased:
        actor = Actor(ActorKind.SYSTEM, request_id=request_id_of(request))
        after = {"name": user.get_username(), "address": AccountAdapter().get_client_ip(request), "step": step}
        services.record_sign_in_event(user, "user.sign_in_failed", actor=actor, after=after)


class AccountAdapter(DefaultAccountAdapter):
    """How allauth reads and writes accounts."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "username_password_mismatch": _("Incorrect username or password."),
        "too_many_login_attempts": _("Too many failed sign-ins. Try again in a few minutes."),
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:  # noqa: ARG002 - allauth's signature
        """Nobody makes an account for themselves."""
        return False

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Write in the language of the recipient's account, whoever asks for the mail."""
        theirs = getattr(context.get("user"), "language", "") or translation.get_language()
        with translation.override(theirs):
            super().send_mail(template_prefix, email, context)

    def get_client_ip(self, request: HttpRequest) -> str:
        """The client's address; the unspecified one if the server or its proxy names none."""
        try:
            return str(ip_address(client_address(request.META)))
        except ValueError:
            return "::"

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        """The page after sign-in if the request named none: the admin for operators without a membership."""
        user = request.user
        if isinstance(user, User) and user.is_superuser and not user.memberships.exists():
            return reverse("admin:index")
        return str(super().get_login_redirect_url(request))

    def pre_login(self, request: HttpRequest, user: Any, **kwargs: Any) -> HttpResponse | None:
        """Lead whoever must use their organisation's provider there, whatever else they signed in with."""
        by_provider = (kwargs.get("signal_kwargs") or {}).get("by_provider", False)
        if not by_provider and refuses_password(user):
            clear_login(request)
            return redirect("organisation")
        response: HttpResponse | None = super().pre_login(request, user, **kwargs)
        return response

    def login(self, request: HttpRequest, user: Any) -> None:
        """Sign in, and record it."""
        super().login(request, user)
        after = {"name": user.get_username(), "address": self.get_client_ip(request)}
        services.record_sign_in_event(user, "user.signed_in", actor=_themselves(request, user), after=after)

    def post_login(self, request: HttpRequest, user: Any, **kwargs: Any) -> HttpResponse:
        """Go on to the next page; the first page means wherever this user works."""
        response: HttpResponse = super().post_login(request, user, **kwargs)
        if response.headers.get("Location") == "/":
            response.headers["Location"] = self.get_login_redirect_url(request)
        return response

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        """Record a wrong password, or an inactive account."""
        user = User.objects.filter(username=credentials.get("username", "")).first()
        _record_failure(request, user, "password")

    def set_password(self, user: Any, password: str) -> None:
        """Set a password and record it; only its owner comes here, signed in or by a reset link."""
        services.set_password(user, password, actor=_themselves(self.request, user))

    def is_reauthentication_required(self, *, app: str, **kwargs: Any) -> bool:
        """Take a sign-in or a password of the last minutes, as `memoryhub.reauthentication` does.

        Answers whoever has neither password nor second factor with a page: allauth would ask them for nothing.
        """
        if is_fresh(self.request):
            return False
        if not self.get_reauthentication_methods(self.request.user):
            raise ImmediateHttpResponse(_sign_in_again(self.request))
        return bool(super().is_reauthentication_required(app=app, **kwargs))

    def add_message(
        self, request: HttpRequest, level: int, message_template: str | None = None, *args: Any, **kwargs: Any
    ) -> None:
        """Say nothing after signing in and out: the page shows it."""
        if message_template not in {"account/messages/logged_in.txt", "account/messages/logged_out.txt"}:
            super().add_message(request, level, message_template, *args, **kwargs)


def _sign_in_again(request: HttpRequest) -> HttpResponse:
    minutes = PASSWORD_HOLDS // timedelta(minutes=1)
    return render(request, "connect/password_again.html", {"can_answer": False, "minutes": minutes}, status=403)


class SecondFactorAdapter(DefaultMFAAdapter):
    """Keeps the secrets of second factors encrypted with a key made from the secret key."""

    def encrypt(self, text: str) -> str:
        """The stored form of a secret."""
        return _box().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """The secret of a stored form."""
        return _box().decrypt(encrypted_text.encode()).decode()


def _box() -> Fernet:
    key = salted_hmac("memoryhub.second_factor", "", secret=settings.SECRET_KEY, algorithm="sha256").digest()
    return Fernet(base64.urlsafe_b64encode(key))


@receiver(user_logged_out)
def _signed_out(request: HttpRequest, user: User | None, **_kwargs: Any) -> None:
    """Record a sign-out, and a session of staff that ended by itself."""
    if user is not None and not user.is_erased:
        services.record_sign_in_event(user, "user.signed_out", actor=_themselves(request, user))


@receiver(mfa_signals.authentication_failed)
def _second_factor_failed(request: HttpRequest, user: User, **_kwargs: Any) -> None:
    _record_failure(request, user, "second factor")


@receiver([post_save, post_delete], sender=Authenticator)
def _second_factor_changed(instance: Authenticator, created: bool = True, **signal: Any) -> None:  # noqa: FBT001, FBT002
    """Record an added or removed factor, in the transaction that does it; a use is none."""
    user = instance.user
    if not created or user.is_erased:
        return
    actor = _themselves(context.request, user) if context.request else SYSTEM
    verb = "added" if signal["signal"] is post_save else "removed"
    services.record_sign_in_event(user, f"user.second_factor_{verb}", actor=actor, after={"type": instance.type})


@receiver(authentication_step_completed)
def _given_again(request: HttpRequest, **step: Any) -> None:
    """A password or second factor that was given again counts for all pages that ask for one."""
    if step.get("reauthenticated"):
        give_freshness(request)


class SignInForm(LoginForm):
    """A name and a password."""

    def add_prefix(self, field_name: str) -> str:
        """Keep the name of the field that browsers and programs know."""
        return "username" if field_name == "login" else super().add_prefix(field_name)

    def clean(self) -> dict[str, Any] | None:
        """Refuse the password of somebody whose organisation signs in at its provider."""
        cleaned: dict[str, Any] | None = super().clean()
        user = getattr(self, "user", None)
        if isinstance(user, User) and refuses_password(user):
            raise forms.ValidationError(_("Sign in with your organisation: it does not use passwords here."))
        return cleaned


class SignIn(LoginView):
    """The sign-in page."""

    form_class = SignInForm
    template_name = "registration/login.html"


@method_decorator(login_not_required, name="dispatch")
class ForgottenPassword(PasswordResetView):
    """Sends a link to set a new password; without mail the page says who can make one."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Take no address if nothing can be sent."""
        if not settings.EMAIL_HOST:
            return render(request, "account/password_reset_by_hand.html")
        response: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        return response


def set_first_password(request: HttpRequest) -> HttpResponse:
    """Set the password of an account that has none, after a sign-in of the last minutes."""
    if not (is_fresh(request) or (request.user.is_authenticated and request.user.has_usable_password())):
        return _sign_in_again(request)
    response: HttpResponse = password_set(request)
    return response


class NewAccountForm(forms.Form):
    """The account of somebody who was invited."""

    username = forms.CharField(
        label=_("Username"),
        max_length=150,
        validators=[User.username_validator],
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none"}),
    )
    display_name = forms.CharField(
        label=_("Your name"), max_length=100, required=False, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    password = forms.CharField(
        label=_("Password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=lazy(lambda: " ".join(password_validators_help_texts()), str)(),
    )
    again = forms.CharField(
        label=_("Password again"), strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "new-password"})
    )

    def clean(self) -> dict[str, Any] | None:
        """Compare the passwords."""
        if self.cleaned_data.get("password") != self.cleaned_data.pop("again", None):
            self.add_error("again", _("The passwords differ."))
        return self.cleaned_data


@method_decorator(login_not_required, name="dispatch")
class Join(FormView[forms.Form]):
    """The page of an invitation: makes an account, or adds the one that is signed in."""

    template_name = "registration/invitation.html"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer 410 for an invitation that is over."""
        self.token: str = kwargs["token"]
        try:
            self.invitation = invitations.find_invitation(self.token)
            return super().dispatch(request, *args, **kwargs)
        except InvitationOver as over:
            return render(request, "registration/invitation_over.html", {"reason": over}, status=410)

    def get_form_class(self) -> type[forms.Form]:
        """Nothing is asked of somebody who is signed in."""
        return forms.Form if self.request.user.is_authenticated else NewAccountForm

    def get_form(self, form_class: type[forms.Form] | None = None) -> forms.Form:
        """The form; it says what somebody signs in with who chooses a name."""
        form = super().get_form(form_class)
        if (username := form.fields.get("username")) is not None:
            username.help_text = _("If you choose a name, you sign in as name@%s.") % self.invitation.tenant.slug
        return form

    def get_initial(self) -> dict[str, Any]:
        """Propose the e-mail address as the username, and the name that an import gave."""
        member = self.invitation.membership
        return {"username": self.invitation.email, "display_name": member.user.display_name if member else ""}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """The invitation and the address of this page, for signing in first."""
        return super().get_context_data(invitation=self.invitation, here=self.request.path, **kwargs)

    def form_valid(self, form: forms.Form) -> HttpResponse:
        """Accept, sign in and go on to the first page."""
        request, user = self.request, self.request.user
        try:
            if isinstance(user, User):
                membership = invitations.accept_as(
                    self.token, user, session_key=request.session.session_key, request_id=request_id_of(request)
                )
            else:
                account = {name: form.cleaned_data[name] for name in ("username", "display_name", "password")}
                membership = invitations.accept_as_new(self.token, **account, request_id=request_id_of(request))
        except InvalidValue as error:
            form.add_error(error.field if error.field in form.fields else None, error.reason)
            return self.form_invalid(form)
        if isinstance(user, User):
            return redirect(settings.LOGIN_REDIRECT_URL)
        if (name := membership.user.get_username()) != form.cleaned_data["username"]:
            messages.info(request, _("You sign in as %s.") % name)
        response: HttpResponse = perform_login(request, membership.user)
        return response
