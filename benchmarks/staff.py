"""Measures every admin page for a tenant with 1,000 members, one of whom has 100,000 memories.

The list of pages is that of the isolation tests, opened as an administrator. The floor is a page of the theme without
content.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

import django

django.setup()

from django.conf import settings  # noqa: E402 - after the set-up
from django.db import connection, transaction  # noqa: E402
from django.test import Client  # noqa: E402
from django.urls import reverse  # noqa: E402
from django.utils import timezone  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.progress import Progress  # noqa: E402
from rich.table import Table  # noqa: E402

from benchmarks.population import Population  # noqa: E402
from memories.models import ConsolidationRun, Episode, Fact, Message, MessageRole, Playbook, RunState  # noqa: E402
from memories.models.guard import raw_writes  # noqa: E402
from memories.search import search_plane  # noqa: E402
from memories.search.documents import documents, rows_of  # noqa: E402
from memories.types import ALL_KINDS, Owner, Status  # noqa: E402
from tenants.audit.chain import EventDraft, record_events  # noqa: E402
from tenants.locks import lock_owner  # noqa: E402
from tenants.models import AuditEvent, Membership, Tenant, User  # noqa: E402
from tenants.principal import Principal, Role  # noqa: E402
from tenants.principals import system_principal  # noqa: E402
from tests.memories.staff.isolation.cases import MODELS, PAGES  # noqa: E402

MEMBERS, EACH = 1_000, 10
TIMES = 5
EVENTS_AT_ONCE = 1_000
# One fact in REPLACED was superseded by the next.
REPLACED = 6
LIMIT_MS = 300


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its query string, status, median milliseconds and number of SQL statements."""

    name: str
    query: str
    status: int
    milliseconds: float
    statements: int


def run(options: Namespace, folder: str) -> None:  # noqa: ARG001 - the settings name the folder
    """Measure and print."""
    from django.core.management import call_command  # noqa: PLC0415 - after Django's set-up

    call_command("migrate", verbosity=0)
    settings.MEMORYHUB_RECORDING = "inline"
    with Progress(console=Console(stderr=True), transient=True) as progress:
        admin, member = _populated(options, progress)
    pages = sorted(_measured(admin, member), key=lambda page: -page.milliseconds)
    if options.json:
        sys.stdout.write(
            json.dumps({"memories": options.scanned, "members": MEMBERS, "pages": list(map(asdict, pages))})
        )
        return
    table = Table(
        "page", "asked", "status", "ms", "statements", title=f"{options.scanned:,} memories, {MEMBERS:,} members"
    )
    for page in pages:
        table.add_row(page.name, page.query, str(page.status), f"{page.milliseconds:.0f}", str(page.statements))
    Console().print(table)
    slow = [page.name for page in pages if page.milliseconds > LIMIT_MS]
    Console().print(f"{len(pages)} pages; over {LIMIT_MS} ms: {', '.join(slow) or 'none'}")


def _populated(options: Namespace, progress: Progress) -> tuple[Client, Membership]:
    """An administrator's browser, and the member with most memories."""
    tenant = Tenant.objects.create(name="Bench", slug="bench")
    users = User.objects.bulk_create(
        User(username=f"bench-{number}", display_name=f"Member {number}") for number in range(MEMBERS)
    )
    members = Membership.objects.bulk_create(Membership(tenant=tenant, user=user) for user in users)
    principals = [system_principal(member) for member in members]
    people = Population(options.seed)
    people.fill(principals[:1], options.scanned, progress)
    people.fill(principals[1:], EACH, progress)
    large = principals[0]
    _replace(large)
    _talk(large)
    _tell(large, progress)
    owner = Owner(large.tenant_id, large.user_id)
    search_plane().rebuild(owner, documents(rows_of(owner)))
    staff = User.objects.create_user("bench-admin", is_staff=True)
    Membership.objects.create(tenant=tenant, user=staff, role=Role.ADMIN)
    browser = Client(SERVER_NAME="localhost")
    browser.force_login(staff)
    return browser, members[0]


@raw_writes("benchmark")
def _replace(principal: Principal) -> None:
    """Supersede one fact in REPLACED by the next, with a natural contradiction."""
    facts = list(Fact.objects.of(principal).order_by("pk"))
    now, changed = timezone.now(), []
    for number in range(0, len(facts) - 1, REPLACED):
        old, new = facts[number], facts[number + 1]
        old.status, old.superseded_by, old.contradiction = Status.SUPERSEDED, new, "natural"
        old.learned_at, old.superseded_at = now - timedelta(days=9), now - timedelta(hours=number % 200)
        changed.append(old)
    with raw_writes("benchmark"):
        Fact.objects.bulk_update(
            changed, ["status", "superseded_by", "contradiction", "learned_at", "superseded_at"], batch_size=200
        )


