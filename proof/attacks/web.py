"""Attacks over HTTP on the API, the members' pages and the admin, with one's own and others' credentials.

For a foreign id the API must answer 404, of a list in the body that it names an unknown one, and pages 404 or 405, with
the same text as for an unknown id. The admin must answer any status but 200.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from uuid import uuid4

from memories.models import Message, ReviewItem
from proof.attack import PROOF, SLUGS, Aim, Attempt, Response, attack
from proof.marks import Exposure
from proof.requests import ProofRequest, Reply, call
from proof.world import EXTERNAL_ID, Persona, Resident
from tenants.models import Membership

API = "/api/v1/"
UNKNOWN = "names an unknown "
_OK, _FOUND, _UNAUTHORIZED, _NOT_FOUND, _NOT_ALLOWED = 200, 302, 401, 404, 405
_SAME_REQUEST = {"X-Request-ID": "isolation-proof"}
# Parts that differ between two responses to the same request.
_CHANGING = re.compile(
    r'name="(?:csrfmiddlewaretoken|next|turn_id)" value="[^"]*"|csrf[^\n]*|Content-Length: \d+|Set-Cookie[^\n]*'
)
_MINE = {"text": "Mine"}
_FORM = _MINE | {
    "title": "Mine",
    "message": "Mine",
    "pinned": "1",
    "more": "1",
    "cascade": "1",
    "decision": "keep_both",
    "verdict": "up",
}


def _api(method: str, path: str, body: object = None) -> ProofRequest:
    return ProofRequest(method, API + path, body)


API_MEMORIES_AND_SESSIONS = (
    _api("GET", "memories/{memory}/"),
    _api("GET", "memories/{memory}/chain/"),
    _api("DELETE", "memories/{memory}/?cascade=true&sources=true"),
    _api("POST", "memories/{memory}/correct/", _MINE),
    _api("POST", "memories/{memory}/supersede/", _MINE),
    _api("POST", "memories/{memory}/retire/", {}),
    _api("POST", "memories/{memory}/undo/", {}),
    _api("POST", "memories/{memory}/outcome/", {"success": False, "refined_steps": ["Mine"]}),
    _api("POST", "memories/{memory}/promote/", {"to": "user"}),
    _api("POST", "memories/{memory}/pin/", {"pinned": True}),
    _api("POST", "memories/{memory}/confirm/", {}),
    _api("POST", "memories/{memory}/restore/", {}),
    _api("GET", "sessions/{session}/"),
    _api("GET", "sessions/{session}/?last=50"),
    _api("PATCH", "sessions/{session}/", {"title": "Mine"}),
    _api("DELETE", "sessions/{session}/?cascade=true"),
    _api("POST", "sessions/{session}/turns/", {"message": "What was said here?"}),
    _api("GET", "sessions/{session}/working-memory/"),
    _api("PATCH", "sessions/{session}/working-memory/", {"goal": "Mine"}),
    _api("GET", "sessions/{session}/entries/?q=look"),
    _api("POST", "sessions/{session}/end/", {"learned": ["Mine"]}),
)
API_AUDIT = (_api("GET", "audit/{event}/"),)
_API_TENANT = (
    _api("GET", "tenant/audit/{event}/"),
    _api("GET", "tenant/audit/?user_id={user}"),
    _api("POST", "tenant/audit/verify/", {"user_id": "{membership}"}),
    _api("POST", "tenant/erasures/", {"user_id": "{user}", "reason": "Mine"}),
    _api("POST", "tenant/holds/", {"user_id": "{membership}", "reason": "Mine"}),
)
API_REVIEWS = (
    _api("GET", "reviews/{review}/"),
    _api("POST", "reviews/{review}/decide/", {"decision": "keep_both"}),
    _api("POST", "reviews/{review}/decide/", {"decision": "evict"}),
    _api("POST", "reviews/{review}/undo/", {}),
)
API_PROPOSALS = (
    _api("GET", "forget-proposals/{proposal}/"),
    *(_api("POST", f"forget-proposals/{{proposal}}/{decision}/") for decision in ("confirm", "keep", "undo")),
    _api("POST", "forget-proposals/", {"memory_ids": ["{memory}"]}),
)
API_OPERATIONS = (
    _api("GET", "operations/{operation}/"),
    _api("POST", "operations/{operation}/cancel/", {}),
    _api("POST", "operations/{operation}/retry/", {}),
    _api("POST", "context/", {"query": "Mine", "session_id": "{session}"}),
)
API_BODIES = (
    _api("POST", "memories/", _MINE | {"supporting_episode_ids": ["{memory}"]}),
    _api("POST", "memories/", _MINE | {"supersedes_ids": ["{memory}"]}),
    _api("POST", "memories/", _MINE | {"kind": "procedural", "title": "Mine", "supersedes_ids": ["{memory}"]}),
    _api("POST", "memories/", _MINE | {"kind": "episodic", "session_id": "{session}"}),
)
API_ITEMS = (
    _api("GET", "items/{item}/"),
    _api("DELETE", "items/{item}/?reason=Mine"),
)
_AT = "?namespace=desk/notes&key=number"
# A path that ends in `cursor=` gets a cursor of the victim's own list, as an attacker could find one in a log.
API_LISTS = (
    _api("GET", "memories/?kind={any_kind}&shared=true&limit=100"),
    _api("GET", "memories/?kind={kind}&status=active,superseded&q={rare}"),
    _api("GET", "memories/?kind=episodic&session={session}"),
    _api("GET", "memories/?kind={any_kind}&limit=100&cursor="),
    _api("GET", "reviews/?limit=100&decided=true"),
    _api("GET", "reviews/?limit=100&decided=false"),
    _api("GET", "sessions/?limit=1&cursor="),
    _api("GET", "looks/?limit=100"),
    _api("GET", "audit/?limit=100"),
    _api("GET", "memories/?kind={any_kind}&shared=true&as_of=2100-01-01T00:00:00Z"),
    _api("GET", "forget-proposals/"),
    _api("GET", "operations/?limit=100"),
    _api("GET", "operations/?limit=1&cursor="),
    _api("GET", f"items/{_AT}&refresh_ttl=true"),
    _api("GET", f"items/history/{_AT}&limit=100"),
    _api("PUT", "items/", {"namespace": ["desk", "notes"], "key": "number", "value": "Mine"}),
    _api("POST", "items/search/", {"limit": 100}),
    _api("POST", "items/search/", {"namespace_prefix": ["desk"], "query": "the number of the desk, {words}"}),
    _api("POST", "items/search/", {"filters": {"not": {"field": "value.note", "op": "eq", "value": "Mine"}}}),
    _api("POST", "items/namespaces/", {"prefix": ["*"], "limit": 100}),
    _api("POST", "context/", {"query": "{words}", "limit": 100, "token_budget": 32000, "explain": True}),
    _api("POST", "recall/", {"query": "{words}", "limit": 100, "include_superseded": True, "task": "{task}"}),
)
PAGES = tuple(
    request
    for path, reads, changes in (
        *((f"/remember/{slug}/{{memory}}/", ("",), ("correct/", "retire/", "pin/", "forget/"))
          for slug in ("{slug}", *SLUGS.values())),
        ("/remember/settle/{review}/", ("",), ("decide/", "undo/")),
        ("/chat/forgetting/{proposal}/", ("",), ("confirm/", "keep/", "undo/")),
        ("/chat/{session}/", ("", "turns/1/"), ("send/", "rename/", "forget/", "turns/1/retry/", "turns/1/feedback/")),
    )
    for request in (
        *(ProofRequest("GET", path + tail) for tail in (*reads, *changes)),
        *(ProofRequest("POST", path + tail, form=_FORM) for tail in changes),
    )
) + tuple(
    ProofRequest("POST", "/remember/{slug}/change/", form={"action": action, "ids": "{memory}"})
    for action in ("delete", "retire", "pin", "undo")
)  # fmt: skip
_OWN_PAGES = tuple(
    f"/{path}"
    for path in ("", "chat/all/", "remember/", *(f"remember/{tab}/" for tab in (*SLUGS.values(), "settle", "looks")))
)
PAGE_LISTS = tuple(
    ProofRequest("GET", path + query)
    for path, query in product(
        _OWN_PAGES, ("", "?q={rare}", "?show=replaced", "?q={rare}&show=replaced", "?page=2", "?sort=oldest")
    )
)  # fmt: skip
_ADMIN_LISTS = tuple(f"/admin/tenants/{name}/" for name in ("tenant", "membership", "user", "apitoken", "auditevent"))
_REVIEWS = "/admin/memories/reviewitem/"
ADMIN_LISTS = tuple(
    ProofRequest("GET", path + query)
    for path, query in product(_ADMIN_LISTS, ("", "?q={username}", "?all=", "?q={tenant}"))
)
_FORMS = (None, {"role": "admin", "external_id": "mine", "name": "Mine"})
ADMIN_ROWS = tuple(
    ProofRequest("POST" if form else "GET", f"/admin/tenants/{name}/{{{name}}}/{page}/", form=form)
    for name, page, form in product(("tenant", "membership", "user"), ("change", "history", "delete"), _FORMS)
)
ADMIN_REVIEW_LISTS = tuple(
    ProofRequest("GET", _REVIEWS + query) for query in ("", "?state=all", "?q={username}&state=all")
)
ADMIN_REVIEWS = tuple(
    ProofRequest("POST" if form else "GET", f"{_REVIEWS}{{review}}/{page}/", form=form)
    for page, form in product(("change", "history", "undo"), (None, {"decision": "keep_both"}, {"decision": "evict"}))
)


def _token(attacker: Resident, request: ProofRequest) -> Response:
    reply = call(request, token=attacker.token, headers=_SAME_REQUEST)
    return Response(reply.status == _NOT_FOUND, reply.text, f"{reply.status} {reply.text}")


def _body(attacker: Resident, request: ProofRequest) -> Response:
    response = _token(attacker, request)
    return replace(response, refused=response.refused or UNKNOWN in response.text)


def by_page(attacker: Resident, request: ProofRequest) -> Response:
    """What a page of the attacker's browser answers."""
    reply = call(request, cookie=attacker.cookie)
    compared = f"{reply.status} {_CHANGING.sub('', reply.text)}"
    return Response(reply.status in (_NOT_FOUND, _NOT_ALLOWED), reply.text, compared)


