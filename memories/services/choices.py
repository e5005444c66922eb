"""What a member decides about their own memory: pause it, switch recall off, keep topics out."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from memories.constants import MAX_TITLE_CHARACTERS
from memories.errors import InvalidInput
from memories.hygiene.sensitivity.detecting import holds_secrets
from memories.hygiene.text import clean_text
from memories.models import MemberChoices
from memories.selectors.policies import choices_of, lines_of
from memories.services.write import require_person, write
from tenants.principal import Principal

MAX_TOPICS = 50
# A topic with the terms that name it, as `services.screening.kept_out` reads it.
MAX_TOPIC_CHARACTERS = 4 * MAX_TITLE_CHARACTERS


def choose(
    principal: Principal,
    *,
    learns: bool | None = None,
    recalls: bool | None = None,
    never_topics: Sequence[str] | None = None,
) -> MemberChoices:
    """Change what is given. It holds for every write and recall that begins after the commit.

    What was said before a pause and not learned yet waits until memory is resumed. Raises Forbidden (an agent decides
    nothing), InvalidInput (`never_topics`).
    """
    require_person(principal)
    topics = None if never_topics is None else _checked(never_topics)
    with write(principal) as w:
        own = choices_of(principal)
        before = (own.learns, own.recalls, own.never_topics)
        own.learns = own.learns if learns is None else learns
        own.recalls = own.recalls if recalls is None else recalls
        own.never_topics = own.never_topics if topics is None else topics
        if before != (own.learns, own.recalls, own.never_topics):
            own.save()
            after = {"learns": own.learns, "recalls": own.recalls, "topics": len(lines_of(own.never_topics))}
            w.audit("member.memory_switched", target_kind="membership", target_id=principal.membership_id, after=after)
        return own


def _checked(topics: Sequence[str]) -> str:
    lines = lines_of("\n".join(topics))
    if len(lines) > MAX_TOPICS:
        raise InvalidInput(
            "never_topics",
            _("has %(count)s topics; at most %(max_topics)s are allowed.")
            % {"count": len(lines), "max_topics": MAX_TOPICS},
        )
    for line in lines:
        clean_text(line, field="never_topics", limit=MAX_TOPIC_CHARACTERS)
        if holds_secrets(line):
            raise InvalidInput("never_topics", _("holds a secret, such as a card number; name the topic instead."))
    return "\n".join(lines)
