"""What the grammar reads out of a message: facts as they would be stored, and changes to facts that are known.

Invariant: plain values; whoever reads them decides what they mean for a memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from memories.types import Contradiction


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact as it would be stored: short, without a subject. `ends` is what stopped being true, in their words.

    `quote` is the clause that says it. `moved` if the home changed with it, `corrects` if it contradicts what was said
    before, `beside` if it adds to what is known under its key and replaces nothing.
    """

    text: str
    key: str = ""
    category: str = ""
    ends: str = ""
    quote: str = field(default="", compare=False)
    moved: bool = field(default=False, compare=False)
    corrects: bool = field(default=False, compare=False)
    beside: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Correction:
    """Not `wrong` but `right`, of the thing that it is `about`, if that was named."""

    wrong: str
    right: str
    about: str = ""
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Shift:
    """What is known of `about` holds at another day or hour now."""

    about: str
    to: str
    quote: str = ""


@dataclass(frozen=True, slots=True)
class End:
    """Something stopped (natural) or never was (harsh). `what` names it as the user did; `how` says what it can be.

    `how`: any, home, work, left, owned, living (a pet by name), animal, habit, couple, marriage, health.
    """

    what: str
    how: str = "any"
    kind: Contradiction = Contradiction.NATURAL
    quote: str = ""


Change = Correction | Shift | End
