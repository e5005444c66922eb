"""Classifying: what is suspicious and of no known form is put before a model, where one is configured for that.

Invariant: the model is given shapes, never a value, and is never waited for while a lock is held. Without its answer
the text stays suspicious, and is handled as the tenant decided.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from django.db import transaction

from memories.hygiene.sensitivity.classifier import Classified, confirmed, is_asked, question
from memories.hygiene.sensitivity.findings import Finding
from memories.llm import classifier_endpoint
from memories.llm.base import ModelFault

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
