"""The findings as a report, in JSON or in sentences. It never holds a secret or a text."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from typing import Any

from proof.attack import ATTACKS, NOBODY, Finding, Target
from proof.marks import Exposure
from proof.world import World


class Conclusion(IntEnum):
    """The result of a proof, and the exit code of the command."""

    CLEAN = 0
    LEAK = 1
    GUARD_BROKEN = 2
    UNPROVEN = 3


@dataclass(slots=True)
class Tally:
    """Attempts by attack, findings, and failures by attack and kind of error."""

    attempts: Counter[str] = field(default_factory=Counter)
    findings: Counter[Finding] = field(default_factory=Counter)
    failures: Counter[tuple[str, str]] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class FindingCount:
    """The same finding, so many times. Owners are (tenant id, user id or None for shared memories); None if unknown."""

    attack: str
    exposure: str
    attacker: tuple[str, str | None] | None
    owner: tuple[str, str | None] | None
    count: int


@dataclass(frozen=True, slots=True)
class Guard:
    """One of the two guards, attacked by itself."""

    name: str
    holds: bool
    attempts: int
    broken: int
    findings: tuple[FindingCount, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """`attacks` counts attempts by attack; `leaks` reached somebody; `limits` are known disclosures of a cluster.

    `failures` are attempts that could not be made, by attack and kind of error: they prove nothing.
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
    interrupted: bool

    @property
    def leaked(self) -> int:
        """How often something of another owner reached somebody."""
        return sum(leak.count for leak in self.leaks)

    @property
    def conclusion(self) -> Conclusion:
        """A leak weighs most, then a broken guard, then attempts that proved nothing."""
        if self.leaks:
            return Conclusion.LEAK
        if not all(guard.holds for guard in self.guards):
            return Conclusion.GUARD_BROKEN
        return Conclusion.UNPROVEN if self.failures or self.interrupted else Conclusion.CLEAN

    def as_json(self) -> dict[str, Any]:
        """The report as plain values."""
        return {"verdict": self.conclusion.name.lower().replace("_", " "), "leaked": self.leaked, **asdict(self)}

    def sentences(self) -> Iterator[str]:
        """The report for people."""
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
        yield "The proof erased all it made but its events in the audit log, which are never erased (see verify_audit)."
        yield f"{'Interrupted. ' if self.interrupted else ''}{_SENTENCES[self.conclusion]}"


_SENTENCES = {
    Conclusion.CLEAN: "No leak. Both guards hold.",
    Conclusion.LEAK: "LEAKS: something of one owner reached another. Do not go live.",
    Conclusion.GUARD_BROKEN: "No leak, but one guard is broken and only the other prevents one. Do not go live.",
    Conclusion.UNPROVEN: "No leak was found, but some attempts could not be made and prove nothing.",
}


def leaks_and_guards(world: World, tally: Tally) -> tuple[tuple[FindingCount, ...], tuple[Guard, ...]]:
    """The findings, as leaks and by guard.

    A watcher's answers move only if the search plane mixes owners. So a movement counts for the search guard if that is
    found broken by itself, and as a leak of the product if it is not.
    """
    found: dict[Target, list[tuple[Finding, int]]] = {target: [] for target in Target}
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
        for target in (Target.SEARCH_GUARD, Target.DATABASE_GUARD)
    )
    return _counted(world, found[Target.PRODUCT]), guards


def limits(tally: Tally) -> dict[str, int]:
    """How often each known limit of the cluster disclosed something."""
    counts = {name: 0 for name in tally.attempts if ATTACKS[name].tests is Target.LIMIT}
    for finding, count in tally.findings.items():
        if finding.attack in counts:
            counts[finding.attack] += count
    return counts


def _counted(world: World, findings: list[tuple[Finding, int]]) -> tuple[FindingCount, ...]:
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
    """A sentence for each attack and exposure, with the first pair of owners; the JSON has all pairs."""
    grouped: dict[tuple[str, str], list[FindingCount]] = defaultdict(list)
    for each in counts:
        grouped[each.attack, each.exposure].append(each)
    for (attack, exposure), same in grouped.items():
        count, attacker, owner = sum(each.count for each in same), _called(same[0].attacker), _called(same[0].owner)
        pairs = f" ({len(same):,} pairs of owners)" if len(same) > 1 else ""
        yield f"{mark}{attack}: {exposure}, {count:,} times{pairs}; attacker {attacker}, owner {owner}."


def _called(owner: tuple[str, str | None] | None) -> str:
    return "unknown" if owner is None else f"{owner[1] or 'shared'} in {owner[0]}"
