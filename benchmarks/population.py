"""Creates owners with many memories: one through the product's services, or many written straight to the tables.

Services and encoding would take hours for half a million memories. Rows of many members are therefore inserted
directly, with random vectors around those of an encoded sample, so that questions are near some and far from most.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import islice

import numpy as np
from django.utils import timezone
from rich.progress import Progress

from benchmarks.texts import Writer
from memories.embedding import Floats, encoder, encoder_name, pack_pieces, quantize, token_vectors
from memories.hygiene.text import content_hash
from memories.models import CatalogEntry, Episode, Fact, Playbook, Session
from memories.models.base import MemoryRow
from memories.models.guard import raw_writes
from memories.search.outbox import drain
from memories.services.facts.remember import remember_fact
from memories.services.playbooks import remember_playbook
from memories.services.sessions.episodes import EpisodeDraft, remember_episodes
from memories.services.sessions.sessions import start_session
from memories.types import Owner, Scope
from tenants.models import Membership, Tenant, User
from tenants.principal import Principal
from tenants.principals import system_principal
from tenants.services import add_member, create_tenant, create_user

TURNS_PER_SESSION = 20
SHARE_OF_FACTS = 0.18
SHARE_OF_PLAYBOOKS = 0.02
DRAIN_BATCH = 256


def make_owner() -> Principal:
    """A member of a new tenant."""
    tenant = create_tenant(name="Bench", slug="bench")
    user = create_user(username="bench", display_name="Bench")
    return system_principal(add_member(tenant=tenant, user=user))


def fill(principal: Principal, writer: Writer, count: int, progress: Progress) -> list[str]:
    """Create `count` memories of the owner, mostly episodes in sessions; returns their texts."""
    facts, playbooks = round(count * SHARE_OF_FACTS), round(count * SHARE_OF_PLAYBOOKS)
    texts: list[str] = []
    task = progress.add_task("writing", total=count)
    for number in range(0, count - facts - playbooks, TURNS_PER_SESSION):
        turns = [writer.episode() for _ in range(min(TURNS_PER_SESSION, count - facts - playbooks - number))]
        begin = timezone.now() - timedelta(hours=count - number)
        session = start_session(principal, created_at=begin)
        drafts = [EpisodeDraft(text, begin + timedelta(minutes=minute)) for minute, text in enumerate(turns)]
        remember_episodes(principal, session_id=session.pk, drafts=drafts)
        texts += turns
        progress.advance(task, len(turns))
    for _ in range(facts):
        texts.append(writer.fact())
        remember_fact(principal, text=texts[-1])
        progress.advance(task)
    for _ in range(playbooks):
        how_to = writer.how_to()
        remember_playbook(principal, title=how_to.title, trigger=how_to.trigger, steps=how_to.steps)
        texts.append(" ".join((how_to.title, how_to.trigger, *how_to.steps)))
        progress.advance(task)
    return texts


def index(count: int, progress: Progress) -> None:
    """Drain the outbox into the search plane."""
    task = progress.add_task("indexing", total=count)
    while (report := drain(limit=DRAIN_BATCH)).delivered:
        progress.advance(task, report.delivered)


MEMBERS_PER_TENANT = 10
SHARED_PER_TENANT = 20
SAMPLE = 512
# The noise of a random vector: its cosine with its centre is about 0.9, as between two paraphrases.
SPREAD = 0.5
ROWS_AT_ONCE = 1_000


def make_members(count: int) -> list[Principal]:
    """Members of several tenants, without search keys; `mint_waiting` makes these."""
    tenants = Tenant.objects.bulk_create(
        Tenant(name=f"Bench {number}", slug=f"bench-{number}") for number in range(-(-count // MEMBERS_PER_TENANT))
    )
    users = User.objects.bulk_create(User(username=f"bench-{number}") for number in range(count))
    members = Membership.objects.bulk_create(
        Membership(tenant=tenants[number // MEMBERS_PER_TENANT], user=user) for number, user in enumerate(users)
    )
    return [system_principal(member) for member in members]


class Population:
    """Creates the rows of members and the shared rows of their tenants."""

    def __init__(self, seed: int) -> None:
        self._writer = Writer(seed)
        self._random = np.random.default_rng(seed)
        sample = Writer(seed + 1)
        self._centres: Floats = np.asarray(
            [next(iter(encoder().encode([sample.episode()]))) for _ in range(SAMPLE)], np.float32
        )

    @raw_writes("benchmark")
    def fill(self, members: list[Principal], each: int, progress: Progress) -> int:
        """Create `each` memories per member and a catalog per tenant; returns the number of rows."""
        task = progress.add_task("writing rows", total=len(members) * each)
        count = 0
        for tenant_id in sorted({member.tenant_id for member in members}):
            count += self._store(self._entry(Owner(tenant_id, None)) for _ in range(SHARED_PER_TENANT))
        for member in members:
            count += self._store_member(member, each)
            progress.advance(task, each)
        return count

    def _store_member(self, member: Principal, each: int) -> int:
        owner = Owner(member.tenant_id, member.user_id)
        facts, playbooks = round(each * SHARE_OF_FACTS), round(each * SHARE_OF_PLAYBOOKS)
        count = self._store(self._fact(owner) for _ in range(facts))
        count += self._store(self._playbook(owner) for _ in range(playbooks))
        return count + self._store(self._episodes(member, each - facts - playbooks))

    def _store(self, rows: Iterable[MemoryRow]) -> int:
        """Store rows of one model, some at a time."""
        count, coming = 0, iter(rows)
        while some := list(islice(coming, ROWS_AT_ONCE)):
            self._store_some(some)
            count += len(some)
        return count

    def _store_some(self, rows: Sequence[MemoryRow]) -> None:
        """Store rows with vectors and token ids as the outbox would compute them."""
        centres = self._centres[self._random.integers(0, SAMPLE, len(rows))]
        noise = self._random.standard_normal(centres.shape, np.float32) * (SPREAD / centres.shape[1] ** 0.5)
        vectors = centres + noise
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        for row, vector in zip(rows, vectors, strict=True):
            row.embedding = quantize(vector)
            row.embedding_model = encoder_name()
            row.token_ids = pack_pieces(token_vectors().piece_ids(row.searchable_text))
        with raw_writes("benchmark"):
            type(rows[0]).objects.bulk_create(rows)

    def _episodes(self, member: Principal, count: int) -> Iterator[Episode]:
        now = timezone.now()
        for number in range(0, count, TURNS_PER_SESSION):
            begin = now - timedelta(hours=count - number)
            session = Session(tenant_id=member.tenant_id, user_id=member.user_id, created_at=begin)
            session.save(force_insert=True)
            for turn in range(min(TURNS_PER_SESSION, count - number)):
                text = self._writer.episode()
                yield Episode(
                    **_owned(Owner(member.tenant_id, member.user_id), text),
                    session=session,
                    sequence=turn + 1,
                    ordinal=number + turn + 1,
                    happened_at=begin + timedelta(minutes=turn),
                )

    def _fact(self, owner: Owner) -> Fact:
        return Fact(**_owned(owner, self._writer.fact()))

    def _playbook(self, owner: Owner) -> Playbook:
        how_to = self._writer.how_to()
        words = {"title": how_to.title, "trigger": how_to.trigger, "steps": list(how_to.steps)}
        return Playbook(**_owned(owner, ""), **words, content_hash=content_hash(how_to.title, how_to.trigger))

    def _entry(self, owner: Owner) -> CatalogEntry:
        text = self._writer.fact()
        return CatalogEntry(**_owned(owner, text), title=text[:60])


def _owned(owner: Owner, text: str) -> dict[str, object]:
    scope = Scope.TENANT if owner.user_id is None else Scope.USER
    described: dict[str, object] = {
        "tenant_id": owner.tenant_id,
        "user_id": owner.user_id,
        "scope": scope,
        "text": text,
    }
    return described | ({"content_hash": content_hash(text)} if text else {})