def _admin(attacker: Resident, request: ProofRequest) -> Response:
    reply = call(request, cookie=attacker.cookie)
    return Response(reply.status != _OK, reply.text, str(reply.status))


def _named(
    name: str,
    weight: int,
    send: Callable[[Resident, ProofRequest], Response],
    rows: Sequence[ProofRequest],
    *by: Persona,
) -> None:
    """Register an attack with requests that name a victim's id."""

    @attack(name, weight=weight)
    def run(attempt: Attempt) -> None:
        aim = attempt.aim(*by)
        attempt.compare(aim, attempt.chance.choice(rows), lambda row: send(aim.attacker, row))


_named("api: a memory or conversation by its id", 12, _token, API_MEMORIES_AND_SESSIONS)
_named("api: a review by its id", 4, _token, API_REVIEWS)
_named("api: a proposal to forget by its id", 4, _token, API_PROPOSALS)
_named("api: an operation by its id, or a context for another's conversation", 4, _token, API_OPERATIONS)
_named("api: an item by its id", 4, _token, API_ITEMS)
_named("api: another's id in the body", 4, _body, API_BODIES)
_named("api: an event of another's audit log", 3, _token, API_AUDIT)
_named("pages: a memory or conversation by its id", 8, by_page, PAGES, Persona.RESIDENT)


