"""The one page to sign in at, and where one goes from there.

Invariant: an address that was asked for before signing in comes first; it is one of this site.
"""

from __future__ import annotations

from django.contrib.auth.views import LoginView
from django.urls import reverse


class SignIn(LoginView):
    """Members go on to their chat; who runs the platform, and has no memory here, to the admin."""

    redirect_authenticated_user = True

    def get_default_redirect_url(self) -> str:
        """Where to go if nothing was asked for."""
        user = self.request.user
        if user.is_authenticated and user.is_superuser and not user.memberships.exists():
            return reverse("admin:index")
        return super().get_default_redirect_url()
