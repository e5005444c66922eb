"""Webhooks: nothing is lost, nothing is sent with another id, and one endpoint holds up no other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from ipaddress import ip_network

import pytest
from cryptography.fernet import Fernet
from django.utils import timezone
from pytest_django import Settings
from standardwebhooks import Webhook, WebhookVerificationError

from memories.models import FeedEntry, WebhookDelivery, WebhookEndpoint
from memories.services.facts.remember import remember_fact
from memories.services.webhooks import sending
from memories.services.webhooks.endpoints import change_endpoint, create_endpoint, replay, rotate_secret
from memories.services.webhooks.sending import record, send_due, take_due
from tenants.audit.verification import verify_all
from tenants.end_users import provision_end_user
from tenants.models import AuditEvent, Tenant
from tenants.principal import KeyHolder, Principal, Right
from tests.factories import own_principal
from tests.receiver import ACCEPT, Answer, Handler, Receiver, drip, hang, huge, receiving, status

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _local(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.MEMORYHUB_WEBHOOK_NETWORKS = (ip_network("127.0.0.0/8"),)
    monkeypatch.setattr(sending, "ANSWER_SECONDS", 3.0)


@pytest.fixture
def key(tenant: Tenant) -> KeyHolder:
    return KeyHolder(tenant.id, tenant.id, frozenset(Right))


@pytest.fixture
def ann(tenant: Tenant) -> Principal:
    """A member whom backend keys reach."""
    return own_principal(provision_end_user(tenant.id, "ann", name="Ann")[0])


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


def endpoint_at(key: KeyHolder, url: str) -> tuple[WebhookEndpoint, str]:
    return create_endpoint(key, url=url)


def say(ann: Principal, *texts: str) -> None:
    for text in texts:
        remember_fact(ann, text=text)


def states(endpoint: WebhookEndpoint) -> set[str]:
    return set(endpoint.deliveries.values_list("state", flat=True))


def test_an_event_arrives_signed_and_without_a_text(key: KeyHolder, ann: Principal, receiver: Receiver) -> None:
    endpoint, secret = endpoint_at(key, receiver.url)
    memory = remember_fact(ann, text="Plays the xylophone.").memory_id
    send_due()
    (got,) = receiver.got
    event = Webhook(secret).verify(got.body, got.headers)
    assert (event["type"], event["data"]["id"], event["data"]["user_id"]) == ("memory.created", str(memory), "ann")
    assert event["id"] == got.id == str(AuditEvent.objects.get(action="fact.created", target_id=memory).pk)
    assert b"xylophone" not in got.body.lower()
    assert states(endpoint) == {"delivered"}


def test_a_changed_body_is_not_verified(key: KeyHolder, ann: Principal, receiver: Receiver) -> None:
    _, secret = endpoint_at(key, receiver.url)
    say(ann, "One.")
    send_due()
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(receiver.got[0].body.replace(b"created", b"erased!"), receiver.got[0].headers)


def test_what_was_before_the_webhook_is_not_sent(key: KeyHolder, ann: Principal, receiver: Receiver) -> None:
    say(ann, "One.")
    endpoint_at(key, receiver.url)
    send_due()
    assert receiver.got == []


def test_only_the_types_that_are_wanted_are_sent(key: KeyHolder, ann: Principal, receiver: Receiver) -> None:
    create_endpoint(key, url=receiver.url, types=["memory.superseded"])
    old = remember_fact(ann, text="Lives in Hull.", key="home_city").memory_id
    remember_fact(ann, text="Lives in York.", key="home_city")
    send_due()
    assert [json.loads(each.body)["data"]["id"] for each in receiver.got] == [str(old)]


def test_events_of_staff_and_of_people_without_an_id_are_not_sent(
    key: KeyHolder, principal: Principal, receiver: Receiver
) -> None:
    endpoint_at(key, receiver.url)
    say(principal, "One.")
    send_due()
    assert receiver.got == []
    assert not list(take_due(1)), "what is not sent is not looked at again"


def test_an_hour_of_an_outage_loses_nothing(
    key: KeyHolder, ann: Principal, receiver: Receiver, clock: Callable[..., None]
) -> None:
    receiver.answer = status(503)
    endpoint, _ = endpoint_at(key, receiver.url)
    for minute in range(60):
        say(ann, f"Fact {minute}.")
        send_due()
        clock(minutes=1)
    tried = set(receiver.ids)
    asked = len(receiver.got)
    assert 10 <= asked <= 60, "the endpoint is asked less and less often"
    receiver.answer = ACCEPT
    receiver.got.clear()
    clock(minutes=6)
    send_due()
    events = {str(pk) for pk in AuditEvent.objects.filter(action="fact.created").values_list("pk", flat=True)}
    assert set(receiver.ids) == events and len(receiver.ids) == 60
    assert tried <= events
    assert states(endpoint) == {"delivered"} and all(chain.ok for chain in verify_all())


@pytest.mark.parametrize(
    ("answer", "error", "code"),
    [(status(500), "", 500), (hang, "timeout", None), (drip, "timeout", None), (status(302, Location="/"), "", 302)],
)
def test_what_is_not_taken_is_sent_again_with_the_same_id(
    key: KeyHolder,
    ann: Principal,
    receiver: Receiver,
    clock: Callable[..., None],
    answer: Answer,
    error: str,
    code: int | None,
) -> None:
    receiver.answer = answer
    endpoint, secret = endpoint_at(key, receiver.url)
    say(ann, "One.")
    send_due()
    row = endpoint.deliveries.get()
    assert (row.state, row.error, row.status, row.attempts) == ("waiting", error, code, 1)
    receiver.answer = ACCEPT
    clock(seconds=5)
    send_due()
    first, second = receiver.got
    assert first.id == second.id and first.body == second.body
    assert Webhook(secret).verify(second.body, second.headers)


def test_a_huge_answer_is_taken_as_one(key: KeyHolder, ann: Principal, receiver: Receiver) -> None:
    receiver.answer = huge
    endpoint, _ = endpoint_at(key, receiver.url)
    say(ann, "One.")
    send_due()
    assert states(endpoint) == {"delivered"}


def test_a_redirect_to_a_private_address_is_not_followed(key: KeyHolder, ann: Principal, receiver: Receiver) -> None:
    with receiving() as inside:
        receiver.answer = status(307, Location=inside.url)
        endpoint, _ = endpoint_at(key, receiver.url)
        say(ann, "One.")
        send_due()
        assert inside.got == [] and len(receiver.got) == 1
    assert states(endpoint) == {"waiting"}


def test_an_address_that_became_private_is_not_reached(
    key: KeyHolder, ann: Principal, receiver: Receiver, settings: Settings
) -> None:
    endpoint, _ = endpoint_at(key, receiver.url)
    settings.MEMORYHUB_WEBHOOK_NETWORKS = (ip_network("10.0.0.0/8"),)
    say(ann, "One.")
    send_due()
    assert receiver.got == [] and endpoint.deliveries.get().error == "refused-address"


def test_a_worker_that_dies_after_sending_sends_again_with_the_same_id(
    key: KeyHolder, ann: Principal, receiver: Receiver, clock: Callable[..., None]
) -> None:
    endpoint, _ = endpoint_at(key, receiver.url)
    say(ann, "One.", "Two.")
    (batch,) = take_due(1)
    batch.send()  # and nothing is recorded
    assert list(take_due(1)) == [], "its lease blocks others"
    clock(seconds=61)
    send_due()
    assert len(receiver.ids) == 4 and len(set(receiver.ids)) == 2
    assert states(endpoint) == {"delivered"}


def test_one_event_that_fails_holds_up_no_other(
    key: KeyHolder, ann: Principal, receiver: Receiver, clock: Callable[..., None]
) -> None:
    say(ann, "Zero.")
    endpoint, _ = endpoint_at(key, receiver.url)
    say(ann, "One.", "Two.", "Three.")
    poison = str(AuditEvent.objects.filter(action="fact.created").order_by("sequence")[1].pk)

    def choosy(handler: Handler) -> None:
        status(500 if handler.headers["webhook-id"] == poison else 200)(handler)

    receiver.answer = choosy
    for _ in range(4):
        send_due()
        clock(seconds=2)
    assert endpoint.deliveries.filter(state="delivered").count() == 2
    clock(hours=25)
    say(ann, "Four.")
    send_due()
    clock(seconds=2)
    send_due()
    endpoint.refresh_from_db()
    assert endpoint.enabled and endpoint.deliveries.get(state="failed").entry.event_id.hex == poison.replace("-", "")


def test_an_endpoint_that_fails_for_a_day_is_disabled_and_loses_nothing(
    key: KeyHolder, ann: Principal, receiver: Receiver, clock: Callable[..., None]
) -> None:
    receiver.answer = status(500)
    endpoint, _ = endpoint_at(key, receiver.url)
    say(ann, "One.", "Two.")
    for _ in range(30):
        send_due()
        clock(hours=1)
    endpoint.refresh_from_db()
    assert (endpoint.enabled, endpoint.trouble) == (False, "status 500")
    assert AuditEvent.objects.filter(action="webhook.disabled", target_id=endpoint.pk).count() == 1
    say(ann, "Three.")
    receiver.answer = ACCEPT
    receiver.got.clear()
    send_due()
    assert receiver.got == []
    change_endpoint(key, endpoint.pk, enabled=True)
    send_due()
    created = [each for each in receiver.got if json.loads(each.body)["type"] == "memory.created"]
    assert len({each.id for each in created}) == 3


def test_an_endpoint_that_is_gone_is_disabled_at_once(key: KeyHolder, ann: Principal, receiver: Receiver) -> None:
    receiver.answer = status(410)
    endpoint, _ = endpoint_at(key, receiver.url)
    say(ann, "One.")
    send_due()
    endpoint.refresh_from_db()
    assert not endpoint.enabled


def test_a_hanging_receiver_holds_up_no_other(key: KeyHolder, ann: Principal, receiver: Receiver) -> None:
    with receiving(hang) as hanging:
        endpoint_at(key, hanging.url)
        fast, _ = endpoint_at(key, receiver.url)
        say(ann, *(f"Fact {number}." for number in range(30)))
        send_due()
        assert len(receiver.got) == 30 and len(hanging.got) <= 3
    assert states(fast) == {"delivered"}


def test_both_secrets_sign_during_a_rotation(
    key: KeyHolder, ann: Principal, receiver: Receiver, clock: Callable[..., None]
) -> None:
    endpoint, old = endpoint_at(key, receiver.url)
    _, new = rotate_secret(key, endpoint.pk, grace=timedelta(hours=1))
    say(ann, "One.")
    send_due()
    for secret in (old, new):
        assert Webhook(secret).verify(receiver.got[0].body, receiver.got[0].headers)
    clock(hours=2)
    say(ann, "Two.")
    send_due()
    assert Webhook(new).verify(receiver.got[1].body, receiver.got[1].headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(old).verify(receiver.got[1].body, receiver.got[1].headers)


def test_a_replay_sends_again_with_the_same_ids(key: KeyHolder, ann: Principal, receiver: Receiver) -> None:
    begun = timezone.now()
    endpoint, _ = endpoint_at(key, receiver.url)
    say(ann, "One.", "Two.", "Three.")
    send_due()
    second = AuditEvent.objects.filter(action="fact.created").order_by("sequence")[1]
    replay(key, endpoint.pk, since=second.created_at)
    send_due()
    assert receiver.ids[3:] == receiver.ids[1:3]
    replay(key, endpoint.pk, since=begun)
    send_due()
    # What happened between the look at the clock and the webhook: Ann was made before both.
    assert set(receiver.ids) == set(receiver.ids[:3]) and len(receiver.ids) == 8


def test_an_outage_lets_no_more_than_a_window_wait(
    key: KeyHolder, ann: Principal, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, clock: Callable[..., None]
) -> None:
    monkeypatch.setattr(sending, "WINDOW", 3)
    receiver.answer = status(500)
    endpoint, _ = endpoint_at(key, receiver.url)
    say(ann, *(f"Fact {number}." for number in range(8)))
    send_due()
    assert WebhookDelivery.objects.count() == 3
    receiver.answer = ACCEPT
    receiver.got.clear()
    clock(seconds=10)
    send_due()
    assert len(set(receiver.ids)) == 8 and states(endpoint) == {"delivered"}


def test_an_event_of_an_erased_member_waits_for_nobody(
    key: KeyHolder, ann: Principal, receiver: Receiver, clock: Callable[..., None]
) -> None:
    endpoint, _ = endpoint_at(key, receiver.url)
    say(ann, "One.")
    (batch,) = take_due(1)
    FeedEntry.objects.filter(membership=ann.membership_id).delete()
    record(batch, batch.send())
    clock(seconds=61)
    assert not endpoint.deliveries.exists() and len(receiver.got) == 1


def test_old_entries_and_deliveries_are_deleted(
    key: KeyHolder, ann: Principal, receiver: Receiver, clock: Callable[..., None]
) -> None:
    endpoint, _ = endpoint_at(key, receiver.url)
    say(ann, "One.")
    send_due()
    clock(days=8)
    sending.forget_old()
    assert not endpoint.deliveries.exists() and FeedEntry.objects.exists()
    clock(days=23)
    sending.forget_old()
    assert not FeedEntry.objects.exists()


def test_a_secret_is_stored_encrypted_and_moves_to_the_first_key(
    key: KeyHolder, ann: Principal, receiver: Receiver, settings: Settings
) -> None:
    one, two = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    settings.MEMORYHUB_CREDENTIAL_KEYS = (one,)
    endpoint, secret = endpoint_at(key, receiver.url)
    assert secret not in endpoint.secret
    settings.MEMORYHUB_CREDENTIAL_KEYS = (two, one)
    sending.forget_old()
    stored = WebhookEndpoint.objects.get().secret
    sending.forget_old()
    assert WebhookEndpoint.objects.get().secret == stored
    settings.MEMORYHUB_CREDENTIAL_KEYS = (two,)
    say(ann, "One.")
    send_due()
    assert Webhook(secret).verify(receiver.got[0].body, receiver.got[0].headers)
    settings.MEMORYHUB_CREDENTIAL_KEYS = (one,)
    say(ann, "Two.")
    send_due()
    endpoint.refresh_from_db()
    assert (endpoint.enabled, endpoint.trouble) == (False, "unreadable-secret")
