"""The write scope: one transaction that holds an owner's lock and collects audit events and outbox entries.

    with write(principal) as w:
        fact.save()
        w.audit(".pinned", fact)
        w.index(fact)

`write` opens a transaction, takes the owner's lock and checks that the principal may write. A nested `write` for the
same owner joins the open scope, so services can call each other cheaply. Events and entries are stored in bulk when the
outermost scope closes. Rows may change only inside their owner's scope (`memories/models/guard.py`).

A nested scope has no savepoint, so an error in it must roll back the whole transaction. A caller that expects an error
wraps the call in `with w.savepoint():`. Catching an error without a savepoint makes `write` raise RuntimeError.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from memories.errors import Blocked, Conflict, InvalidInput, NotFound
from memories.hygiene.ageing import Lifetime
from memories.models import Episode, Operation, OutboxEntry
from memories.models.base import MemoryRow
from memories.models.guard import is_writing, mark_transaction, scope_opened
from memories.search.outbox import enqueue_entries, outbox_entry
from memories.selectors.history.rows import record_of
from memories.selectors.policies import Policy, expiry_rules_of, policy_for, policy_of
from memories.types import Kind, Owner, Scope
from memoryhub.db.scope import WideRole, acting_as, confined_to
from tenants.audit.chain import PLATFORM_CHAIN, Chain, EventDraft, append_events
from tenants.errors import Forbidden
from tenants.locks import lock_owner, lock_tenant, wait_for_owner, wait_for_tenant
from tenants.models import Membership
from tenants.principal import SYSTEM, Actor, ActorKind, Principal, Right, Role
from tenants.principals import keeping_principal

SHARED = (Scope.TENANT, Scope.GLOBAL)
PAUSED = gettext_noop("Memory is paused: nothing was stored. The member can resume it on their account page.")
TEMPORARY = gettext_noop("This is a temporary chat: nothing of it is stored.")


def require_person(principal: Principal) -> None:
    """Raise Forbidden unless the member acts in person, or by a token or key that may: an agent only proposes."""
    principal.require(Right.DECIDE)
    if principal.actor_kind not in (ActorKind.MEMBER, ActorKind.TOKEN, ActorKind.KEY):
        raise Forbidden(_("Only the member decides this; an agent can propose it."))


def require_scope(principal: Principal, scope: Scope) -> None:
    """Raise Forbidden unless the principal may write in `scope`.

    Members write their own memory. Administrators, in person or by their token, also write the memory that their tenant
    shares; platform staff write global memory. An agent never writes above user scope. The system may write in every
    scope.
    """
    if scope in (Scope.USER, Scope.TASK):
        return
    if principal.actor_kind is ActorKind.SYSTEM:
        return
    if scope in shared_scopes(principal):
        return
    who = "platform staff" if scope is Scope.GLOBAL else "an administrator"
    raise Forbidden(_("Only %(who)s may write memories of scope %(value)s.") % {"who": who, "value": scope.value})


def own_episodes(principal: Principal, ids: Collection[UUID]) -> list[Episode]:
    """The owner's episodes `ids`. Raises NotFound if one is missing."""
    wanted = set(ids)
    episodes = list(Episode.objects.of(principal).filter(pk__in=wanted)) if wanted else []
    if len(episodes) != len(wanted):
        raise NotFound("supporting episode", "supporting_episode_ids")
    return episodes


def shared_scopes(principal: Principal) -> tuple[Scope, ...]:
    """The shared scopes in which the principal may change single memories; none for an agent or the system."""
    if principal.platform and principal.actor_kind is ActorKind.STAFF:
        return (Scope.GLOBAL,)
    if principal.role is Role.ADMIN and principal.actor_kind in (ActorKind.MEMBER, ActorKind.TOKEN):
        return (Scope.TENANT,)
    return ()


def owner_columns(principal: Principal, scope: Scope, task: str) -> dict[str, UUID | str | None]:
    """The owner, scope and task columns of a new row.

    Raises InvalidInput unless `task` is set exactly in task scope.
    """
    if (scope is Scope.TASK) != bool(task):
        raise InvalidInput("task", _("name a task exactly when the scope is task."))
    return {
        "tenant_id": None if scope is Scope.GLOBAL else principal.tenant_id,
        "user_id": principal.user_id if scope in (Scope.USER, Scope.TASK) else None,
        "scope": scope,
        "task": task or None,
    }


def app_of(w: Write) -> str:
    """The app that a new memory carries: that of the acting principal."""
    return w.member.app if w.member else ""


AUDIT_NOUN = {
    Kind.EPISODIC: "episode",
    Kind.SEMANTIC: "fact",
    Kind.PROCEDURAL: "playbook",
    Kind.CATALOG: "catalog",
    Kind.ITEM: "item",
}


