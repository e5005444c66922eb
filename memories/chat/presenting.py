"""Shared parts of the member's pages: tabs, memory cards, error responses, time zone, working memory."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, cast
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from memories.errors import Blocked, Conflict, InvalidInput, LimitExceeded, NotFound
from memories.hygiene.sensitivity import findings
from memories.presenting.lines import SECTIONS
from memories.presenting.memory import MemoryView, memory_views
from memories.selectors.member_lists import counts_of
from memories.selectors.memories import Memory
from memories.selectors.reviews import open_reviews
from memories.selectors.sessions import search_sessions
from memories.services.admission import Admission, admit_request
from memories.services.erasure.proposals import open_proposals
from memories.slots import Slots, foremost
from memories.types import Kind
from memoryhub.env.limits import Bucket
from memoryhub.languages import speak
from memoryhub.middleware import AdmittedRequest
from tenants.errors import Forbidden, NoMembership
from tenants.models import User
from tenants.principal import Principal


def tabs_of(principal: Principal, query: str = "") -> dict[str, Any]:
    """The sections of a member with the number of memories in each, and how many reviews and proposals are open.

    With a `query`, the numbers of what matches, conversations and all together included.
    """
    counts = counts_of(principal, query)
    tabs: dict[str, Any] = {"kinds": [(section, counts[section.kind]) for section in SECTIONS.values()]}
    if query:
        tabs["conversations"] = search_sessions(principal, query).count()
        tabs["found"] = tabs["conversations"] + sum(counts.values())
    else:
        tabs["to_settle"] = open_reviews(principal).count() + len(open_proposals(principal))
    return tabs


TIME_ZONE_COOKIE = "tz"
_ZONE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+\-]{0,31}(/[A-Za-z0-9_+\-]{1,31}){0,2}", re.ASCII)


class TimeZoneMiddleware:
    """Activates the time zone and the language that the reader chose, or else the zone in the browser's cookie.

    An unknown name is ignored.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Handle the request in the reader's zone."""
        with timezone.override(zone_named(request.COOKIES.get(TIME_ZONE_COOKIE, ""))):
            return self.get_response(request)

    def process_view(self, request: HttpRequest, *_view: object) -> None:
        """Once the view is known, which TenantMiddleware has looked up the user for."""
        if settings.SESSION_COOKIE_NAME not in request.COOKIES or not isinstance(request.user, User):
            return
        if zone := zone_named(request.user.time_zone):
            timezone.activate(zone)
        speak(request.user.language, request)


def zone_named(name: str) -> zoneinfo.ZoneInfo | None:
    """The time zone with this name; None, which means the site's own, if it is unknown."""
    if not _ZONE_NAME.fullmatch(name):
        return None
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, OSError, ValueError):
        return None


def refusal(error: InvalidInput | Conflict | LimitExceeded, subject: str) -> str:
    """The error as a sentence about `subject`; a reason that is already a sentence is kept."""
    if not isinstance(error, InvalidInput):
        return str(error)
    is_predicate = error.reason.partition(" ")[0] in _VERBS
    return f"{subject} {error.reason}" if is_predicate else capfirst(error.reason)


# The first word of InvalidInput reasons that continue the name of the field, in each language.
_VERBS = frozenset(
    """has holds is lies must needs says hat enthält ist liegt muss darf braucht sagt nennt tiene contiene es está debe
    no necesita dice""".split()
)


P = ParamSpec("P")
_READING = frozenset({"GET", "HEAD"})
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]
MemberView = Callable[Concatenate[HttpRequest, Principal, P], HttpResponseBase]


def admitted(request: HttpRequest, principal: Principal, *buckets: Bucket) -> Admission:
    """Admit the request. Raises LimitExceeded."""
    return admit_request(principal, buckets, cast("AdmittedRequest", request))


def member_page(*methods: str, takes_turn: bool = False) -> Callable[[MemberView[P]], View[P]]:
    """Admit the request, and pass its principal to the view.

    Turns NotFound into 404, Forbidden or NoMembership into 403, LimitExceeded into 429. Without `methods` the view
    accepts GET and HEAD. A view that `takes_turn` admits its request itself, because a refusal gives the message back.
    """

    def decorate(view: MemberView[P]) -> View[P]:
        @require_http_methods([*(methods or ("GET", "HEAD"))])
        @wraps(view)
        def answer(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            principal: Principal | None = getattr(request, "principal", None)
            if principal is None:
                if getattr(request.user, "is_superuser", False) and request.method in _READING:
                    return redirect("admin:index")  # operators work there
                raise PermissionDenied(
                    _("You are signed in, but belong to no organisation yet. Ask an administrator to add you.")
                )
            try:
                if not takes_turn:
                    admitted(request, principal, Bucket.READS if request.method in _READING else Bucket.WRITES)
                return view(request, principal, *args, **kwargs)
            except NotFound as error:
                raise Http404(str(error)) from error
            except (Forbidden, NoMembership) as error:
                raise PermissionDenied(str(error)) from error
            except LimitExceeded as error:
                cast("AdmittedRequest", request).limit_headers |= error.headers
                return render(request, "429.html", {"exception": error}, status=429)

        return answer

    return decorate


@contextmanager
def refusals_shown(request: HttpRequest, subject: str = "") -> Iterator[None]:
    """Show a service's refusal as a message on the next page; `subject` names the refused input."""
    try:
        yield
    except (InvalidInput, Conflict) as error:
        messages.error(request, refusal(error, subject))
    except Blocked as error:
        messages.error(request, findings.refusal(error, to_people=True))


QUERY_CHARACTERS = 200


def searched_words(request: HttpRequest) -> str:
    """The words of `?q=`, cut to QUERY_CHARACTERS."""
    return request.GET.get("q", "").replace("\x00", "").strip()[:QUERY_CHARACTERS]


def shown_task(session_id: UUID, slots: Slots) -> dict[str, Any] | None:
    """The working memory of a session for the template; None if it is empty.

    The state of a step is done, now or later. `progress` is a phrase, empty without a plan.
    """
    if slots.empty:
        return None
    steps, done = slots.plan.steps, slots.plan.done
    if done < len(steps):
        progress = _("Step %(step)d of %(steps)d") % {"step": done + 1, "steps": len(steps)}
    else:
        progress = ngettext("The only step is done", "All %(steps)d steps done", len(steps)) % {"steps": len(steps)}
    states = ["done"] * done + ["now"] + ["later"] * len(steps)
    return {
        "session_id": session_id,
        "slots": slots,
        "progress": progress if steps else "",
        "steps": list(zip(steps, states, strict=False)),
        "constraints": foremost(slots.constraints),
        "observations": foremost(slots.observations),
    }


def cards_of(
    principal: Principal,
    rows: Sequence[Memory],
    *,
    quotes: bool = False,
) -> tuple[MemoryView, ...]:
    """The views of these rows, with links to the member's own pages."""
    return memory_views(principal, rows, address=address, quotes=quotes)


def address(kind: Kind, memory_id: UUID) -> str:
    """The URL of one memory."""
    return reverse("remember:memory", kwargs={"kind": kind, "memory_id": memory_id})


def undo_address(kind: Kind, memory_id: UUID) -> str:
    """The URL that takes the POST to undo the end of a memory."""
    return reverse("remember:undo", kwargs={"kind": kind, "memory_id": memory_id})
