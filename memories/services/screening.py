"""Screening: every text is scanned for sensitive values before it is stored.

A memory with a blocked value is refused (`Blocked`); a conversation is stored with the value masked. A blocked value is
in nothing that a `Screen` returns, raises or records.

A suspicious value of no known form goes to a model, if one is configured for that: its shape only, never under a lock.
Without an answer it stays suspicious and is handled as the tenant decided.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db import transaction

from memories.constants import MAX_TITLE_CHARACTERS
from memories.errors import Blocked, Spot
from memories.hygiene.sensitivity.classifier import Classified, confirmed, is_asked, question
from memories.hygiene.sensitivity.detecting import scan_named
from memories.hygiene.sensitivity.findings import Finding, Judged, judged
from memories.hygiene.text import clean_text
from memories.llm import classifier_endpoint
from memories.llm.base import ModelFault
from memories.selectors.policies import Policy, policy_of
from memories.services.write import Write, current_write, write
from memories.types import Handling, Kind
from tenants.principal import Principal, Right

log = logging.getLogger(__name__)


def classified(text: str, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """`findings` with what is suspicious found to be a secret, or none; as they are where nobody can tell."""
    if not is_asked(findings) or transaction.get_connection().in_atomic_block:
        return tuple(findings)
    model = classifier_endpoint()
    if model is None:
        return tuple(findings)
    try:
        answer = model.ask(question(text, findings), Classified, name="classification")
    except ModelFault as fault:
        log.warning("A suspicious text was not classified: %s", fault.message)
        return tuple(findings)
    return confirmed(findings, answer.value)


# The fields that may name what the text beside them is: a key such as `wifi_password`.
_NAMES = ("key", "title")
# No number that must not be stored has fewer digits.
_SHORTEST_NUMBER = 10**7


@dataclass(frozen=True, slots=True)
class Said:
    """Words of a conversation as they are stored; `original` is None if nothing was masked."""

    text: str
    marks: Mapping[str, str] = field(default_factory=dict)
    original: str | None = field(default=None, repr=False)

    @property
    def masked(self) -> tuple[str, ...]:
        """The kinds that were taken out, by name."""
        return masked_kinds(self.marks)


class Screen:
    """Looks through the words of one write, as the policy of the principal's tenant wants it."""

    def __init__(self, principal: Principal) -> None:
        principal.require(Right.WRITE)
        self._principal = principal
        self._judged: dict[tuple[str, tuple[str, ...]], Judged] = {}

    @cached_property
    def policy(self) -> Policy:
        """What the tenant decided."""
        w = current_write(self._principal)
        return w.policy if w else policy_of(self._principal.tenant_id)

    def judge(self, text: str, names: Iterable[str] = ()) -> Judged:
        """What becomes of `text`, which `names` name; the policy is asked for only where something was found.

        The same words are looked through once: what was asked of a model before the lock is known under it.
        """
        asked = (text, tuple(names))
        if asked not in self._judged:
            findings = classified(text, scan_named(*asked))
            self._judged[asked] = (
                judged(text, findings, self.policy.handling) if findings else Judged(text, {}, (), masked=False)
            )
        return self._judged[asked]

    def memory(self, fields: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
        """The words of a memory as they may be stored, and its marks. Raises Blocked, and notes that it did."""
        stored: dict[str, str] = {}
        marks: dict[str, str] = {}
        spots: list[Spot] = []
        for name, text in fields.items():
            found = self.judge(text, names_of(name, fields))
            stored[name] = found.text
            marks = joined(marks, found.marks)
            spots += [Spot(name, each.kind, each.start, each.end) for each in found.blocked]
        if spots:
            blocked = Blocked(tuple(spots))
            with write(self._principal) as w:
                w.blocked(blocked)
            raise blocked
        return stored, marks

    def said(self, text: str) -> Said:
        """A text of a conversation, with blocked and masked values masked."""
        found = self.judge(text)
        return Said(found.text, found.marks, text if found.masked else None)

    def arguments(self, value: Any, names: Iterable[str] = ()) -> Any:
        """JSON with every text in it masked, keys as well."""
        if isinstance(value, str):
            return self.judge(value, names).text
        if isinstance(value, Mapping):
            return {
                self.judge(str(key)).text: self.arguments(inner, (str(key), *names_of(str(key), value)))
                for key, inner in value.items()
            }
        if isinstance(value, Sequence):
            return [self.arguments(inner) for inner in value]
        if isinstance(value, int | float) and abs(value) >= _SHORTEST_NUMBER:
            found = self.judge(str(value))
            return found.text if found.masked else value
        return value


def names_of(name: str, fields: Mapping[str, Any]) -> list[str]:
    """Names among `fields` that identify the content of the field `name`."""
    return [told for field in _NAMES if isinstance(told := fields.get(field), str)] if name == "text" else []


def screened_reason(principal: Principal, reason: str) -> str:
    """A given reason in storable form. Raises InvalidInput, Blocked."""
    clean_text(reason, field="reason", limit=MAX_TITLE_CHARACTERS, required=False)
    words, _ = Screen(principal).memory({"reason": reason})
    return words["reason"]


def note_masked(w: Write, marks: Mapping[UUID, Mapping[str, str]], *, kind: Kind) -> None:
    """Record which kinds of values were masked in which memories."""
    for memory_id, each in marks.items():
        if kinds := masked_kinds(each):
            w.audit("memory.masked", target_kind=kind.value, target_id=memory_id, after={"kinds": list(kinds)})


def masked_kinds(marks: Mapping[str, str]) -> tuple[str, ...]:
    """The kinds that were taken out, by name."""
    return tuple(kind for kind, becomes in marks.items() if becomes == Handling.MASK)


def joined(*marks: Mapping[str, str]) -> dict[str, str]:
    """The marks of several texts of one memory; a kind that was masked in one counts as masked."""
    found: dict[str, str] = {}
    for each in marks:
        found |= {kind: becomes for kind, becomes in each.items() if found.get(kind) != Handling.MASK}
    return found
