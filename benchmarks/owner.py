"""One owner with many memories, stored through the product's own services."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone
from rich.progress import Progress

from benchmarks.texts import Writer
from memories.search.outbox import drain
from memories.services.facts.remember import remember_fact
from memories.services.playbooks import remember_playbook
from memories.services.sessions.episodes import EpisodeDraft, remember_episodes
from memories.services.sessions.sessions import start_session
from tenants.principal import Principal
from tenants.principals import system_principal
from tenants.services import add_member, create_tenant, create_user

TURNS_PER_SESSION = 20
SHARE_OF_FACTS = 0.18
SHARE_OF_PLAYBOOKS = 0.02
DRAIN_BATCH = 256


def make_owner() -> Principal:
    """A member of a tenant of their own."""
    tenant = create_tenant(name="Bench", slug="bench")
    user = create_user(username="bench", display_name="Bench")
    return system_principal(add_member(tenant=tenant, user=user))


def fill(principal: Principal, writer: Writer, count: int, progress: Progress) -> list[str]:
    """Give the owner `count` memories, most of them episodes in sessions; return their texts."""
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
    """Carry the outbox to the search plane."""
    task = progress.add_task("indexing", total=count)
    while (report := drain(limit=DRAIN_BATCH)).delivered:
        progress.advance(task, report.delivered)
