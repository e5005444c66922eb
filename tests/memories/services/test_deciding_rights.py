"""Who decides a review, and what becomes of it when its memories end: persons alone, and nothing is left behind."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from memories.errors import Conflict, NotFound
from memories.models import Fact, ReviewDecision, ReviewItem
from memories.selectors.reviews import answered_reviews, get_review, open_reviews, review_about
from memories.services.erasure.forget import forget
from memories.services.facts.supersede import correct, retire
from memories.services.retention.collection import collect
from memories.services.retention.dates import confirm_fact
from memories.types import Kind, Scope, Source
from tenants.errors import Forbidden
from tenants.models import AuditEvent, AuditPayload, Membership, Tenant, User
from tenants.principal import Principal, Right
from tenants.principals import staff_principal, system_principal
from tests.factories import make_membership, own_principal
from tests.memories.services.reviewing import (
    FOUR,
    THREE,
    answer,
    asked,
    current,
    proposed,
    say,
    take_back,
    told,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]


def test_an_agent_and_the_system_never_decide(
    principal: Principal, membership: Membership, pair: tuple[Fact, Fact], item: ReviewItem
) -> None:
    for nobody in (principal.as_agent(), system_principal(membership)):
        with pytest.raises(Forbidden):
            answer(nobody, item, "keep_one", keep=pair[0].pk)
        with pytest.raises(Forbidden):
            take_back(nobody, item)
    assert open_reviews(principal).exists()


def test_nobody_else_s_review_is_there(
    principal: Principal, pair: tuple[Fact, Fact], item: ReviewItem, stranger: Principal
) -> None:
    with pytest.raises(NotFound):
        get_review(stranger, item.pk)
    with pytest.raises(NotFound):
        answer(stranger, item, "keep_both")
    with pytest.raises(NotFound):
        take_back(stranger, item)
    assert not open_reviews(stranger).exists()
    assert review_about(stranger, pair[0].pk) is None
    assert open_reviews(principal).exists()


def staff_of(tenant: Tenant, role: str) -> User:
    return make_membership(tenant, role=role).user


def test_an_administrator_decides_for_a_member_and_the_trail_says_who(
    principal: Principal, membership: Membership, pair: tuple[Fact, Fact], item: ReviewItem
) -> None:
    alice = staff_of(membership.tenant, "admin")
    staff = staff_principal(membership, staff=alice)
    done = answer(staff, item, "merge", text="The shed measures between three and four metres across")
    event = AuditEvent.objects.get(action="review.decided")
    assert (event.actor_kind, event.actor_id, event.owner_id) == ("staff", alice.id, principal.user_id)
    assert done.decided_by_id == alice.id
    merged = Fact.objects.current().get()
    assert (merged.source, merged.confidence) == (Source.TASK_OUTCOME, 0.7)
    assert answered_reviews(principal).get() == item
    take_back(principal, item)
    assert current(principal) == [FOUR, THREE]


def test_platform_staff_may_act_and_others_may_not(membership: Membership) -> None:
    root = User.objects.create_superuser("root")
    assert staff_principal(membership, staff=root).actor_id == root.id
    assert Right.CHAT not in staff_principal(membership, staff=root).rights
    elsewhere = make_membership(role="admin").user
    for role in ("member", "support", "auditor"):
        with pytest.raises(Forbidden):
            staff_principal(membership, staff=staff_of(membership.tenant, role))
    with pytest.raises(Forbidden):
        staff_principal(membership, staff=elsewhere)
    User.objects.filter(pk=root.pk).update(is_active=False)
    root.refresh_from_db()
    with pytest.raises(Forbidden):
        staff_principal(membership, staff=root)


def test_what_a_tenant_shares_is_decided_by_its_administrators(
    principal: Principal, admin_principal: Principal
) -> None:
    first, second = (say(admin_principal, text, scope=Scope.TENANT) for text in (THREE, FOUR))
    item = asked(admin_principal, first, second)
    with pytest.raises(NotFound):
        answer(principal, item, "keep_both")
    answer(admin_principal, item, "keep_one", keep=first.pk)
    take_back(admin_principal, item)
    assert Fact.objects.current().filter(scope=Scope.TENANT).count() == 2


def test_what_ends_otherwise_leaves_nothing_to_decide(
    principal: Principal, pair: tuple[Fact, Fact], item: ReviewItem
) -> None:
    correct(principal, kind=Kind.SEMANTIC, memory_id=pair[1].pk, text="The shed measures five metres across")
    item.refresh_from_db()
    assert item.decision == ReviewDecision.WITHDRAWN
    assert told("review.withdrawn")
    with pytest.raises(Conflict, match="nothing to decide"):
        answer(principal, item, "keep_both")


def test_a_confirmation_and_a_retirement_withdraw_a_proposal(principal: Principal) -> None:
    kept, gone = say(principal, THREE), say(principal, FOUR)
    proposed(principal, kept)
    proposed(principal, gone)
    confirm_fact(principal, fact_id=kept.pk)
    retire(principal, kind=Kind.SEMANTIC, memory_id=gone.pk)
    assert set(ReviewItem.objects.values_list("decision", flat=True)) == {ReviewDecision.WITHDRAWN}


def test_nobody_is_asked_about_a_member_who_may_not_act_or_what_has_expired(
    principal: Principal, membership: Membership, pair: tuple[Fact, Fact], item: ReviewItem
) -> None:
    for is_active in (False, True):
        Membership.objects.filter(pk=membership.pk).update(is_active=is_active)
        assert open_reviews(principal).exists() is is_active
    Fact.objects.filter(pk=pair[0].pk).update(expires_at=timezone.now() - timedelta(days=1))
    assert not open_reviews(principal).exists(), "what has expired cannot be decided, collected or not"
    collect(apply=True)
    item.refresh_from_db()
    assert item.decision == ReviewDecision.WITHDRAWN


def test_an_undo_fails_as_a_whole_once_what_stood_there_changed(
    principal: Principal, pair: tuple[Fact, Fact], item: ReviewItem
) -> None:
    answer(principal, item, "merge", text="The shed measures three and a half metres across")
    merged = Fact.objects.current().get()
    correct(principal, kind=Kind.SEMANTIC, memory_id=merged.pk, text="The shed measures two metres across")
    with pytest.raises(Conflict, match="replaced or removed since"):
        take_back(principal, item)
    assert current(principal) == ["The shed measures two metres across"]
    item.refresh_from_db()
    assert item.decision == ReviewDecision.MERGE


@pytest.mark.parametrize("which", ["old", "new"])
def test_forgetting_leaves_no_trace_of_a_decision(
    principal: Principal, pair: tuple[Fact, Fact], item: ReviewItem, which: str
) -> None:
    secret = "marzipan"
    answer(principal, item, "merge", text=f"The {secret} shed is wide", reason=f"It is the {secret} one")
    merged = Fact.objects.current().get()
    if which == "old":
        for row in (*pair, merged):
            forget(principal, kind=Kind.SEMANTIC, memory_id=row.pk)
        assert not ReviewItem.objects.exists()
    else:
        forget(principal, kind=Kind.SEMANTIC, memory_id=merged.pk, cascade=True)
        with pytest.raises(Conflict):
            take_back(principal, item)
    left = AuditPayload.objects.filter(document__contains=secret)
    assert [payload.event.action for payload in left if payload.event.target_kind == "review"] == []
    assert not Fact.objects.filter(text__contains=secret).exists()


def test_a_decision_of_one_withdraws_what_else_was_asked_of_the_other(
    principal: Principal, pair: tuple[Fact, Fact], item: ReviewItem
) -> None:
    third = asked(principal, pair[1], say(principal, "The shed measures nine metres across"))
    proposed(principal, pair[1])
    answer(principal, item, "keep_one", keep=pair[0].pk)
    third.refresh_from_db()
    assert third.decision == ReviewDecision.WITHDRAWN
    assert not open_reviews(principal).exists()


def test_own_principal_of_another_tenant_does_not_reach_it(item: ReviewItem, membership: Membership) -> None:
    """The same user as a member of two tenants has two memories."""
    elsewhere = Membership.objects.create(tenant=make_membership().tenant, user=membership.user, role="member")
    with pytest.raises(NotFound):
        get_review(own_principal(elsewhere), item.pk)
    assert isinstance(item.pk, UUID)
