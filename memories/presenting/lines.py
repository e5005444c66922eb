"""What stands for a memory in a list, and for the part that memories had in a turn: one line each."""

from __future__ import annotations

from memories.models import CatalogEntry, Playbook, Relation
from memories.selectors.memories import Memory
from memories.selectors.sessions import TurnView

# What changed comes before what was merely read.
RELATIONS: tuple[tuple[Relation, str, str], ...] = (
    (Relation.WROTE, "Wrote", "wrote"),
    (Relation.REPLACED, "Replaced", "replaced"),
    (Relation.CONFIRMED, "Knew already", "confirmed"),
    (Relation.FORGOT, "Forgot", "forgot"),
    (Relation.RECALLED, "Used", "used"),
)
# What ended in a turn that wrote nothing was replaced by nothing.
_ENDED = ("Ended", "ended")
_ORDER_IN_LINE = (Relation.RECALLED, Relation.WROTE, Relation.REPLACED, Relation.CONFIRMED, Relation.FORGOT)


def headline(row: Memory) -> str:
    """The words that stand for a memory in a list."""
    return row.title if isinstance(row, Playbook | CatalogEntry) else row.text


def usage_of(view: TurnView, *, recalled: str = "used") -> tuple[str, ...]:
    """Such as ("used 4", "wrote 1", "replaced 1"); empty when no memory had a part in the turn.

    `recalled` is the verb for what came up: to a member that was used; staff also see what of it the answer took up.
    """
    counts = {relation: len(view.having(relation)) for relation in _ORDER_IN_LINE}
    verbs = {Relation.RECALLED: recalled}
    return tuple(
        f"{verbs.get(relation) or words_of(view, relation)[1]} {count}" for relation, count in counts.items() if count
    )


def words_of(view: TurnView, relation: Relation) -> tuple[str, str]:
    """The title of what had this relation to a turn, and the verb in the line."""
    if relation is Relation.REPLACED and not view.having(Relation.WROTE) and not view.having(Relation.CONFIRMED):
        return _ENDED
    return next((title, verb) for each, title, verb in RELATIONS if each is relation)
