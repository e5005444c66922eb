"""A program that lives the life of memories until it is killed: `python -m tests.proofs.living SEED`.

It tells, consolidates, supersedes, undoes, promotes, collects, works on tasks, tries how-tos and forgets, in the
environment of a throwaway site. Every statement holds a word of its own, so that what became of it can be counted; what
is to be forgotten is noted in FORGETTING first. A lease that the last process left behind counts as run out.
"""

from __future__ import annotations

import os
import random
import sys
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from threading import Thread

import django
import pytest

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
django.setup()

from django.conf import settings  # noqa: E402 - after the set-up
from django.db import connections  # noqa: E402
from django.utils import timezone  # noqa: E402

from memories.consolidation.material import (  # noqa: E402
    Extraction,
    ExtractionFault,
    FaultKind,
    Material,
    ProposedFact,
)
from memories.errors import MemoriesError  # noqa: E402
from memories.models import EpisodeLedger, Fact, Playbook, Session  # noqa: E402
from memories.services.consolidation import consolidate  # noqa: E402
from memories.services.erasure.forget import forget  # noqa: E402
from memories.services.facts.promote import promote  # noqa: E402
from memories.services.facts.remember import remember_fact  # noqa: E402
from memories.services.facts.supersede import correct, retire, supersede  # noqa: E402
from memories.services.facts.undo import undo  # noqa: E402
from memories.services.playbooks import (  # noqa: E402
    record_outcome,
    remember_playbook,
)
from memories.services.retention.collection import collect  # noqa: E402
from memories.services.sessions.episodes import EpisodeDraft, remember_episodes  # noqa: E402
from memories.services.sessions.sessions import (  # noqa: E402
    end_session,
    expire_sessions,
    start_session,
)
from memories.services.sessions.working_memory import observe, set_task  # noqa: E402
from memories.types import Importance, Kind, Scope, Status  # noqa: E402
from memoryhub.db.advisory_lock import LockTaken  # noqa: E402
from tenants.models import Membership  # noqa: E402
from tenants.principal import Principal, Role  # noqa: E402
from tenants.principals import system_principal  # noqa: E402
from tenants.services import change_role  # noqa: E402
from tests.proofs.site import FORGETTING  # noqa: E402
from tests.unguarded import pass_tests  # noqa: E402

pass_tests(pytest.MonkeyPatch())

# Episodes of one telling, and how many of them one run reads: a batch ends in the middle of a telling.
TOLD, BATCH = 5, 2
LATER = timedelta(days=100)


class Literal:
    """Takes every episode at its word; now and then it has nothing usable to say, and never of what is mumbled."""

    name = "literal"

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def extract(self, material: Material) -> Extraction:
        """See Extractor."""
        if any(episode.text.startswith("Mumbles") for episode in material.episodes):
            raise ExtractionFault(
                "mumbled", FaultKind.REFUSED, output=" ".join(each.text for each in material.episodes)
            )
        if self._chance.random() < 0.1:
            raise ExtractionFault("nothing usable", self._chance.choice(list(FaultKind)))
        facts = tuple(
            ProposedFact(episode.text, (episode.id,), key="home_city" if episode.text.startswith("Lives") else "")
            for episode in material.episodes
        )
        return Extraction(facts, {"proposals": [fact.text for fact in facts]})


def tell(principal: Principal, chance: random.Random) -> None:
    """Say some things, one of them about where one lives."""
    session = start_session(principal)
    texts = [f"Owns a box called {uuid.uuid4().hex}" for _ in range(TOLD - 1)]
    texts.insert(chance.randrange(TOLD), f"{chance.choice(('Lives in', 'Mumbles'))} {uuid.uuid4().hex}")
    remember_episodes(principal, session_id=session.pk, drafts=[EpisodeDraft(text) for text in texts])