@dataclass(slots=True)
class _Transaction:
    """The state of one transaction, shared by the nested scopes of several principals."""

    owner: Owner
    chain: Chain
    events: list[tuple[Chain, Actor, EventDraft]] = field(default_factory=list)
    entries: list[OutboxEntry] = field(default_factory=list)
    rules: dict[UUID | None, Mapping[str, Lifetime]] = field(default_factory=dict)
    policy: Policy | None = None
    tenant_is_locked: bool = False
    # The error of a nested scope that no savepoint rolled back.
    failed: BaseException | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """An open write scope for one actor. `_principal` is None for housekeeping in shared memories."""

    _principal: Principal | None
    actor: Actor
    _transaction: _Transaction

    @property
    def principal(self) -> Principal:
        """The acting principal. Raises RuntimeError for housekeeping in shared memories."""
        if self._principal is None:
            raise RuntimeError("Housekeeping in shared memories acts for no member.")
        return self._principal

    @property
    def member(self) -> Principal | None:
        """The acting principal; None for housekeeping in shared memories."""
        return self._principal

    @property
    def owner(self) -> Owner:
        """The owner whose lock is held."""
        return self._transaction.owner

    @property
    def policy(self) -> Policy:
        """The tenant's policy with what the member decided, read once per transaction."""
        held = self._transaction
        if held.policy is None:
            tenant_id = held.owner.tenant_id
            of_tenant = policy_of(tenant_id) if tenant_id else Policy()
            held.policy = policy_for(self._principal) if self._principal else of_tenant
        return held.policy

    def require_learning(self, scope: Scope | str = Scope.USER, *, by_hand: bool = True) -> None:
        """Raise Conflict in a temporary chat, and if the member paused memory. Shared scopes are not the member's.

        `by_hand`: the member in person and staff may write all the same. The owner's lock is held, so a pause that was
        committed before is seen.
        """
        if self._principal is None or scope in SHARED:
            return
        if self._principal.off_record:
            raise Conflict(_(TEMPORARY))
        in_person = by_hand and self._principal.actor_kind in (ActorKind.MEMBER, ActorKind.STAFF)
        if not in_person and not self.policy.learns:
            raise Conflict(_(PAUSED))

    def rules(self, scope: Scope | str = Scope.USER) -> Mapping[str, Lifetime]:
        """Lifetimes of facts in `scope` by class or category, read once. Global facts have no tenant rules."""
        tenant_id = None if scope == Scope.GLOBAL else self.owner.tenant_id
        known = self._transaction.rules
        if tenant_id not in known:
            known[tenant_id] = expiry_rules_of(tenant_id)
        return known[tenant_id]

    def lock_tenant(self) -> None:
        """Also lock the tenant's shared memories. Raises Forbidden if the tenant is not active."""
        if not self._transaction.tenant_is_locked and self.owner.tenant_id is not None:
            lock_tenant(self.owner.tenant_id)
            self._transaction.tenant_is_locked = True

    def audit(
        self,
        action: str,
        row: MemoryRow | None = None,
        *,
        target_kind: str = "",
        target_id: UUID | None = None,
        reason: str = "",
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
    ) -> None:
        """Collect an event for the owner's audit log. `row` is the target, already saved.

        An action that starts with a dot gets the noun of the row's kind: ".merged" on a fact becomes "fact.merged".
        """
        record = None
        if row is not None:
            target_kind, target_id = row.kind.value, row.pk
            record = record_of(row)
            action = AUDIT_NOUN[row.kind] + action if action.startswith(".") else action
        event = EventDraft(action, target_kind, target_id, reason, before, after, record)
        self.audit_drafts([event])

    def audit_drafts(self, events: Sequence[EventDraft], *, chain: Chain | None = None) -> None:
        """Collect drafted events for the owner's audit log (or `chain`)."""
        where = chain or self._transaction.chain
        self._transaction.events += [(where, self.actor, event) for event in events]

    def index(self, *rows: MemoryRow) -> None:
        """Collect upserts of these rows for the search plane, with their current versions."""
        self._transaction.entries += [outbox_entry(row, Operation.UPSERT) for row in rows]

    def unindex(self, *rows: MemoryRow) -> None:
        """Collect deletions of these rows for the search plane. Each has a version higher than any stored one."""
        self._transaction.entries += [outbox_entry(row, Operation.DELETE) for row in rows]

    def blocked(self, refusal: Blocked) -> None:
        """Collect the event of a refused write, with fields and kinds only. `write` stores it even after a rollback."""
        spots = [{"field": spot.field, "kind": spot.kind.value} for spot in refusal.spots]
        self.audit("memory.blocked", after={"spots": spots})

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """A part that may fail: an error rolls back what it wrote and collected, and the caller may catch it."""
        held = self._transaction
        events, entries = len(held.events), len(held.entries)
        try:
            with transaction.atomic():
                yield
        except BaseException as error:
            del held.events[events:], held.entries[entries:]
            held.failed = None
            if isinstance(error, Blocked):
                self.blocked(error)
            raise

    def flush(self) -> None:
        """Store the collected events and entries now, as the end of the outermost scope does."""
        held = self._transaction
        by_chain: dict[Chain, list[tuple[Actor, EventDraft]]] = {}
        for chain, actor, event in held.events:
            by_chain.setdefault(chain, []).append((actor, event))
        held.events = []
        for chain, events in by_chain.items():
            append_events(chain, events)
        entries, held.entries = held.entries, []
        enqueue_entries(entries)


