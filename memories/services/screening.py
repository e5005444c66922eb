"""Screening: every text is scanned for sensitive values before it is stored.

A memory with a blocked value is refused (`Blocked`); a conversation is stored with the value masked. A `Screen` never
returns, raises or records a blocked value.

A suspicious value of unknown format is sent to the configured classifier model, as its shape only and never under a
lock. Without an answer it stays suspicious and is handled by the tenant's policy.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from memories.attributes.metadata import Path, checked_metadata, keys_in, values_in, with_values
from memories.consolidation.rules import content_words
from memories.constants import MAX_TITLE_CHARACTERS
from memories.errors import Blocked, InvalidInput, Spot
from memories.hygiene.sensitivity.classifier import Classified, confirmed, is_asked, question
from memories.hygiene.sensitivity.detecting import scan_named
from memories.hygiene.sensitivity.findings import Finding, Judged, judged
from memories.hygiene.text import clean_text
from memories.llm import classifier_endpoint
from memories.llm.base import ModelFault
from memories.selectors.policies import Policy, policy_for
from memories.services.write import Write, current_write, write
from memories.types import Handling, Kind, SensitiveKind
from memories.words import words
from tenants.principal import Principal, Right

log = logging.getLogger(__name__)


def classified(text: str, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """`findings` with each suspicious value resolved by the model; unchanged without a model or in a transaction."""
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


# Fields that may name the content of the text beside them, for example a key `wifi_password`.
_NAMES = ("key", "title")
# Sensitive numbers have at least eight digits.
_SHORTEST_NUMBER = 10**7


@dataclass(frozen=True, slots=True)
class Said:
    """A conversation's text as stored; `original` is None if nothing was masked."""

    text: str
    marks: Mapping[str, str] = field(default_factory=dict)
    original: str | None = field(default=None, repr=False)

    @property
    def masked(self) -> tuple[str, ...]:
        """The names of the kinds that were masked."""
        return masked_kinds(self.marks)


