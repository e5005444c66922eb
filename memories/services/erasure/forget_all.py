"""Forgets everything of a member who stays: conversations first, then what is left of their memories, then items.

Or what a filter selects of the memories. Members confirm it by the token of a count: the token names its selection and
time, so nothing goes that was not counted, and a call that was cut off is repeated with the same token.

Each conversation, and each batch of memories, goes in a transaction of its own, by the services that forget one. So a
call that is cut off has erased whole conversations and memories, and the next goes on.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from django.core import signing
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.errors import InvalidInput
from memories.models import CHAINED_MODELS, Episode, Item, RecallTrace, Session
from memories.models.base import MemoryRow
from memories.models.filtering import filter_of
from memories.selectors.erasure import require_no_hold
from memories.services.erasure.forget import erase_rows, forget_session
from memories.services.items import erase_items
from memories.services.write import require_person, write
from memories.types import Filter, Kind, Owner
from tenants.audit.chain import EventDraft, record_tenant_event
from tenants.principal import Principal, Right

# Memories in one transaction, for which other writers of this owner wait.
_BATCH = 50
# How long the count of what would go can be confirmed.
CONFIRM_FOR = timedelta(hours=1)
_SALT = "memories.forget-all"


@dataclass(frozen=True, slots=True)
class ForgetSelection:
    """What goes: all with the conversations, or without them what `filters` matches; nothing newer than `until`."""

    filters: Filter | None = None
    until: datetime | None = None

    def takes_conversations(self, principal: Principal) -> bool:
        """Whether conversations and recalls go. Whoever sees the memories of one app alone takes nothing unseen."""
        return self.filters is None and principal.only_app is None

    def sessions(self, principal: Principal) -> QuerySet[Session]:
        """The conversations that go."""
        rows = Session.objects.of(principal)
        if not self.takes_conversations(principal):
            return rows.none()
        return rows if self.until is None else rows.filter(created_at__lte=self.until, last_turn_at__lte=self.until)

    def items(self, principal: Principal) -> QuerySet[Item]:
        """The items that go: filters are over memories, so all or none."""
        rows = Item.objects.of(principal)
        if self.filters is not None:
            return rows.none()
        return rows if self.until is None else rows.filter(updated_at__lte=self.until)

    def memories(self, principal: Principal) -> Iterator[tuple[Kind, QuerySet[MemoryRow]]]:
        """The memories of each kind, in every status."""
        for model in (Episode, *CHAINED_MODELS.values()):
            rows: QuerySet[MemoryRow] = model.objects.of(principal)
            if self.filters is not None:
                rows = rows.filter(filter_of(self.filters, model.kind))
            yield model.kind, rows if self.until is None else rows.filter(created_at__lte=self.until)


ALL = ForgetSelection()


@dataclass(frozen=True, slots=True)
class ForgetCount:
    """How much would go, by kind, and the token that confirms it until `confirm_until`."""

    memories: Mapping[Kind, int]
    sessions: int
    confirm: str
    confirm_until: datetime


def count_to_forget(principal: Principal, *, filters: Filter | None) -> ForgetCount:
    """Count what `filters` selects (None: everything). Changes nothing.

    Raises Forbidden, Conflict (a legal hold is in force).
    """
    require_person(principal)
    require_no_hold(Owner(principal.tenant_id, principal.user_id))
    now = timezone.now()
    wanted = ForgetSelection(filters, now)
    rows = (*wanted.memories(principal), (Kind.ITEM, wanted.items(principal)))
    return ForgetCount(
        memories={kind: each.count() for kind, each in rows},
        sessions=wanted.sessions(principal).count(),
        confirm=signing.dumps([now.isoformat(), _whose(principal, filters)], salt=_SALT, compress=True),
        confirm_until=now + CONFIRM_FOR,
    )


def forget_counted(principal: Principal, *, filters: Filter | None, confirm: str, seconds: float) -> AllForgotten:
    """Erase for good what `count_to_forget` counted with these filters. What was stored since stays.

    Raises InvalidInput (another or an old token), Forbidden, Conflict (a legal hold is in force).
    """
    require_person(principal)
    try:
        at, whose = signing.loads(confirm, salt=_SALT, max_age=CONFIRM_FOR)
    except signing.BadSignature:
        raise InvalidInput(
            "confirm", _("is not the token of a count of the last hour; send dry_run=true again.")
        ) from None
    if whose != _whose(principal, filters):
        raise InvalidInput(
            "confirm", _("is the token of another count: of this member, with these filters, send your own.")
        )
    return forget_all(principal, seconds=seconds, selection=ForgetSelection(filters, datetime.fromisoformat(at)))


def _whose(principal: Principal, filters: Filter | None) -> list[str]:
    """What a token is for: the owner, the app that the caller is confined to, and the selection."""
    selected = hashlib.sha256(repr(filters).encode(errors="surrogatepass")).hexdigest()
    return [str(principal.tenant_id), str(principal.user_id), principal.only_app or "", selected]


@dataclass(slots=True)
class AllForgotten:
    """How much a call erased. Unless `complete`, its time was over before it had everything."""

    memories: int = 0
    sessions: int = 0
    complete: bool = False


def forget_all(principal: Principal, *, seconds: float, selection: ForgetSelection = ALL) -> AllForgotten:
    """Erase the owner's conversations and memories, or a selection, for good, for about so long.

    Raises Forbidden (an inactive member), Conflict (a legal hold is in force).
    """
    principal.require(Right.WRITE)
    done, until = AllForgotten(), time.monotonic() + seconds
    for erased, sessions in _batches(principal, selection):
        done.memories += erased
        done.sessions += sessions
        if time.monotonic() > until:
            break
    else:
        done.complete = True
    counts = {"memories": done.memories, "sessions": done.sessions}
    draft = EventDraft("member.memories_erased", "membership", principal.membership_id, after=counts)
    with transaction.atomic():
        record_tenant_event(principal.actor, principal.tenant_id, draft)
    return done


def _batches(principal: Principal, selection: ForgetSelection) -> Iterator[tuple[int, int]]:
    """Erase a batch; give the numbers of its memories and conversations."""
    sessions = selection.sessions(principal).order_by("created_at")
    while session := sessions.first():
        yield len(forget_session(principal, session_id=session.pk).erased), 1
    while True:
        with write(principal) as w:
            rows = list(islice(_left(principal, selection), _BATCH))
            if rows:
                erase_rows(w, rows, reason="all forgotten")
            elif selection.takes_conversations(principal):
                traces = RecallTrace.objects.of(principal)
                (traces if selection.until is None else traces.filter(created_at__lte=selection.until)).delete()
        if not rows:
            break
        yield len(rows), 0
    while True:
        with write(principal) as w:
            items = list(selection.items(principal)[:_BATCH])
            if items:
                erase_items(w, items, reason="all forgotten")
        if not items:
            return
        yield len(items), 0


def _left(principal: Principal, selection: ForgetSelection) -> Iterator[MemoryRow]:
    for __, rows in selection.memories(principal):
        yield from rows[:_BATCH]
