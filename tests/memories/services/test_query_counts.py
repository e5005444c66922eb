"""How many queries a write takes, its BEGIN and COMMIT counted."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import supersede
from memories.services.playbooks import remember_playbook
from memories.services.write import write
from tenants.principal import Principal

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_new_fact_takes_fourteen_queries(principal: Principal) -> None:
    remember_fact(principal, text="Works at Acme", key="employer")
    with CaptureQueriesContext(connection) as queries:
        remember_fact(principal, text="Drinks green tea", key="drink")
    assert len(queries) <= 14


def test_superseding_a_fact_takes_seventeen_queries(principal: Principal) -> None:
    old = remember_fact(principal, text="Lives in Hull", key="home_city").memory_id
    with CaptureQueriesContext(connection) as queries:
        supersede(principal, old_ids=[old], text="Lives in York")
    assert len(queries) <= 17


def test_a_new_fact_of_a_known_key_takes_fourteen_queries(principal: Principal) -> None:
    remember_fact(principal, text="Lives in Hull", key="home_city")
    with CaptureQueriesContext(connection) as queries:
        remember_fact(principal, text="Lives in York", key="home_city")
    assert len(queries) <= 15


def test_services_in_one_scope_lock_once_and_store_their_events_by_one_statement(principal: Principal) -> None:
    with CaptureQueriesContext(connection) as queries, write(principal):
        remember_fact(principal, text="Works at Acme")
        remember_playbook(principal, title="Make tea", steps=["Boil water"])
    said = [query["sql"] for query in queries]
    for table in ("tenants_auditevent", "tenants_auditpayload", "memories_outboxentry"):
        assert sum(f'INSERT INTO "{table}"' in sql for sql in said) == 1
    assert sum("tenants_membership" in sql for sql in said) == 1
    assert not any("SAVEPOINT" in sql for sql in said)
