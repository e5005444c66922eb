"""Small pieces of sentences."""

from __future__ import annotations

from memories.errors import Conflict, InvalidInput


def counted(number: int, one: str, many: str = "") -> str:
    """Such as `1 memory`, `3 memories`; without `many` an s is added."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def sentence(words: str) -> str:
    """The words with a capital at the beginning."""
    return words[:1].upper() + words[1:]


def refusal(error: InvalidInput | Conflict, subject: str) -> str:
    """Why something was not taken, as a sentence about `subject`; a reason that is a sentence itself stays one."""
    if isinstance(error, Conflict):
        return str(error)
    is_predicate = error.reason.partition(" ")[0] in _VERBS
    return f"{subject} {error.reason}" if is_predicate else sentence(error.reason)


# How reasons of InvalidInput begin when they continue the name of the field.
_VERBS = frozenset({"has", "holds", "is", "lies", "must", "needs", "says"})
