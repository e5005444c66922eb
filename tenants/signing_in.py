"""Signing in with allauth."""

from __future__ import annotations

from ipaddress import ip_address

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.forms import LoginForm
from allauth.account.views import LoginView
from allauth.mfa.adapter import DefaultMFAAdapter
from django.http import HttpRequest
from django.urls import reverse

from memoryhub.middleware import client_address
from tenants.models import User


class AccountAdapter(DefaultAccountAdapter):
    """Accounts are made by invitation."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:  # noqa: ARG002 - allauth's signature
        """Nobody makes an account for themselves."""
        return False

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
        return super().get_login_redirect_url(request)


class SecondFactorAdapter(DefaultMFAAdapter):
    """Second factors."""


class SignInForm(LoginForm):
    """A name and a password."""

    def add_prefix(self, field_name: str) -> str:
        """Keep the name of the field that browsers and programs know."""
        return "username" if field_name == "login" else super().add_prefix(field_name)


class SignIn(LoginView):
    """The sign-in page."""

    form_class = SignInForm
    template_name = "registration/login.html"
