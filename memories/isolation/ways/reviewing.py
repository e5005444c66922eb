"""Reviews through the services: read, decide and undo what is asked about another's memory, as oneself and as staff."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from memories.isolation.attempt import Attempt, way
from memories.isolation.residents import Part
from memories.models import ReviewDecision
from memories.selectors.reviews import answered_reviews, get_review, open_reviews, review_about
from memories.services.reviews.decisions import Answer, decide, undo_decision
from tenants.principals import reading_principal, staff_principal


@way("reviews: another's by its id", weight=4)
def by_id(attempt: Attempt) -> None:
    """Whatever takes the id of a review, or of a memory that one is about."""
    attacker, chance = attempt.attacker(), attempt.chance
    victim = attempt.victim(attacker)
    who = attacker.principal
    calls: list[Callable[[UUID], object]] = [
        lambda id_: get_review(who, id_),
        lambda id_: decide(who, item_id=id_, answer=Answer(ReviewDecision.KEEP_BOTH)),
        lambda id_: decide(who, item_id=id_, answer=Answer(ReviewDecision.EVICT)),
        lambda id_: undo_decision(who, item_id=id_),
    ]
    attempt.refuses(attacker, victim, chance.choice(calls), chance.choice(victim.reviews))
    attempt.refuses(attacker, victim, lambda id_: review_about(who, id_), attempt.target(victim).id)
    for rows in (open_reviews(who), answered_reviews(who)):
        attempt.shows(attacker, [(item.pk, item.reason, item.first, item.second, item.playbook) for item in rows])


@way("reviews: as staff of another's tenant", weight=2)
def as_staff(attempt: Attempt) -> None:
    """Members act as nobody's staff, administrators as that of their own tenant."""
    attacker = attempt.attacker(attempt.chance.choice([Part.RESIDENT, Part.ADMIN]))
    victim = attempt.victim(attacker)
    if attacker.part is Part.ADMIN and victim.company is attacker.company:
        return
    user = attacker.membership.user
    for become in (staff_principal, reading_principal):
        attempt.denied(attacker, victim.number, lambda as_=become: as_(victim.membership, staff=user))  # type: ignore[misc]  # bound