@dataclass(frozen=True, slots=True)
class _Preface:
    """A write for the start of the next transaction, and a callback that resets in-memory values after a rollback."""

    write: Callable[[], object]
    undo: Callable[[], object]


_current: ContextVar[Write | None] = ContextVar("current_write", default=None)
_preface: ContextVar[_Preface | None] = ContextVar("preface", default=None)


@contextmanager
def begin_with(first: Callable[[], object], *, undo: Callable[[], object]) -> Iterator[None]:
    """Make the first scope that the block opens call `first` at its start, in its transaction.

    `undo` is called if that transaction is rolled back. A block that opens no scope calls neither.
    """
    token = _preface.set(_Preface(first, undo))
    try:
        yield
    finally:
        _preface.reset(token)


@contextmanager
def write(
    principal: Principal, scope: Scope = Scope.USER, *, also_inactive: bool = False, policy: Policy | None = None
) -> Iterator[Write]:
    """Open the write scope of the principal's memory, or join the one open for the same owner.

    A shared `scope` also locks the tenant. `also_inactive` skips the permission checks, for work in the memory of a
    member who may no longer act. `policy` is the tenant's, if the caller has read it. Raises Forbidden if the principal
    may not write (or not in this scope), or if the membership has ended.
    """
    if not also_inactive:
        principal.require(Right.WRITE)
        require_scope(principal, scope)
    owner = Owner(principal.tenant_id, principal.user_id)
    open_one = _current.get()
    if open_one is not None and open_one.owner == owner:
        yield from _joined(open_one, principal, scope)
        return
    try:
        # Global rows are no owner's, so the wider role of platform staff writes them.
        in_database = (
            acting_as(WideRole.STAFF) if scope is Scope.GLOBAL else confined_to(principal.tenant_id, principal.user_id)
        )
        with in_database, _taken() as preface, transaction.atomic():
            if not also_inactive:
                lock_owner(principal)
            elif not wait_for_owner(principal):
                raise Forbidden(_("This membership does not exist any more."))
            held = _Transaction(owner, Chain.of_owner(principal), policy=policy)
            w = Write(principal, principal.actor, held)
            if scope in SHARED:
                w.lock_tenant()
            yield from _opened(w, preface)
    except Blocked as refusal:
        # The rollback also removed the event of the refusal, so it is stored again.
        with write(principal) as w:
            w.blocked(refusal)
        raise


@contextmanager
def _taken() -> Iterator[_Preface | None]:
    """The preface for the block's transaction, if any. It is undone if the block fails."""
    preface = _preface.get()
    _preface.set(None)
    try:
        yield preface
    except BaseException:
        if preface is not None:
            preface.undo()
        raise


@contextmanager
def housekeeping(owner: Owner) -> Iterator[Write]:
    """Open the system's write scope for any owner: a member (active or not), a tenant, or global memory."""
    if owner.tenant_id is not None and owner.user_id is not None:
        membership = Membership.objects.select_related("user").get(tenant=owner.tenant_id, user=owner.user_id)
        with write(keeping_principal(membership), also_inactive=True) as w:
            yield w
        return
    in_database = confined_to(owner.tenant_id, None) if owner.tenant_id else acting_as(WideRole.JOBS)
    with in_database, transaction.atomic():
        if owner.tenant_id is None:
            mark_transaction(marked=True)
            chain = Chain(PLATFORM_CHAIN)
        else:
            wait_for_tenant(owner.tenant_id)
            chain = Chain.of_tenant(owner.tenant_id)
        yield from _opened(Write(None, SYSTEM, _Transaction(owner, chain)))


def current_write(principal: Principal) -> Write | None:
    """The open scope of this owner, or None."""
    w = _current.get()
    return w if w is not None and w.owner == Owner(principal.tenant_id, principal.user_id) else None


def _opened(w: Write, preface: _Preface | None = None) -> Iterator[Write]:
    """The outermost scope, which is flushed at its end, inside the transaction."""
    token = _current.set(w)
    try:
        with scope_opened(w.owner):
            if preface is not None:
                preface.write()
            yield w
            if w._transaction.failed is not None:
                raise RuntimeError("A part of this write failed outside a savepoint.") from w._transaction.failed
            w.flush()
    finally:
        _current.reset(token)
    if transaction.get_connection().savepoint_ids and not is_writing():
        mark_transaction(marked=False)  # the surrounding transaction continues without the scope


def _joined(outer: Write, principal: Principal, scope: Scope) -> Iterator[Write]:
    w = outer if outer.member == principal else Write(principal, principal.actor, outer._transaction)
    if scope in SHARED:
        w.lock_tenant()
    try:
        yield w
    except BaseException as error:
        outer._transaction.failed = error
        raise