@raw_writes("benchmark")
def _talk(principal: Principal) -> None:
    """Create the messages of the episodes, and finished consolidation runs."""
    messages = []
    for episode in Episode.objects.of(principal).select_related("session").iterator(chunk_size=2_000):
        owned = {"tenant_id": principal.tenant_id, "user_id": principal.user_id, "session": episode.session}
        messages.append(Message(**owned, turn=episode.sequence, role=MessageRole.USER, text=episode.text))
        messages.append(Message(**owned, turn=episode.sequence, step=1, role=MessageRole.ASSISTANT, text="Noted."))
    Message.objects.bulk_create(messages, batch_size=1_000)
    ConsolidationRun.objects.bulk_create(
        ConsolidationRun(
            tenant_id=principal.tenant_id,
            user_id=principal.user_id,
            state=RunState.DONE,
            extractor="rules",
            ended_at=timezone.now(),
        )
        for _ in range(2_000)
    )


def _tell(principal: Principal, progress: Progress) -> None:
    """Record an audit event for each fact, in a valid chain."""
    facts = list(Fact.objects.of(principal).values_list("pk", "status"))
    task = progress.add_task("telling the trail", total=len(facts))
    for start in range(0, len(facts), EVENTS_AT_ONCE):
        some = facts[start : start + EVENTS_AT_ONCE]
        drafts = [
            EventDraft(
                "fact.superseded" if status == Status.SUPERSEDED else "fact.created", "semantic", pk, after={"n": 1}
            )
            for pk, status in some
        ]
        with transaction.atomic():
            lock_owner(principal)
            record_events(principal, drafts)
        progress.advance(task, len(some))


def _measured(browser: Client, member: Membership) -> Iterator[Page]:
    ids = _ids(member)
    yield _page(browser, "floor: a page of the theme", reverse("admin:password_change_done"))
    for model in MODELS:
        yield _page(browser, f"{model}_changelist", reverse(f"admin:{model}_changelist"))
    for name, page in PAGES.items():
        if page.method != "GET" or not set(page.takes) <= ids.keys():
            continue
        address = reverse(f"admin:{name}", args=[ids[each] for each in page.takes])
        yield _page(browser, name, address)
        if name in _SEARCHED:
            yield _page(browser, name, address, _SEARCHED[name])
    yield _asked(browser, reverse("staff:ask", args=[member.pk]))


# Pages with a search, and its query string.
_SEARCHED = {
    "memories_membermemory_change": "?q=garden",
    "memories_membermemory_as_of": "?q=garden",
    "memories_membermemory_conversations": "?q=zeppelin",
    "memories_membermemory_changelist": "?q=bench-7",
    "memories_history_changelist": "?q=garden",
}


def _ids(member: Membership) -> dict[str, Any]:
    fact = Fact.objects.unscoped("benchmark").filter(user=member.user, status=Status.SUPERSEDED).first()
    episode = Episode.objects.unscoped("benchmark").filter(user=member.user).order_by("-happened_at").first()
    playbook = Playbook.objects.unscoped("benchmark").filter(user=member.user).first()
    run = ConsolidationRun.objects.unscoped("benchmark").filter(user=member.user).first()
    event = AuditEvent.objects.filter(owner_id=member.user_id).order_by("-sequence").first()
    if fact is None or episode is None or playbook is None or run is None or event is None:
        raise RuntimeError("The population has not all that the pages show.")
    return {
        "app_label": "memories", "member": member.pk, "user": member.user_id, "tenant": member.tenant_id,
        "kind": "semantic", "memory": fact.pk, "fact": fact.pk, "episode": episode.pk, "playbook": playbook.pk,
        "session": episode.session_id, "turn": episode.sequence, "run": run.pk, "event": event.pk,
    }  # fmt: skip


def _page(browser: Client, name: str, address: str, query: str = "") -> Page:
    return _timed(name, query, lambda: browser.get(address + query))


def _asked(browser: Client, address: str) -> Page:
    form = {"question": "Where is the garden?", "kinds": [kind.value for kind in ALL_KINDS], "limit": "10"}
    return _timed("memories_membermemory_ask", "a question", lambda: browser.post(address, form))


def _timed(name: str, query: str, ask: Any) -> Page:
    answer = ask()  # a first request fills the caches
    if answer.streaming:
        b"".join(answer.streaming_content)
    with _statements() as made:
        ask()
    milliseconds = []
    for _ in range(TIMES):
        begin = time.perf_counter()
        answer = ask()
        milliseconds.append((time.perf_counter() - begin) * 1000)
    return Page(name, query, answer.status_code, statistics.median(milliseconds), len(made))


@contextmanager
def _statements() -> Iterator[list[str]]:
    made: list[str] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:  # noqa: FBT001 - Django's hook
        made.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield made