@attack("api: another tenant's members, as an administrator", weight=3)
def other_tenants(attempt: Attempt) -> None:
    """Name members and events of another tenant where an administrator may name those of their own."""
    aim = attempt.aim(Persona.ADMIN)
    # A wanderer is a member of the attacker's tenant, too, by the same id.
    if aim.victim.company is not aim.attacker.company and aim.victim.persona is not Persona.WANDERER:
        attempt.compare(aim, attempt.chance.choice(_API_TENANT), lambda row: _token(aim.attacker, row))


@attack("api: lists, pages and recall", weight=8)
def api_lists(attempt: Attempt) -> None:
    """List and recall with another's cursor, conversation or words."""
    aim = attempt.aim()
    request, _ = aim.fill(attempt.chance.choice(API_LISTS))
    if request.path.endswith("&cursor="):
        request = replace(request, path=request.path + _next_cursor(aim.victim, request.path))
    attempt.scan(aim.attacker, _token(aim.attacker, request).text)


@attack("api: messages into another's conversation", weight=2)
def messages_elsewhere(attempt: Attempt) -> None:
    """Name a conversation as the victim's program does: it must be one's own, with nothing of theirs in it."""
    aim = attempt.aim(Persona.RESIDENT)
    said = [{"role": "user", "content": "{words}"}, {"role": "assistant", "content": "{words}"}]
    session = EXTERNAL_ID.format(attempt.chance.randrange(len(aim.victim.sessions)))
    body = {"session": session, "messages": said, "learn": attempt.chance.choice(("off", "background"))}
    request, _ = aim.fill(_api("POST", "messages/", body | {"return_context": True}))
    stored = call(request, token=aim.attacker.token)
    attempt.scan(aim.attacker, stored.text)
    session_id = json.loads(stored.text[stored.text.index("{") :])["session_id"]
    attempt.scan(aim.attacker, _token(aim.attacker, _api("GET", f"sessions/{session_id}/?last=200")).text)


