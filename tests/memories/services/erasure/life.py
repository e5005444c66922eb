"""All that memoryhub may keep of one member, with a word of theirs everywhere; and digests of everybody else's rows."""

from __future__ import annotations

import hashlib
from typing import Any
from uuid import UUID

from django.contrib.auth import SESSION_KEY
from django.db import connection

from memories.models import ConsolidationRun, Fact, MemoryPolicy, ReviewItem, ReviewKind
from memories.recall.pipeline import recall
from memories.services.consolidation.running import consolidate
from memories.services.facts.promote import promote
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import supersede
from memories.services.playbooks import remember_playbook
from memories.services.sessions.turns import add_tool_result, add_tool_step, begin_turn, finish_turn
from memories.services.sessions.working_memory import observe
from memories.types import Kind, Scope
from memoryhub.session_store import SessionStore
from tenants.models import Membership
from tenants.principal import Actor, ActorKind, Principal
from tenants.services import issue_token


def staff(membership: Membership) -> Actor:
    """The person of a membership, acting in the admin."""
    return Actor(ActorKind.STAFF, membership.user_id)


def live(principal: Principal, word: str) -> UUID:
    """A conversation, facts of every state, a how-to, notes, a review, a token, a login. Returns a fact that holds."""
    MemoryPolicy.objects.get_or_create(tenant_id=principal.tenant_id, defaults={"keep_originals": True})
    turn = begin_turn(principal, text=f"I live in {word}. Write to ada@{word}.example or call 020 7946 0958.")
    fact = remember_fact(principal, text=f"Keeps a boat in {word}", key="boat", reason=f"said of {word}")
    call = {"id": "c1", "name": "write_memory", "arguments": {"text": f"A boat in {word}"}}
    place: dict[str, Any] = {"session_id": turn.session_id, "turn": turn.turn}
    add_tool_step(principal, **place, tool_calls=[call])
    add_tool_result(
        principal, **place, tool_call_id="c1", written=[fact], recall=recall(principal, f"where is {word}?")
    )
    finish_turn(principal, **place, text=f"A boat in {word}, noted.")
    observe(principal, session_id=turn.session_id, text=f"Thinks of selling the {word} house", turn=1)
    newer = supersede(principal, old_ids=[fact.memory_id], text=f"Sold the boat in {word}").memory_id
    remember_playbook(principal, title=f"Sail to {word}", trigger=f"the wind of {word} turns", steps=[f"Leave {word}"])
    consolidate(principal)
    ConsolidationRun.objects.of(principal).update(output={"said": word})
    row = Fact.objects.get(pk=newer)
    ReviewItem.objects.create(
        kind=ReviewKind.EVICTION,
        tenant_id=principal.tenant_id,
        user_id=principal.user_id,
        first=row,
        reason=f"stale {word}",
    )
    membership = Membership.objects.get(pk=principal.membership_id)
    issue_token(membership, name=f"{word} phone")
    Membership.objects.filter(pk=membership.pk).update(external_id=f"{word}-7")
    sign_in(membership)
    return newer


def sign_in(membership: Membership) -> str:
    """A browser that is signed in as this user; its session key."""
    store = SessionStore()
    store[SESSION_KEY] = str(membership.user_id)
    store.save()
    return str(store.session_key)


def share(administrator: Principal, memory_id: UUID) -> UUID:
    """Have an administrator promote a fact of their own; return the id of the copy."""
    return promote(administrator, kind=Kind.SEMANTIC, memory_id=memory_id, to=Scope.TENANT).memory_id


def everything() -> str:
    """Every value of every table, as text; what is not text in it is read as Latin-1."""
    with connection.cursor() as cursor:
        parts = []
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')  # noqa: S608  # names come from the schema
            parts += [str(row) for row in cursor.fetchall()]
    return "\n".join(parts).casefold()


def rows_of_others(member: Membership) -> dict[str, set[str]]:
    """A digest of each row of the owned tables that is not this member's, by table."""
    digests: dict[str, set[str]] = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')  # noqa: S608  # names come from the schema
            columns = [each[0] for each in cursor.description]
            if not {"tenant_id", "user_id"} <= set(columns):
                continue
            theirs = columns.index("user_id")
            mine = {member.user_id, str(member.user_id), member.user_id.hex}
            digests[table] = {
                hashlib.sha256(repr(row).encode()).hexdigest() for row in cursor.fetchall() if row[theirs] not in mine
            }
    return digests
