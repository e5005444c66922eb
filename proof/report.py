"""The report of a proof, as JSON or sentences. It holds no secret and no text of a memory."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from typing import Any

from django.db import connection

from proof.attack import ATTACKS, NOBODY, AttackFinding, Target
from proof.marks import Exposure
from proof.world import World


class Conclusion(IntEnum):
    """The result of a proof; also the exit code."""

    CLEAN = 0
    LEAK = 1
    GUARD_BROKEN = 2
    UNPROVEN = 3


@dataclass(slots=True)
class Tally:
    """Counts of attempts by attack, of findings, and of failures by attack and kind of error.

    `repeated` counts attempts that were made again because a busy server had not answered.
    """

    attempts: Counter[str] = field(default_factory=Counter)
    findings: Counter[AttackFinding] = field(default_factory=Counter)
    failures: Counter[tuple[str, str]] = field(default_factory=Counter)
    repeated: int = 0


@dataclass(frozen=True, slots=True)
class FindingCount:
    """A finding and its count. Owners are (tenant id, user id; None for shared memories), or None if unknown."""

    attack: str
    exposure: str
    attacker: tuple[str, str | None] | None
    owner: tuple[str, str | None] | None
    count: int


@dataclass(frozen=True, slots=True)
class Guard:
    """The result of attacks on one guard."""

    name: str
    holds: bool
    attempts: int
    broken: int
    findings: tuple[FindingCount, ...]


@dataclass(frozen=True, slots=True)
class ProofReport:
    """The result of a proof.

    `attacks` counts attempts; `leaks` reached a user; `limits` are Elasticsearch's known ones.

    `failures` counts attempts that could not be made, by attack and kind of error: they prove nothing. `repeated`
    counts attempts that were made again because a busy database or cluster had not answered.
    """

    plane: str
    database: str
    versions: Mapping[str, str]
    seed: int
    concurrency: int
    attempts: int
    seconds: float
    owners: int
    attacks: Mapping[str, int]
    leaks: tuple[FindingCount, ...]
    guards: tuple[Guard, ...]
    limits: Mapping[str, int]
    failures: Mapping[str, int]
    repeated: int
    interrupted: bool

    @property
    def leaked(self) -> int:
        """The number of answers that leaked another owner's data."""
        return sum(leak.count for leak in self.leaks)

    @property
    def conclusion(self) -> Conclusion:
        """The most severe result: a leak, then a broken guard, then failed attempts."""
        if self.leaks:
            return Conclusion.LEAK
        if not all(guard.holds for guard in self.guards):
            return Conclusion.GUARD_BROKEN
        return Conclusion.UNPROVEN if self.failures or self.interrupted else Conclusion.CLEAN

    def as_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {"verdict": self.conclusion.name.lower().replace("_", " "), "leaked": self.leaked, **asdict(self)}

    def sentences(self) -> Iterator[str]:
        """The report as lines of text."""
        count = len(self.attacks)
        yield f"{self.attempts:,} attempts at {count} attacks by {self.owners} owners, {self.seconds:.0f} s."
        yield f"Search plane: {self.plane}. Database: {self.database}. Seed: {self.seed}."
        yield from _summed(self.leaks, "LEAK: ")
        for guard in self.guards:
            state = "holds" if guard.holds else f"BROKEN ({guard.broken:,} findings)"
            yield f"Guard {guard.name}: {state}, {guard.attempts:,} attempts."
            yield from _summed(guard.findings, "  ")
        for name, count in self.limits.items():
            yield f"Known {name}: {count:,} times."
        for failure, count in self.failures.items():
            yield f"NOT PROVEN ({count:,}): {failure}."
        if self.repeated:
            yield f"Made again because a server was busy: {self.repeated:,} attempts."
        yield "The proof erased all it made but its events in the audit log, which are never erased (see verify_audit)."
        yield f"{'Interrupted. ' if self.interrupted else ''}{_SENTENCES[self.conclusion]}"


_SENTENCES = {
    Conclusion.CLEAN: "No leak. All guards hold.",
    Conclusion.LEAK: "LEAKS: something of one owner reached another. Do not go live.",
    Conclusion.GUARD_BROKEN: "No leak, but a guard is broken and only the others prevent one. Do not go live.",
    Conclusion.UNPROVEN: "No leak was found, but some attempts could not be made and prove nothing.",
}


def leaks_and_guards(world: World, tally: Tally) -> tuple[tuple[FindingCount, ...], tuple[Guard, ...]]:
    """Sort the findings into leaks and broken guards.

    A watcher's answers move only if the search plane mixes owners. Moved scores therefore count for the search guard if
    attacks on it found more, and as a leak if not.
    """
    found: dict[Target, list[tuple[AttackFinding, int]]] = {target: [] for target in Target}
    for finding, count in sorted(tally.findings.items()):
        target = ATTACKS[finding.attack].tests if finding.attack in ATTACKS else Target.PRODUCT
        found[target].append((finding, count))
    if found[Target.SEARCH_GUARD]:
        moved = [each for each in found[Target.PRODUCT] if each[0].exposure is Exposure.MOVED]
        found[Target.SEARCH_GUARD] += moved
        found[Target.PRODUCT] = [each for each in found[Target.PRODUCT] if each not in moved]
    guards = tuple(
        Guard(
            name=target.value,
            holds=not found[target],
            attempts=sum(count for name, count in tally.attempts.items() if ATTACKS[name].tests is target),
            broken=sum(count for _, count in found[target]),
            findings=_counted(world, found[target]),
        )
        for target in (Target.SEARCH_GUARD, Target.DATABASE_GUARD, Target.ROW_GUARD)
        if target is not Target.ROW_GUARD or connection.vendor == "postgresql"
    )
    return _counted(world, found[Target.PRODUCT]), guards


def limits(tally: Tally) -> dict[str, int]:
    """How often each known limit of Elasticsearch disclosed something."""
    counts = {name: 0 for name in tally.attempts if ATTACKS[name].tests is Target.LIMIT}
    for finding, count in tally.findings.items():
        if finding.attack in counts:
            counts[finding.attack] += count
    return counts


def _counted(world: World, findings: list[tuple[AttackFinding, int]]) -> tuple[FindingCount, ...]:
    def ids(number: int) -> tuple[str, str | None] | None:
        if number == NOBODY:
            return None
        tenant_id, user_id = world.ids_of(number)
        return str(tenant_id), str(user_id) if user_id else None

    return tuple(
        FindingCount(each.attack, each.exposure.value, ids(each.attacker), ids(each.owner), count)
        for each, count in findings
    )


def _summed(counts: Sequence[FindingCount], mark: str) -> Iterator[str]:
    """A line per attack and exposure, with the first pair of owners; the JSON report has all pairs."""
    grouped: dict[tuple[str, str], list[FindingCount]] = defaultdict(list)
    for each in counts:
        grouped[each.attack, each.exposure].append(each)
    for (attack, exposure), same in grouped.items():
        count, attacker, owner = sum(each.count for each in same), _called(same[0].attacker), _called(same[0].owner)
        pairs = f" ({len(same):,} pairs of owners)" if len(same) > 1 else ""
        yield f"{mark}{attack}: {exposure}, {count:,} times{pairs}; attacker {attacker}, owner {owner}."


def _called(owner: tuple[str, str | None] | None) -> str:
    return "unknown" if owner is None else f"{owner[1] or 'shared'} in {owner[0]}"