def _next_cursor(victim: Resident, path: str) -> str:
    first_page = path.removesuffix("&cursor=").replace("limit=100", "limit=1")
    reply = call(ProofRequest("GET", first_page), token=victim.token)
    return str(json.loads(reply.text[reply.text.index("{") :])["next_cursor"] or "") if reply.status == _OK else ""


@attack("api: revoked tokens", weight=3)
def ended_tokens(attempt: Attempt) -> None:
    """Send revoked tokens, a deactivated member's tokens, and invalid ones; all must get 401."""
    attacker, aim, pick = attempt.attacker(), attempt.aim(Persona.GHOST), attempt.chance.choice
    ghost = aim.attacker
    token = pick([attacker.revoked_token, ghost.token, ghost.revoked_token, attacker.token[:-1], f"mh_{uuid4().hex}"])
    path = pick(["memories/?kind=semantic", "sessions/", f"memories/{aim.own().id}/"])
    reply = call(_api("GET", path), token=token)
    attempt.scan(attacker, reply.text, sent=path, allowed=())
    if reply.status != _UNAUTHORIZED:
        attempt.found(attacker, ghost.number, Exposure.DONE)


@attack("api: headers that claim another identity", weight=4)
def headers(attempt: Attempt) -> None:
    """Send one's own token with another's cookie, and another's ids or names in headers that some servers trust."""
    aim, chance = attempt.aim(), attempt.chance
    claims = (
        ("X-Tenant", "{tenant}"),
        ("X-Tenant-ID", "{tenant}"),
        ("X-User", "{user}"),
        ("X-User-ID", "{user}"),
        ("X-Forwarded-User", "{username}"),
        ("Remote-User", "{username}"),
        ("X-Remote-User", "{username}"),
        ("X-HTTP-Method-Override", "GET"),
        ("X-Original-URL", API + "memories/{memory}/"),
        ("X-Rewrite-URL", API + "memories/{memory}/"),
        ("X-API-Key", aim.victim.revoked_token),
    )
    path = chance.choice(["memories/?kind=semantic", "memories/?kind=episodic", "sessions/?limit=20"])
    row = _api("GET", path + chance.choice(["", "&tenant={tenant}&user={user}"]))
    (request, chosen), _ = aim.fill((row, dict(chance.sample(claims, 4))))
    # The token alone authorises a request that has one; a cookie is ignored.
    reply = call(request, token=aim.attacker.token, cookie=aim.victim.cookie, headers=chosen)
    attempt.scan(aim.attacker, reply.text, sent=[request, chosen])