class Screen:
    """Screens the texts of one write by the policy of the principal's tenant."""

    def __init__(self, principal: Principal) -> None:
        principal.require(Right.WRITE)
        self._principal = principal
        self._judged: dict[tuple[str, tuple[str, ...]], Judged] = {}

    @cached_property
    def policy(self) -> Policy:
        """The policy for the member, in the app that the principal acts in."""
        w = current_write(self._principal)
        policy = w.policy if w else policy_for(self._principal)
        return policy.in_app(self._principal.app)

    def judge(self, text: str, names: Iterable[str] = ()) -> Judged:
        """The handling of `text`, whose content `names` describe. The policy is loaded only if something was found.

        Results are cached, so a value that the model judged before the lock is known under it.
        """
        asked = (text, tuple(names))
        if asked not in self._judged:
            findings = classified(text, scan_named(*asked))
            self._judged[asked] = (
                judged(text, findings, self.policy.handling) if findings else Judged(text, {}, (), masked=False)
            )
        return self._judged[asked]

    def memory(self, fields: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
        """The fields of a memory as they may be stored, and its marks. Raises Blocked after recording the refusal."""
        stored: dict[str, str] = {}
        marks: dict[str, str] = {}
        spots: list[Spot] = []
        for name, text in fields.items():
            found = self.judge(text, names_of(name, fields))
            stored[name] = found.text
            marks = joined(marks, found.marks)
            spots += [Spot(name, each.kind, each.start, each.end) for each in found.blocked]
        self.refuse(spots)
        return stored, marks

    def refuse(self, spots: Sequence[Spot]) -> None:
        """Record a refusal and raise Blocked if there are `spots`."""
        if spots:
            blocked = Blocked(tuple(spots))
            with write(self._principal) as w:
                w.blocked(blocked)
            raise blocked

    def metadata(self, value: Mapping[str, Any], *, said: bool = False) -> tuple[dict[str, Any], dict[str, str]]:
        """Metadata as it may be stored, and its marks; a value is read with its key.

        `said`: it belongs to a conversation, so blocked values are masked. Raises InvalidInput, and Blocked otherwise.
        """
        try:
            checked_metadata(value)
        except InvalidInput as error:
            raise InvalidInput(self.judge(error.field).text, error.reason) from None
        masked: dict[Path, str] = {}
        marks: dict[str, str] = {}
        spots: list[Spot] = []
        for path, key in keys_in(value):
            if self.judge(key).masked or self.judge(key).blocked:
                raise InvalidInput(
                    ".".join(path), _("has a key with a sensitive value; put the value under another key.")
                )
        for path, word in values_in(value):
            if isinstance(word, int | float) and abs(word) < _SHORTEST_NUMBER:
                continue
            found = self.judge(str(word), path[-1:])
            if not said:
                spots += [Spot(".".join(path), each.kind, each.start, each.end) for each in found.blocked]
            marks = joined(marks, found.marks)
            if found.masked:
                masked[path] = found.text
        self.refuse(spots)
        return with_values(value, masked), marks

    def unchanged(self, value: Any, *, field: str, name: str = "") -> dict[str, str]:
        """The marks of a JSON value that is stored exactly as it is, or not at all; `name` says what it is.

        Raises Blocked also for what the policy masks, and InvalidInput for a name inside the value that holds such.
        """
        marks: dict[str, str] = {}
        spots: list[Spot] = []
        for path, key in keys_in(value, (field,)):
            if self.judge(key).masked:
                raise InvalidInput(
                    _place(path), _("has a key with a sensitive value; put the value under another key.")
                )
        for path, word in values_in(value, (field,)):
            if isinstance(word, int | float) and abs(word) < _SHORTEST_NUMBER:
                continue
            found = self.judge(str(word), path[1:][-1:] or (name,))
            marks = joined(marks, found.marks)
            blocked = [Spot(_place(path), each.kind, each.start, each.end) for each in found.blocked]
            masked = {*masked_kinds(found.marks)} - {spot.kind.value for spot in blocked}
            spots += blocked
            spots += [Spot(_place(path), SensitiveKind(kind), 0, len(str(word))) for kind in sorted(masked)]
        self.refuse(spots)
        return marks

    def said(self, text: str) -> Said:
        """A text of a conversation, with blocked and masked values masked."""
        found = self.judge(text)
        return Said(found.text, found.marks, text if found.masked else None)

    def arguments(self, value: Any, names: Iterable[str] = ()) -> Any:
        """A JSON value with every text masked, member names included."""
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


def _place(path: Path) -> str:
    return ".".join(path)[:MAX_TITLE_CHARACTERS]


def names_of(name: str, fields: Mapping[str, Any]) -> list[str]:
    """The values of name fields that describe the content of the field `name`."""
    return [told for field in _NAMES if isinstance(told := fields.get(field), str)] if name == "text" else []


class QuietScreen(Screen):
    """A screen that records no refusals: whoever screens many texts before a write records them together."""

    def refuse(self, spots: Sequence[Spot]) -> None:
        """Raise Blocked if there are `spots`."""
        if spots:
            raise Blocked(tuple(spots))


# The fields of a memory that say nothing of its subject.
_NOT_SUBJECT = ("reason", "task")
KEPT_OUT = gettext_noop("speaks of “{}”, which the member or their organisation keeps out of memory; say it without.")


def kept_out(policy: Policy, *texts: str) -> str:
    """The first of the policy's words, phrases and topics that a text holds; empty if none.

    Case does not matter. A phrase matches as written, a single word also inflected. A topic matches where all its
    words occur, inflected and in any order, or all words of a term after its colon ("health: doctor, back pain").
    """
    told = [content_words(text) for text in texts] if policy.never_words or policy.never_topics else []
    for phrase in policy.never_words:
        asked = words(phrase)
        base = content_words(phrase) if len(asked) == 1 else frozenset()
        for text, bases in zip(texts, told, strict=True):
            if f" {' '.join(asked)} " in f" {' '.join(words(text))} " or (base and base <= bases):
                return phrase
    for topic in policy.never_topics:
        name, __, terms = topic.partition(":")
        asked_for = [base for term in (name, *terms.split(",")) if (base := content_words(term))]
        if any(base <= bases for base in asked_for for bases in told):
            return name.strip()
    return ""


def refuse_kept_out(policy: Policy, fields: Mapping[str, str]) -> None:
    """Raise InvalidInput naming the field of a memory whose subject the policy keeps out, and what keeps it out."""
    for name, text in fields.items():
        if name not in _NOT_SUBJECT and (entry := kept_out(policy, text)):
            raise InvalidInput(name, _(KEPT_OUT).format(entry))


def screened_reason(principal: Principal, reason: str) -> str:
    """Validate and screen a reason. Raises InvalidInput, Blocked."""
    clean_text(reason, field="reason", limit=MAX_TITLE_CHARACTERS, required=False)
    words, __ = Screen(principal).memory({"reason": reason})
    return words["reason"]


def note_masked(w: Write, marks: Mapping[UUID, Mapping[str, str]], *, kind: Kind) -> None:
    """Audit the kinds of values that were masked in each memory."""
    for memory_id, each in marks.items():
        if kinds := masked_kinds(each):
            w.audit("memory.masked", target_kind=kind.value, target_id=memory_id, after={"kinds": list(kinds)})


def masked_kinds(marks: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the kinds that were masked."""
    return tuple(kind for kind, becomes in marks.items() if becomes == Handling.MASK)


def joined(*marks: Mapping[str, str]) -> dict[str, str]:
    """Combine the marks of a memory's texts; a kind masked in one text counts as masked."""
    found: dict[str, str] = {}
    for each in marks:
        found |= {kind: becomes for kind, becomes in each.items() if found.get(kind) != Handling.MASK}
    return found
