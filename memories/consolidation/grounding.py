"""Whether the user's own words of one turn say what an agent would store or end. Pure; in doubt they do not.

Questions and pasted text say nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from memories.consolidation.material import EpisodeText, KnownFact, Material, ProposedEnd, ProposedFact
from memories.consolidation.planner import repeats, stated_in, ungrounded
from memories.consolidation.rules import marking, own_words, rules


def states(text: str, own: str) -> bool:
    """Whether `own` states `text`: most of its words, and all of its names and numbers."""
    said = own_words(own)
    fact = ProposedFact(text, ())
    return not repeats(text, own=said, quote="") and not ungrounded(fact, own=[said], assistant=(), known=())


def names(text: str, own: str) -> bool:
    """Whether a statement of `own` names the memory `text` by one of its distinctive words."""
    return bool(marking(text) & marking(stated_in(own_words(own))))


def mentions(text: str, own: str) -> bool:
    """Whether `own`, which may be a question or a request, holds a distinctive word of the memory `text`."""
    return bool(marking(text) & marking(own_words(own)))


def ended_by(own: str, facts: Sequence[KnownFact], *, before: str, at: datetime) -> frozenset[UUID]:
    """The facts that `own` ends by the rule set, such as the landlord of a home that was left; none without one.

    `before` is the assistant's preceding answer, which "that" and "there" refer to.
    """
    known = rules()
    if known is None or not facts:
        return frozenset()
    said = EpisodeText(uuid.uuid4(), 1, uuid.uuid4(), own_words(own), "", own=True, happened_at=at, before=before)
    proposals = known.extractor().extract(Material("", (said,), tuple(facts))).proposals
    ended = [each.supersedes for each in proposals if isinstance(each, ProposedFact)]
    ended += [each.fact_ids for each in proposals if isinstance(each, ProposedEnd)]
    return frozenset(pk for ids in ended for pk in ids)