@attack("pages: lists and searches", weight=5)
def page_lists(attempt: Attempt) -> None:
    """Open one's own pages, and search them for others' rarest words."""
    aim = attempt.aim(Persona.RESIDENT)
    request, _ = aim.fill(attempt.chance.choice(PAGE_LISTS))
    attempt.scan(aim.attacker, call(request, cookie=aim.attacker.cookie).text)


@attack("pages: one's own conversations and memories", weight=3)
def own_pages(attempt: Attempt) -> None:
    """Open one's own conversations, memories and reviews, with their side panels and sources."""
    aim = attempt.aim(Persona.RESIDENT)
    memory = aim.own()
    path, _ = aim.fill(
        attempt.chance.choice(
            [
                "/chat/{own_session}/",
                "/chat/{own_session}/turns/1/",
                f"/remember/{SLUGS[memory.kind]}/{memory.id}/",
                f"/remember/{SLUGS[memory.kind]}/{memory.id}/forget/",
                "/remember/settle/{own_review}/",
            ]
        )
    )
    attempt.scan(aim.attacker, call(ProofRequest("GET", path), cookie=aim.attacker.cookie).text)


@attack("pages: export", weight=1)
def export(attempt: Attempt) -> None:
    """Download one's own memories."""
    attacker = attempt.attacker(Persona.RESIDENT)
    attempt.scan(attacker, call(ProofRequest("POST", "/remember/export/", form={}), cookie=attacker.cookie).text)


@attack("pages: ended browser sessions", weight=2)
def ended_cookies(attempt: Attempt) -> None:
    """Send the browser session of a deactivated member, an unknown one, and none."""
    ghost, pick = attempt.attacker(Persona.GHOST), attempt.chance.choice
    cookie = pick([ghost.cookie, ghost.cookie[:-1] + "z", ""])
    path = pick([*_OWN_PAGES, f"/chat/{pick(ghost.sessions)}/", "/api/v1/memories/?kind=semantic"])
    reply = call(ProofRequest("GET", path), cookie=cookie)
    attempt.scan(ghost, reply.text, sent=[path, cookie], allowed=())
    if reply.status == _OK:
        attempt.found(ghost, ghost.number, Exposure.DONE)


@attack("pages: switching between one's tenants at once", weight=4)
def switch(attempt: Attempt) -> None:
    """Switch tenants and read, while other attempts switch the same browser session."""
    here, there = _both(attempt)
    for _ in range(2):
        _switch(here, attempt.chance.choice([here, there]))
        lists = ["/", "/chat/all/", "/remember/facts/", "/remember/events/", "/remember/shared/"]
        lists += [API + "memories/?kind=semantic&shared=true&limit=100", API + "sessions/"]
        reply = call(ProofRequest("GET", attempt.chance.choice(lists)), cookie=here.cookie)
        attempt.scan(here, reply.text, allowed=here.allowed | there.allowed)
        # A page that shows memories of both tenants is a finding.
        foreign = attempt.world.marks.foreign(reply.text, ())
        seen = {owner for owner, exposure in foreign if exposure is Exposure.TEXT}
        if seen & here.allowed and seen & there.allowed:
            attempt.found(here, there.number, Exposure.TEXT)


@attack("pages: a message written for the other tenant", weight=1)
def send_elsewhere(attempt: Attempt) -> None:
    """Submit a form of one tenant after switching to another; nothing of it may be stored in the latter."""
    here, there = _both(attempt)
    secret = attempt.world.marks.secret(here.number)
    form = {"message": f"Is {secret} still the word?", "tenant": str(here.principal.tenant_id)}
    _switch(here, there)
    call(ProofRequest("POST", "/chat/send/", form=form), cookie=here.cookie)
    tenants = Message.objects.unscoped(PROOF).filter(text__contains=secret).values_list("tenant_id", flat=True)
    if set(tenants) - {here.principal.tenant_id}:
        attempt.found(there, here.number, Exposure.STATE)


@attack("pages: switching to a tenant of others", weight=3)
def intrude(attempt: Attempt) -> None:
    """Switch to a tenant of others by its id; this needs a membership."""
    attacker = attempt.attacker(Persona.RESIDENT)
    aim = attempt.aim_of(attacker, attempt.chance.choice(elsewhere(attempt, attacker)))
    if _switch(attacker, aim.victim).status == _FOUND:
        attempt.found(attacker, aim.victim.company.number, Exposure.DONE)
    attempt.scan(attacker, call(ProofRequest("GET", "/remember/shared/"), cookie=attacker.cookie).text)


