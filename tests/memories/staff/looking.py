"""Staff in a browser, and a conversation for them to look at."""

from __future__ import annotations

import re
from typing import Any

from django.http import HttpResponse
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memories.agent.loop import run_turn
from memories.models import Session
from memories.recall import recording
from memories.search.outbox import drain
from memories.services.facts.remember import remember_fact
from tenants.models import Membership, Tenant, User
from tenants.principal import Principal
from tests.factories import make_membership

# The whole text of a page, and nothing that runs.
INLINE = re.compile(r"\bstyle=|<style|<script(?![^>]*\bsrc=)|\son\w+=")


def page_of(name: str, membership: Membership, *args: object) -> str:
    """The address of a page of a member."""
    return reverse(f"staff:{name}", args=[membership.pk, *args])


def staff_of(tenant: Tenant, role: str) -> User:
    """A new user who works for `tenant`, and may open the admin."""
    membership = make_membership(tenant, role=role)
    User.objects.filter(pk=membership.user_id).update(is_staff=True)
    return User.objects.get(pk=membership.user_id)


def words(answer: HttpResponse | Any) -> str:
    """The page as text, in which a space is a space."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.content.decode()))


def inside(answer: HttpResponse | Any) -> str:
    """What is of our own, without the frame of the theme."""
    return str(answer.content.decode().split('class="staff"')[1].split("</main>")[0])


def own_queries(captured: CaptureQueriesContext) -> int:
    """How many queries a page took beside those on who is who."""
    return sum('FROM "tenants_membership"' not in query["sql"] for query in captured.captured_queries)


def talk(principal: Principal) -> Session:
    """A fact is known; then three turns, in the first of which it comes up and in the second of which it changes."""
    remember_fact(principal, text="Lives in Bristol", key="home_city")
    drain()
    list(run_turn(principal, text="Where do I live?"))
    session = Session.objects.of(principal).get()
    for text in ("I moved to Edinburgh last week", "Thanks, <b>that</b> is all"):
        list(run_turn(principal, text=text, session_id=session.pk))
    drain()
    recording.flush()
    return session
