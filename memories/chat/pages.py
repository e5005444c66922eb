"""What every member's page has in common: a principal, and errors as answers.

Invariant: an unknown id, another owner's id and another tenant's id get the very same 404.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.utils.http import url_has_allowed_host_and_scheme

from memories.errors import NotFound
from tenants.errors import Forbidden, NoMembership
from tenants.principal import Principal

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]
MemberView = Callable[Concatenate[HttpRequest, Principal, P], HttpResponseBase]


def member_page(view: MemberView[P]) -> View[P]:
    """Give the view the principal of the request, and turn what was not found or not allowed into 404 and 403."""

    @wraps(view)
    def answer(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        principal: Principal | None = getattr(request, "principal", None)
        if principal is None:
            raise PermissionDenied(
                "You are signed in, but belong to no organisation yet. Ask an administrator to add you."
            )
        try:
            return view(request, principal, *args, **kwargs)
        except NotFound as error:
            raise Http404(str(error)) from error
        except (Forbidden, NoMembership) as error:
            raise PermissionDenied(str(error)) from error

    return answer


def next_address(request: HttpRequest, default: str) -> str:
    """Where to go after a form: its `next` if that is an address of this site, else `default`."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    if url_has_allowed_host_and_scheme(wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()):
        return wanted
    return default
