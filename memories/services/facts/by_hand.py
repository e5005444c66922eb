"""A fact that a member writes on a page, in the first person or as it is to stand."""

from __future__ import annotations

import uuid

from django.utils import timezone

from memories.consolidation.material import EpisodeText, Material, ProposedFact
from memories.consolidation.rules import marking, rules
from memories.services.facts.remember import remember_fact
from memories.services.write import require_person, write
from memories.types import WriteOutcome
from tenants.principal import Principal


def remember_by_hand(principal: Principal, *, text: str) -> tuple[WriteOutcome, ...]:
    """Store what a member states: the facts that the rule set reads in it, or else the text as it is; all or none.

    The text is kept as it is, too, if the rule set reads only a part of it. Raises as `remember_fact` does, and
    Forbidden (not the member in person).
    """
    require_person(principal)
    if not (read := _read(principal, text)):
        return (remember_fact(principal, text=text),)
    with write(principal):
        return tuple(
            remember_fact(principal, text=each.text, key=each.key, category=each.category, valid_from=each.valid_from)
            for each in read
        )


def stored_form(principal: Principal, text: str) -> str:
    """A fact written in the first person as it is stored; any other text as it is."""
    read = _read(principal, text)
    return read[0].text if len(read) == 1 else text


def _read(principal: Principal, text: str) -> list[ProposedFact]:
    """The facts that the rule set reads in a text; none if a distinctive word of it is in none of them."""
    if (known := rules()) is None:
        return []
    said = EpisodeText(uuid.uuid4(), 0, uuid.uuid4(), text, principal.speaker, own=True, happened_at=timezone.now())
    proposals = known.extractor().extract(Material(principal.speaker, (said,))).proposals
    facts = [each for each in proposals if isinstance(each, ProposedFact)]
    stated = frozenset[str]().union(*(marking(f"{each.text} {each.quote}") for each in facts))
    return facts if len(facts) == len(proposals) and marking(text) <= stated else []