@attack("admin: lists and searches", weight=1)
def admin_lists(attempt: Attempt) -> None:
    """Open lists of the admin as one tenant's administrator."""
    aim, allowed = staff_aim(attempt)
    _admin_list(attempt, aim, ADMIN_LISTS, allowed)


@attack("admin: a row of another tenant by its id", weight=1)
def admin_rows(attempt: Attempt) -> None:
    """Open and change rows of other tenants by id; they must answer as unknown ones."""
    aim, allowed = staff_aim(attempt)
    attempt.compare(aim, attempt.chance.choice(ADMIN_ROWS), lambda row: _admin(aim.attacker, row), allowed)
    if Membership.objects.filter(pk=aim.victim.membership.id, external_id="mine").exists():
        attempt.found(aim.attacker, aim.victim.number, Exposure.STATE)


@attack("admin: reviews of another tenant", weight=1)
def admin_reviews(attempt: Attempt) -> None:
    """Open the queue, and read, decide and undo another tenant's review."""
    aim, allowed = staff_aim(attempt)
    admin, pick = aim.attacker, attempt.chance.choice
    _admin_list(attempt, aim, ADMIN_REVIEW_LISTS, allowed)
    if not aim.victim.reviews:
        return
    attempt.compare(aim, pick(ADMIN_REVIEWS), lambda row: _admin(admin, row), allowed)
    form = {"action": pick(["evict_chosen", "undo_chosen"]), "_selected_action": str(pick(aim.victim.reviews))}
    call(ProofRequest("POST", f"{_REVIEWS}?state=all", form=form), cookie=admin.cookie)
    reviews = ReviewItem.objects.unscoped(PROOF).filter(pk__in=aim.victim.reviews)
    if reviews.filter(decided_by=admin.membership.user).exists():
        attempt.found(admin, aim.victim.number, Exposure.STATE)


@attack("admin: as a plain member", weight=1)
def admin_as_member(attempt: Attempt) -> None:
    """Open the admin as a member without a role; it must redirect to the sign-in page."""
    member = attempt.attacker(Persona.RESIDENT)
    reply = call(ProofRequest("GET", attempt.chance.choice([*_ADMIN_LISTS, _REVIEWS])), cookie=member.cookie)
    attempt.scan(member, reply.text)
    if reply.status != _FOUND:
        attempt.found(member, member.company.number, Exposure.DONE)


def _both(attempt: Attempt) -> tuple[Resident, Resident]:
    first, second = attempt.world.of(Persona.WANDERER)
    return (first, second) if attempt.maybe(0.5) else (second, first)


def _switch(who: Resident, to: Resident) -> Reply:
    form = {"tenant": str(to.principal.tenant_id)}
    return call(ProofRequest("POST", "/tenant/switch/", form=form), cookie=who.cookie)


def elsewhere(attempt: Attempt, attacker: Resident) -> list[Resident]:
    """Members of other tenants, except the user with two memberships."""
    others = [each for each in attempt.world.residents if each.company is not attacker.company]
    return [each for each in others if each.persona is not Persona.WANDERER]


def staff_aim(attempt: Attempt) -> tuple[Aim, frozenset[int]]:
    """An administrator, a victim in another tenant, and the owners whose data the administrator may see."""
    admin = attempt.attacker(Persona.ADMIN)
    members = (each.number for each in attempt.world.residents if each.company is admin.company)
    aim = attempt.aim_of(admin, attempt.chance.choice(elsewhere(attempt, admin)))
    return aim, frozenset((admin.company.number, *members))


def _admin_list(attempt: Attempt, aim: Aim, rows: Sequence[ProofRequest], allowed: frozenset[int]) -> None:
    request, _ = aim.fill(attempt.chance.choice(rows))
    reply = call(request, cookie=aim.attacker.cookie)
    attempt.scan(aim.attacker, reply.text, sent=request, allowed=allowed)