def change(principal: Principal, chance: random.Random) -> None:
    """Do one random thing to a random fact of theirs; the services may refuse it."""
    facts = Fact.objects.of(principal).exclude(status=Status.EVICTED)
    known = list(facts.order_by("-updated_at").values_list("pk", flat=True)[:50])
    if len(known) < 3:
        return
    first, second = chance.sample(known, 2)
    word = uuid.uuid4().hex
    ways: list[Callable[[], object]] = [
        lambda: supersede(principal, old_ids=[first, second], text=f"Has a shelf called {word}"),
        lambda: correct(principal, kind=Kind.SEMANTIC, memory_id=first, text=f"Has a drawer called {word}"),
        lambda: retire(principal, kind=Kind.SEMANTIC, memory_id=first, also_ids=[second]),
        lambda: undo(principal, kind=Kind.SEMANTIC, memory_id=first),
        lambda: promote(principal, kind=Kind.SEMANTIC, memory_id=first, to=Scope.TENANT),
    ]
    chance.choice(ways)()


def work(principal: Principal, chance: random.Random) -> None:
    """Work on a task, and end it or let its time pass."""
    session = start_session(principal).pk
    set_task(principal, session_id=session, goal=f"Find {uuid.uuid4().hex}")
    observe(principal, session_id=session, text=f"Sees {uuid.uuid4().hex}", importance=Importance.CRITICAL)
    if chance.random() < 0.5:
        end_session(principal, session_id=session, learned=[f"Knows {uuid.uuid4().hex}"])
    else:
        Session.objects.filter(pk=session).update(expires_at=timezone.now())
        expire_sessions()


def practise(principal: Principal, chance: random.Random) -> None:
    """Learn a way to do something; try one, and do it better from then on."""
    word = uuid.uuid4().hex
    remember_playbook(principal, title=f"Repair {word}", steps=["Open it", "Close it"])
    tried = chance.choice(list(Playbook.objects.of(principal).current().values_list("pk", flat=True)))
    steps = [f"Open {word}", "Close it"] if chance.random() < 0.5 else []
    record_outcome(principal, playbook_id=tried, success=chance.random() < 0.5, refined_steps=steps)
    if steps and chance.random() < 0.5:
        undo(principal, kind=Kind.PROCEDURAL, memory_id=tried)


def forget_one(principal: Principal, chance: random.Random) -> None:
    """Forget a fact with the words that it came from, unless the tenant has it by now and keeps it."""
    facts = Fact.objects.of(principal).order_by("-updated_at")
    fact = chance.choice(facts[:50]) if facts else None
    if fact is None or Fact.objects.filter(content_hash=fact.content_hash, scope=Scope.TENANT).exists():
        return
    with (Path(settings.MEMORYHUB_DATA_DIR) / FORGETTING).open("a") as log:
        log.write(f"{fact.pk.hex} {fact.text.rsplit(maxsplit=1)[-1]}\n")
    forget(principal, kind=Kind.SEMANTIC, memory_id=fact.pk, sources=True)


def collect_some(principal: Principal, chance: random.Random) -> None:
    """Store some facts that are to expire, and collect, always as late: what was evicted is not yet erased."""
    now = timezone.now()
    for _ in range(chance.randint(0, 3)):
        remember_fact(principal, text=f"Parks at {uuid.uuid4().hex}", expires_at=now + timedelta(hours=1))
    collect(apply=True, now=now + LATER)


def live(principal: Principal, seed: int) -> None:
    """One thing after another, for ever; what a service refuses is left."""
    chance = random.Random(seed)
    ways: list[Callable[[], object]] = [
        lambda: tell(principal, chance),
        lambda: consolidate(principal, extractor=Literal(chance), batch=BATCH),
        *[lambda: change(principal, chance)] * 5,
        lambda: collect_some(principal, chance),
        lambda: work(principal, chance),
        lambda: practise(principal, chance),
        lambda: forget_one(principal, chance),
    ]
    tell(principal, chance)
    while True:
        try:
            chance.choice(ways)()
        except (MemoriesError, LockTaken):
            continue
        finally:
            connections.close_all()


def main(seed: int) -> None:
    """Every member lives on a thread of their own; say so once all of them do."""
    EpisodeLedger.objects.update(leased_until=None, retry_at=None)
    for membership in Membership.objects.exclude(role=Role.ADMIN):
        change_role(membership, role=Role.ADMIN)
    members = Membership.objects.select_related("tenant", "user")
    people = [system_principal(membership) for membership in members.order_by("pk")]
    threads = [Thread(target=live, args=(person, seed + place), daemon=True) for place, person in enumerate(people)]
    for thread in threads:
        thread.start()
    sys.stdout.write("living\n")
    sys.stdout.flush()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(int(sys.argv[1]))
