"""The page of one memory: its columns, source, uses and history, and its state in the index."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from memories.models import Episode, Fact, Playbook
from memories.presenting.lines import did, ending_of
from memories.presenting.memory import details_of
from memories.presenting.reasons import reason_words
from memories.selectors.history.stories import event_reason, supporting_episodes
from memories.selectors.memories import Memory, chain_of, find_memory, has_original, history_of, is_shared
from memories.selectors.reviews import review_about
from memories.selectors.runs import read_by
from memories.selectors.staff.conversations import MOST_LINKED, learned_from, uses_of
from memories.selectors.staff.index_state import IndexStanding, index_state_of
from memories.services.admin_requests import READINGS, note_refresh
from memories.staff.base import LiveMemberView
from memories.types import Kind
from memoryhub.languages import gettext_lazy, number
from tenants.audit.sentences import actor_names

USES_SHOWN = 10
MOST_EVENTS = 200
_NOUNS = {
    Kind.EPISODIC: gettext_lazy("event"),
    Kind.SEMANTIC: gettext_lazy("fact"),
    Kind.PROCEDURAL: gettext_lazy("how-to"),
    Kind.CATALOG: gettext_lazy("shared entry"),
}
# Columns that the page shows elsewhere.
_ELSEWHERE = frozenset({"text", "title", "trigger", "steps", "context", "source_url"})
# The tone and the sentence of each index state.
_INDEX_STATES = {
    IndexStanding.SAME: ("success", gettext_lazy("The member's search finds it as it is stored.")),
    IndexStanding.ON_ITS_WAY: (
        "warning", gettext_lazy("The latest change is on its way to the index; until then the database answers.")
    ),
    IndexStanding.BEHIND: (
        "danger", gettext_lazy("The index has an older state, and nothing is on its way. `index check` tells more.")
    ),
    IndexStanding.ABSENT: ("danger", gettext_lazy("The member's search does not find it, and nothing is on its way.")),
    IndexStanding.HIDDEN: ("success", gettext_lazy("It was evicted, and the index does not have it any more.")),
    IndexStanding.MISSING_PART: ("warning", gettext_lazy(
        "This part of the index is missing; the next recall rebuilds"
        " it."
    )),
    IndexStanding.NO_KEY: ("danger", gettext_lazy("The member's own key shows nothing.")),
    IndexStanding.DOWN: ("warning", gettext_lazy("The search plane does not answer now.")),
}  # fmt: skip


class RecordPage(LiveMemberView):
    """The page of one memory of any kind; the id of another member's memory gives a 404."""

    tab = "inspector"
    template_name = "admin/memories/member/record.html"
    part_template = "admin/memories/member/_record.html"

    def get(self, request: HttpRequest, memory_id: UUID) -> HttpResponse:
        self.memory: Memory = find_memory(self.principal, memory_id)
        self.title = capfirst(_NOUNS[self.memory.kind])
        target = {"target_kind": self.memory.kind.value, "target_id": memory_id}
        if self.live:
            note_refresh(self.principal, "record", **target)  # type: ignore[arg-type]  # a kind and an id
        else:
            self.note("record", **target)  # type: ignore[arg-type]  # likewise
        return super().get(request)

    def live_url(self) -> str:
        return self.url("record_live", self.memory.pk)

    def get_part(self) -> Mapping[str, Any]:
        memory = self.memory
        (view,) = self.counted_views([memory])
        uses, more = uses_of(self.principal, memory.pk, limit=USES_SHOWN)
        index = index_state_of(self.principal, memory)
        learned = learned_from(self.principal, memory) if isinstance(memory, Episode) else ()
        chained = isinstance(memory, Fact | Playbook)
        behind = supporting_episodes(self.principal, [memory.pk], memory.kind).get(memory.pk, ()) if chained else ()
        tone, sentence = _INDEX_STATES[index.standing]
        return {
            "row": view,
            "noun": _NOUNS[memory.kind],
            "quotes": self.counted_views(behind[:MOST_LINKED]),
            "learned": self.counted_views(learned),
            "reading": self._reading(memory) if isinstance(memory, Episode) and not learned else None,
            "uses": uses,
            "more_uses": more,
            "details": details_of(memory, staff=True),
            "states": self._states(memory),
            "events": () if is_shared(memory) else self._events(memory.pk),
            "review": review_about(self.principal, memory.pk),
            "has_original": has_original(self.principal, memory.pk),
            "index": index,
            "index_tone": tone,
            "index_sentence": f"{sentence} {index.refusal}".strip(),
            "columns": tuple(_columns(memory)),
        }

    def _states(self, memory: Memory) -> list[dict[str, Any]]:
        """The states of the chain, newest first; empty for kinds that are never superseded."""
        return [
            {"memory": self.view(row), "here": row.pk == memory.pk, "ending": ending_of(row)}
            for row in reversed(chain_of(self.principal, memory.kind, memory.pk))
        ]

    def _reading(self, episode: Episode) -> dict[str, Any] | None:
        """The consolidation run that read an event, and whether it learned anything from it; None if no run did."""
        run = read_by(self.principal, episode)
        if run is None:
            return None
        learned = any(line["memory_id"] and str(episode.pk) in line["episode_ids"] for line in run.decisions)
        return {"url": self.url("run", run.pk), "learned": learned}

    def _events(self, memory_id: UUID) -> list[dict[str, Any]]:
        """The audit events on the memory, latest first.

        Consecutive reads by one person are merged into one entry and counted in `times`.
        """
        events = list(history_of(self.principal, [memory_id]).order_by("-sequence")[:MOST_EVENTS])
        names = actor_names(self.member.tenant_id, events)
        logged: list[dict[str, Any]] = []
        for event in events:
            who = names.who(event)
            sentence = f"{capfirst(who)} {did(event.action)}"
            look = event.action in READINGS
            if logged and look and logged[-1]["sentence"] == sentence:
                logged[-1] |= {"times": logged[-1]["times"] + 1, "sequence": event.sequence}
                continue
            place = {"at": event.created_at, "sequence": event.sequence, "look": look, "times": 1}
            logged.append({"sentence": sentence, "reason": reason_words(event_reason(event)), **place})
        return logged


def _columns(memory: Memory) -> Iterator[tuple[str, str]]:
    """The name and stored value of every column that the page does not show elsewhere."""
    for column in memory._meta.concrete_fields:
        if column.name not in _ELSEWHERE:
            yield column.name.replace("_", " "), _stored(getattr(memory, column.attname))


def _stored(value: object) -> str:
    """Format a stored value; of binary values only the length."""
    if value is None or value == "":
        return _("none")
    if isinstance(value, bytes | memoryview):
        return _("%(count)s bytes") % {"count": number(len(value))}
    if isinstance(value, datetime):
        return f"{timezone.localtime(value):%Y-%m-%d %H:%M:%S %Z}"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)
