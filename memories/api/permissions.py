"""What a caller may do: the rights of the principal, by method of the view."""

from __future__ import annotations

from collections.abc import Mapping

from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from tenants.principal import Principal, Right

READ = (Right.READ,)
WRITE = (Right.WRITE,)
READ_WRITE = (Right.READ, Right.WRITE)
CONVERSE = (Right.CHAT, Right.READ, Right.WRITE)


class HasRights(BasePermission):
    """A view names in `rights` what each of its methods needs; a method that it does not name there is closed."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Whether the principal has them all. Raises Forbidden naming the first that it lacks."""
        principal = request.auth
        if not isinstance(principal, Principal):
            return False
        method = "GET" if request.method == "HEAD" else str(request.method)
        if method.lower() not in view.http_method_names or not hasattr(view, method.lower()):
            return True  # there is nothing to protect: the answer is 405
        needed: Mapping[str, tuple[Right, ...]] = getattr(view, "rights", {})
        for right in needed.get(method, ()):
            principal.require(right)
        return method in needed
