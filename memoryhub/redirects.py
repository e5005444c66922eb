"""Where a form leads to when it is done."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme


def next_address(request: HttpRequest, default: str, *, name: str = "next") -> str:
    """The URL that the parameter `name` of the form or the address gives if it is on this site, else `default`."""
    wanted = request.POST.get(name) or request.GET.get(name) or ""
    ours = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if ours else default
