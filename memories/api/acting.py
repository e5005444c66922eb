"""The member that a request acts for: the one place that reads `user_id`, and takes it from the query and the body.

A backend key says for which member it acts, by the tenant's own id of the user: in the header X-Memoryhub-User, in the
query or in the JSON body. Whoever else names one must name themselves (docs/adr/0026).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import Enum, auto
from typing import Any, Final, cast

from django.http import HttpRequest
from rest_framework.request import Request

from memories.errors import InvalidInput, NotFound
from memories.selectors.policies import policy_of
from memories.services.admission import admit
from memoryhub import observability as log_context
from memoryhub.db.scope import OwnerScope, WideRole, acting_as, enter
from memoryhub.env.limits import Bucket
from memoryhub.reauthentication import is_fresh
from tenants.end_users import checked_id, find_end_user, provision_end_user
from tenants.errors import Forbidden, InvalidValue, NoMembership
from tenants.models import Membership
from tenants.principal import AUDITS, ActorKind, KeyHolder, Principal
from tenants.principals import principal_of_key

USER_HEADER: Final = "X-Memoryhub-User"
APP_HEADER: Final = "X-Memoryhub-App"
USER_FIELD: Final = "user_id"
_READ_ONLY = frozenset({"GET", "HEAD", "OPTIONS"})
USER_PLACES: Final = f"{USER_FIELD} or the header {USER_HEADER}"
_WHOSE = "is missing: say whose memory, in {places}."


class Acts(Enum):
    """Whose a view's objects are: a member's, a backend key's, or a member's unless a key names nobody.

    FOR_TENANT: the tenant's, for a backend key and for its auditors and administrators.
    """

    FOR_MEMBER = auto()
    FOR_KEY = auto()
    FOR_EITHER = auto()
    FOR_TENANT = auto()


def named_user(request: Request, *named: object, take: bool = True) -> str | None:
    """The user that a request names, once or several times alike; None if it names nobody.

    `named` is what its path and fields of its own name, None for nobody. With `take`, the name leaves the query and the
    body. Raises InvalidInput for a malformed id, or two that differ.
    """
    given = [each for each in named if each is not None]
    header = request.headers.get(USER_HEADER)
    if header is not None:
        if not header.isascii() or "," in header:
            raise InvalidInput(USER_FIELD, f"with a comma or other letters than ASCII does not fit {USER_HEADER}.")
        given.append(header)
    query = request._request.GET
    if USER_FIELD in query:
        given += query.getlist(USER_FIELD)
        if take:
            rest = query.copy()
            del rest[USER_FIELD]
            request._request.GET = rest  # type: ignore[assignment]  # a copy may change, and nothing changes this one
    body = _body(request)
    if USER_FIELD in body:
        given.append(body.pop(USER_FIELD) if take else body[USER_FIELD])
    try:
        ids = {checked_id(each) for each in given}
    except InvalidValue as error:
        raise InvalidInput(error.field, error.reason) from None
    if len(ids) > 1:
        raise InvalidInput(USER_FIELD, "is named more than once, and not alike.")
    return ids.pop() if ids else None


def _body(request: Request) -> dict[str, Any]:
    """The members of a JSON body. That of a request that only reads has no meaning."""
    kind = request.content_type.partition(";")[0].strip().lower()
    if request.method in _READ_ONLY or kind != "application/json":
        return {}
    data: object = request.data
    return data if isinstance(data, dict) else {}


def caller_for(
    request: Request, acts: Acts, user_id: str | None, *, places: str = USER_PLACES
) -> Principal | KeyHolder:
    """The authenticated caller acting for the user that the request names; `places` says where it could.

    Raises NotFound alike for unknown, deactivated and other members; InvalidInput if a key must name somebody.
    """
    caller = cast("Principal | KeyHolder", request.auth)
    if acts is Acts.FOR_TENANT:
        if isinstance(caller, Principal) and caller.role not in AUDITS:
            raise Forbidden("Only an auditor or an administrator of the tenant does this, or a backend key.")
        enter(WideRole.STAFF)  # the views filter by the caller's tenant
        return caller
    if isinstance(caller, Principal):
        if acts is Acts.FOR_KEY:
            raise Forbidden("Only a backend key does this.")
        if user_id is not None and not _is_own(caller, user_id):
            raise NotFound("member")
        return caller
    if acts is Acts.FOR_KEY or (acts is Acts.FOR_EITHER and user_id is None):
        enter(WideRole.STAFF)  # the views filter by the key's tenant
        return caller
    if user_id is None:
        raise InvalidInput(USER_FIELD, _WHOSE.format(places=places))
    principal = _principal(caller, user_id)
    log_context.bind(membership_id=principal.membership_id)
    enter(OwnerScope(principal.tenant_id, principal.user_id))
    return principal


@contextmanager
def acting_for(key: KeyHolder, user_id: str) -> Iterator[Principal]:
    """The key as it acts for one user of a call that names several, in that user's database scope. Raises NotFound."""
    principal = _principal(key, user_id)
    with acting_as(OwnerScope(principal.tenant_id, principal.user_id)):
        yield principal


def user_of_entry(entry: object) -> tuple[str, dict[str, Any]]:
    """The user that an entry of a batch names, and the rest of the entry. Raises InvalidInput."""
    if not isinstance(entry, dict) or USER_FIELD not in entry:
        raise InvalidInput(USER_FIELD, _WHOSE.format(places=USER_FIELD))
    try:
        user_id = checked_id(entry[USER_FIELD])
    except InvalidValue as error:
        raise InvalidInput(error.field, error.reason) from None
    return user_id, {name: value for name, value in entry.items() if name != USER_FIELD}


def require_password(request: HttpRequest, caller: Principal | KeyHolder) -> None:
    """Raise Forbidden for a session whose password was given long ago, before what outlives a stolen session."""
    if caller.actor.kind is ActorKind.MEMBER and not is_fresh(request):
        raise Forbidden("Sign in again to do this: the sign-in is more than ten minutes old.")


def _principal(key: KeyHolder, user_id: str) -> Principal:
    try:
        return principal_of_key(key, _member(key, user_id))
    except NoMembership:
        raise NotFound("member") from None


def _is_own(principal: Principal, user_id: str) -> bool:
    return Membership.objects.filter(pk=principal.membership_id, external_id=user_id).exists()


def _member(key: KeyHolder, user_id: str) -> Membership:
    """The member with this id, made on first use if the tenant's policy says so. Raises NotFound."""
    with acting_as(WideRole.SIGN_IN):
        found = find_end_user(key.tenant_id, user_id)
    if found is not None:
        return found
    with acting_as(WideRole.STAFF):
        if not policy_of(key.tenant_id).provision_members:
            raise NotFound("member")
        with ExitStack() as held:
            admit(key, (Bucket.WRITES,), held)
        try:
            return provision_end_user(key.tenant_id, user_id, actor=key.actor)[0]
        except Forbidden:
            raise NotFound("member") from None
