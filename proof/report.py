"""What the proof found: values, and the same as JSON or as sentences. Never a secret or a text of anybody."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any

from proof.attempt import ATTACKS, NOBODY, Finding, Target
from proof.marks import Told
from proof.residents import World
from proof.running import Tally


class Verdict(IntEnum):
    """What the report comes to; also the exit code of the command."""

    CLEAN = 0
    LEAK = 1
    GUARD_BROKEN = 2
    UNPROVEN = 3


@dataclass(frozen=True, slots=True)
class Line:
    """The same finding, so many times. Owners are named by the ids of tenant and user (None: shared, or nobody)."""

    attack: str
    what: str
    attacker: tuple[str, str | None] | None
    owner: tuple[str, str | None] | None
    count: int


@dataclass(frozen=True, slots=True)
class Guard:
    """One of the two guards, probed by itself."""

    name: str
    holds: bool
    attempts: int
    broken: int
    findings: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """`attacks` counts attempts by attack; `leaks`: what reached somebody; `limits`: what any cluster tells.

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
    leaks: tuple[Line, ...]
    guards: tuple[Guard, ...]
    limits: Mapping[str, int]
    failures: Mapping[str, int]
    interrupted: bool

    @property
    def leaked(self) -> int:
        """How often something of another owner reached somebody."""
        return sum(line.count for line in self.leaks)

    @property
    def verdict(self) -> Verdict:
        """A leak weighs most, then a guard that no longer guards, then attempts that proved nothing."""
        if self.leaks:
            return Verdict.LEAK
        if not all(guard.holds for guard in self.guards):
            return Verdict.GUARD_BROKEN
        return Verdict.UNPROVEN if self.failures or self.interrupted else Verdict.CLEAN

    def as_json(self) -> dict[str, Any]:
        """Everything, in plain values."""
        return {"verdict": self.verdict.name.lower().replace("_", " "), "leaked": self.leaked, **asdict(self)}

    def sentences(self) -> Iterator[str]:
        """The report for people."""
        yield f"{self.attempts:,} attempts, {len(self.attacks)} attacks by {self.owners} owners, {self.seconds:.0f} s."
        yield f"Search plane: {self.plane}. Database: {self.database}. Seed: {self.seed}."
        yield from _summed(self.leaks, "LEAK: ")
        for guard in self.guards:
            state = "holds" if guard.holds else f"BROKEN ({guard.broken:,} findings)"
            yield f"Guard {guard.name}: {state}, {guard.attempts:,} attempts."
            yield from _summed(guard.findings, "  ")
        for attack, told in self.limits.items():
            yield f"Known {attack}: {told:,} times."
        for failure, count in self.failures.items():
            yield f"NOT PROVEN ({count:,}): {failure}."
        yield "All of it is erased but its events in the audit trail (verify_audit counts them): no event ever is."
        yield _CONCLUSIONS[self.verdict] if not self.interrupted else f"Interrupted. {_CONCLUSIONS[self.verdict]}"


_CONCLUSIONS = {
    Verdict.CLEAN: "No leak. Both guards hold.",
    Verdict.LEAK: "LEAKS: something of one owner reached another. Do not go live.",
    Verdict.GUARD_BROKEN: "No leak, but a guard is broken: the other one alone stands before one. Do not go live.",
    Verdict.UNPROVEN: "No leak was found, but some attempts could not be made: nothing is proven of those.",
}
_GUARDS = {Target.SEARCH_GUARD: "search", Target.DATABASE_GUARD: "database"}


def leaks_and_guards(world: World, tally: Tally) -> tuple[tuple[Line, ...], tuple[Guard, ...]]:
    """The findings, told apart.

    What a watcher is given moves with the search plane's separation of owners and with nothing else, so a movement is
    the search guard's if that is seen to be broken by itself, and a leak of the product if it is not.
    """
    found: dict[Target, list[tuple[Finding, int]]] = {tests: [] for tests in Target}
    for finding, count in sorted(tally.findings.items()):
        found[_tested(finding)].append((finding, count))
    if found[Target.SEARCH_GUARD]:
        moved = [each for each in found[Target.PRODUCT] if each[0].told is Told.MOVED]
        found[Target.SEARCH_GUARD] += moved
        found[Target.PRODUCT] = [each for each in found[Target.PRODUCT] if each not in moved]
    guards = tuple(
        Guard(
            name=name,
            holds=not found[tests],
            attempts=sum(count for attack, count in tally.attempts.items() if ATTACKS[attack].tests is tests),
            broken=sum(count for _, count in found[tests]),
            findings=_lines(world, found[tests]),
        )
        for tests, name in _GUARDS.items()
    )
    return _lines(world, found[Target.PRODUCT]), guards


def limits(tally: Tally) -> dict[str, int]:
    """How often each known limit of the cluster told something."""
    told = {attack: 0 for attack in tally.attempts if ATTACKS[attack].tests is Target.LIMIT}
    for finding, count in tally.findings.items():
        if finding.attack in told:
            told[finding.attack] += count
    return told


def _tested(finding: Finding) -> Target:
    return ATTACKS[finding.attack].tests if finding.attack in ATTACKS else Target.PRODUCT


def _lines(world: World, findings: list[tuple[Finding, int]]) -> tuple[Line, ...]:
    return tuple(
        Line(each.attack, each.told.value, _ids(world, each.attacker), _ids(world, each.owner), count)
        for each, count in findings
    )


def _ids(world: World, number: int) -> tuple[str, str | None] | None:
    if number == NOBODY:
        return None
    tenant_id, user_id = world.named(number)
    return str(tenant_id), str(user_id) if user_id else None


def _summed(lines: Sequence[Line], mark: str) -> Iterator[str]:
    """A sentence for each attack and what it told; who told whom is in the JSON, and the first of them here."""
    of_attack: dict[tuple[str, str], list[Line]] = defaultdict(list)
    for line in lines:
        of_attack[line.attack, line.what].append(line)
    for (attack, what), same in of_attack.items():
        count, attacker, owner = sum(line.count for line in same), _called(same[0].attacker), _called(same[0].owner)
        pairs = f" ({len(same):,} pairs of owners)" if len(same) > 1 else ""
        yield f"{mark}{attack}: {what}, {count:,} times{pairs}; attacker {attacker}, owner {owner}."


def _called(owner: tuple[str, str | None] | None) -> str:
    return "unknown" if owner is None else f"{owner[1] or 'shared'} in {owner[0]}"
