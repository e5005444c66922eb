"""OAuth over a socket: a program registers, a member consents, tokens are renewed and end; and what thieves try."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from pytest_django.live_server_helper import LiveServer

from memories.models import Fact
from memories.services.facts.remember import remember_fact
from tenants.audit.sentences import sentences
from tenants.erasure import stop_member
from tenants.models import ApiToken, AuditEvent, Membership, OAuthClient, OAuthGrant
from tenants.oauth.clients import REGISTRATIONS, forget_unused
from tenants.services import activate, deactivate
from tests.factories import make_membership, make_tenant, own_principal
from tests.oauth_agent import CALLBACK, Agent, Browser, returned

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def member(transactional_db: None) -> Membership:
    return make_membership(make_tenant("Northwind Studio"), name="Mara")


@pytest.fixture
def browser(live_server: LiveServer, member: Membership) -> Browser:
    return Browser(live_server.url, member)


@pytest.fixture
def agent(live_server: LiveServer) -> Agent:
    agent = Agent(live_server.url)
    assert agent.register().status_code == 201
    return agent


@pytest.fixture
def tokens(agent: Agent, browser: Browser) -> dict[str, str]:
    """What the agent got after Mara allowed it."""
    answer = agent.exchange(agent.code_from(browser.decide(agent.address())))
    assert answer.status_code == 200, answer.text
    found: dict[str, str] = answer.json()
    return found


def refused(answer: httpx.Response, error: str = "invalid_grant") -> bool:
    return (answer.status_code, answer.json()["error"]) == (400, error)


def test_a_member_allows_an_agent_that_acts_as_them(agent: Agent, member: Membership, tokens: dict[str, str]) -> None:
    me = agent.whoami(tokens["access_token"]).json()
    assert (me["tenant"]["name"], me["member"]["name"]) == ("Northwind Studio", "Mara")
    assert me["scopes"] == ["memory:read", "memory:write"] == sorted(tokens["scope"].split())
    assert me["token"]["name"] == "Scripted agent (a program on your computer)"
    assert 0 < int(tokens["expires_in"]) <= 8 * 3600


def test_the_audit_log_names_the_client(agent: Agent, member: Membership, tokens: dict[str, str]) -> None:
    site, bearer = agent.server["issuer"], {"Authorization": f"Bearer {tokens['access_token']}"}
    written = agent.http.post(f"{site}/api/v1/memories/", json={"kind": "semantic", "text": "I sail"}, headers=bearer)
    assert written.status_code in (200, 201), written.text
    issued = AuditEvent.objects.select_related("payload").get(action="token.issued")
    assert issued.payload.data["after"]["client"] == agent.client_id
    events = AuditEvent.objects.filter(owner_id=member.user_id, action="fact.created").select_related("payload")
    assert [each.who for each in sentences(events)] == ["The token Scripted agent (a program on your computer)"]


def test_refresh_tokens_are_renewed_and_one_that_comes_twice_ends_it_all(agent: Agent, tokens: dict[str, str]) -> None:
    renewed = agent.refresh(tokens["refresh_token"]).json()
    assert agent.whoami(renewed["access_token"]).status_code == 200
    again = agent.refresh(renewed["refresh_token"]).json()
    assert refused(agent.refresh(tokens["refresh_token"]))
    assert agent.whoami(again["access_token"]).status_code == 401
    assert refused(agent.refresh(again["refresh_token"]))
    assert ApiToken.objects.count() == 1


def test_an_access_token_ends_and_is_renewed_until_the_consent_ends(
    agent: Agent, tokens: dict[str, str], clock: Callable[..., None]
) -> None:
    clock(hours=9)
    assert agent.whoami(tokens["access_token"]).status_code == 401
    renewed = agent.refresh(tokens["refresh_token"]).json()
    assert agent.whoami(renewed["access_token"]).status_code == 200
    clock(days=90)
    assert refused(agent.refresh(renewed["refresh_token"]))


def test_a_code_that_comes_twice_ends_what_it_gave(agent: Agent, browser: Browser) -> None:
    code = agent.code_from(browser.decide(agent.address()))
    given = agent.exchange(code).json()
    assert refused(agent.exchange(code))
    assert agent.whoami(given["access_token"]).status_code == 401
    assert refused(agent.refresh(given["refresh_token"]))


def test_of_many_that_bring_a_code_at_once_one_gets_a_token_and_it_ends(agent: Agent, browser: Browser) -> None:
    code = agent.code_from(browser.decide(agent.address()))
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: agent.exchange(code), range(8)))
    (given,) = [each.json() for each in answers if each.status_code == 200]
    assert agent.whoami(given["access_token"]).status_code == 401
    assert ApiToken.objects.count() == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"code_verifier": "x" * 64},
        {"code_verifier": ""},
        {"redirect_uri": "http://127.0.0.1:49153/callback"},
        {"client_id": "another"},
    ],
    ids=lambda each: next(iter(each)),
)
def test_a_code_without_its_proof_gives_nothing_and_ends(agent: Agent, browser: Browser, wrong: dict[str, str]) -> None:
    code = agent.code_from(browser.decide(agent.address()))
    assert agent.exchange(code, **wrong).status_code in (400, 401)
    assert refused(agent.exchange(code))
    assert not ApiToken.objects.exists()


def test_an_expired_code_gives_nothing(agent: Agent, browser: Browser, clock: Callable[..., None]) -> None:
    code = agent.code_from(browser.decide(agent.address()))
    clock(seconds=61)
    assert refused(agent.exchange(code))


def test_another_clients_refresh_token_ends_the_grant(agent: Agent, tokens: dict[str, str]) -> None:
    other = Agent(agent.server["issuer"])
    other.register()
    assert refused(other.refresh(tokens["refresh_token"]))
    assert agent.whoami(tokens["access_token"]).status_code == 401


@pytest.mark.parametrize("name", ["access_token", "refresh_token"])
def test_an_agent_gives_its_access_back(agent: Agent, tokens: dict[str, str], name: str) -> None:
    assert agent.revoke("mhr_unknown").status_code == agent.revoke(tokens[name]).status_code == 200
    assert agent.whoami(tokens["access_token"]).status_code == 401
    assert refused(agent.refresh(tokens["refresh_token"]))


def test_an_access_token_that_was_renewed_meanwhile_is_given_back(agent: Agent, tokens: dict[str, str]) -> None:
    renewed = agent.refresh(tokens["refresh_token"]).json()["access_token"]
    assert agent.revoke(tokens["access_token"]).status_code == 200
    assert agent.whoami(renewed).status_code == agent.whoami(tokens["access_token"]).status_code == 401


def test_another_client_revokes_nothing(agent: Agent, tokens: dict[str, str]) -> None:
    other = Agent(agent.server["issuer"])
    other.register()
    assert other.revoke(tokens["refresh_token"]).status_code == 200
    assert agent.whoami(tokens["access_token"]).status_code == 200


def test_a_member_who_denies_gives_nothing(agent: Agent, browser: Browser) -> None:
    said = returned(browser.decide(agent.address(), "deny"))
    assert said == {"error": "access_denied", "state": agent.state, "iss": agent.server["issuer"]}
    assert not OAuthGrant.objects.exists()


def test_a_member_allows_less_than_was_asked(agent: Agent, browser: Browser) -> None:
    code = agent.code_from(browser.decide(agent.address(), scopes=["memory:decide", "tokens"]))
    assert agent.exchange(code).json()["scope"] == "memory:read"


def test_no_agent_gets_what_only_people_have(agent: Agent, browser: Browser) -> None:
    asked = browser.client.get(agent.address(scope="memory:decide tokens administer"))
    assert returned(asked)["error"] == "invalid_scope"


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"resource": "https://elsewhere.example/mcp"}, "invalid_target"),
        ({"scope": "nothing"}, "invalid_scope"),
    ],
)
def test_the_client_learns_what_is_wrong_with_its_request(
    agent: Agent, browser: Browser, changes: dict[str, str | None], error: str
) -> None:
    answer = browser.client.get(agent.address(**changes))
    assert answer.status_code == 400 and "Location" not in answer.headers, "nobody is sent on unasked"
    said = returned(answer)
    assert (said["error"], said["state"], said["iss"]) == (error, agent.state, agent.server["issuer"])


@pytest.mark.parametrize(
    "changes",
    [
        {"client_id": "6f1e9a1c-0000-4000-8000-000000000000"},
        {"redirect_uri": "https://thief.example/callback"},
        {"redirect_uri": "http://127.0.0.1:49152/other"},
        {"redirect_uri": "http://127.0.0.1.thief.example/callback"},
        {"redirect_uri": "http://thief@127.0.0.1/callback"},
        {"redirect_uri": None},
    ],
)
def test_a_foreign_address_learns_nothing(agent: Agent, browser: Browser, changes: dict[str, str | None]) -> None:
    answer = browser.client.get(agent.address(**changes))
    assert answer.status_code in (400, 401) and returned(answer) == {}
    assert "This agent cannot connect" in answer.text


def test_a_loopback_address_has_any_port(agent: Agent, browser: Browser) -> None:
    agent.callback = "http://127.0.0.1:50000/callback"
    assert agent.exchange(agent.code_from(browser.decide(agent.address()))).status_code == 200


def test_whoever_is_not_signed_in_signs_in_first(agent: Agent) -> None:
    answer = agent.http.get(agent.address())
    assert answer.status_code == 302 and answer.headers["Location"].startswith("/login/?next=/oauth/authorize")


def test_a_form_of_another_member_is_not_decided(agent: Agent, browser: Browser, member: Membership) -> None:
    other = make_membership(member.tenant, name="Joel")
    answer = browser.decide(agent.address(), membership=str(other.pk))
    assert answer.status_code == 200 and "Look again" in answer.text
    assert not OAuthGrant.objects.exists()


def test_no_other_site_decides(agent: Agent, browser: Browser) -> None:
    assert browser.decide(agent.address(), csrfmiddlewaretoken="x").status_code == 403
    page = browser.client.get(agent.address())
    assert page.headers["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    assert f"form-action 'self' {CALLBACK.removesuffix('/callback')};" in page.headers["Content-Security-Policy"] + ";"


def test_a_deactivated_member_has_no_agent(agent: Agent, browser: Browser, member: Membership) -> None:
    first = agent.exchange(agent.code_from(browser.decide(agent.address()))).json()
    code = agent.code_from(browser.decide(agent.address()))
    deactivate(member)
    assert agent.whoami(first["access_token"]).status_code == 401
    assert refused(agent.exchange(code)) and refused(agent.refresh(first["refresh_token"]))
    activate(Membership.objects.get(pk=member.pk))
    assert agent.refresh(first["refresh_token"]).status_code == 200


def test_an_erased_member_leaves_no_grant(tokens: dict[str, str], member: Membership) -> None:
    assert OAuthGrant.objects.count() == 1
    stop_member(member)
    assert not OAuthGrant.objects.exists()
    assert ApiToken.objects.get().revoked_at is not None


def test_each_member_s_agent_has_that_memory_alone(
    agent: Agent, browser: Browser, member: Membership, live_server: LiveServer
) -> None:
    secrets = {}
    for whose in (member, make_membership(member.tenant, name="Joel"), make_membership(name="Eve")):
        remember_fact(own_principal(whose), text=f"The word of {whose.user.display_name} is unusual")
        code = agent.code_from(Browser(live_server.url, whose).decide(agent.address()))
        secrets[whose.user.display_name] = agent.exchange(code).json()["access_token"]
    for name, access in secrets.items():
        site, bearer = agent.server["issuer"], {"Authorization": f"Bearer {access}"}
        listed = agent.http.get(f"{site}/api/v1/memories/?kind=semantic", headers=bearer).json()
        assert [each["text"] for each in listed["results"]] == [f"The word of {name} is unusual"]
    assert Fact.objects.count() == 3


def test_a_flood_of_registrations_is_refused_and_forgotten(agent: Agent, clock: Callable[..., None]) -> None:
    answers = [agent.register() for _ in range(REGISTRATIONS)]
    assert {each.status_code for each in answers} == {201, 429}
    assert OAuthClient.objects.count() == REGISTRATIONS
    clock(days=2)
    forget_unused()
    assert not OAuthClient.objects.exists()


def test_a_client_that_somebody_allowed_is_kept(
    agent: Agent, tokens: dict[str, str], clock: Callable[..., None]
) -> None:
    clock(days=80)
    forget_unused()
    assert OAuthClient.objects.count() == OAuthGrant.objects.count() == 1
    clock(days=20)
    forget_unused()
    assert not OAuthClient.objects.exists() and not OAuthGrant.objects.exists()
    answer = agent.refresh(tokens["refresh_token"])
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client"), "so that it registers again"


def test_a_page_of_any_origin_may_be_a_client(agent: Agent) -> None:
    asked = agent.http.options(agent.server["token_endpoint"], headers={"Origin": "https://app.example"})
    assert (asked.status_code, asked.headers["Access-Control-Allow-Origin"]) == (204, "*")
    assert agent.http.get(agent.server["token_endpoint"]).status_code == 405
    assert refused(agent.http.post(agent.server["token_endpoint"], data={}), "unsupported_grant_type")
