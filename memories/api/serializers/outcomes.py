"""What is told of a playbook that was followed."""

from __future__ import annotations

from memories.api.fields import Identifier, Moment, Several, StrictSerializer, Text, Truth
from memories.constants import MAX_LINKS, MAX_MEMORY_CHARACTERS, MAX_STEPS, MAX_TITLE_CHARACTERS


class Outcome(StrictSerializer):
    """Whether it worked; `refined_steps` are the steps as they should have been."""

    success = Truth()
    refined_steps = Several(
        Text(limit=MAX_MEMORY_CHARACTERS), limit=MAX_STEPS, default=(), help_text="They make a new version."
    )
    supporting_episode_ids = Several(
        Identifier(), limit=MAX_LINKS, default=(), help_text="The words that say so; an episode counts once."
    )
    at = Moment(default=None, help_text="Default: now.")
    reason = Text(limit=MAX_TITLE_CHARACTERS, allow_blank=True, default="")
