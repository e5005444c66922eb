"""The whole proof on a real cluster: members' keys attacked with raw queries, and keys without their query."""

from __future__ import annotations

import random

import pytest

from memories.search import search_plane
from memories.search.outbox import drain
from memories.services.erasure.forget import forget
from memoryhub.elasticsearch import Identity, reading_aliases, service_client
from proof import building, erasure
from proof.report import Conclusion, ProofReport
from proof.run import prove
from proof.world import Persona
from tenants.models import RetiredKey, SearchCredential
from tenants.search_keys.cluster import every_valid_key
from tests.parts import left_to_the_real_parts
from tests.proof.conftest import Break
from tests.proof.test_proof import ROWS, everything_is_gone, guards

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("elasticsearch"), left_to_the_real_parts]


def attack(attempts: int = 160) -> ProofReport:
    return prove(attempts=attempts, concurrency=4, seed=3)


def test_nothing_leaks_and_nothing_is_left() -> None:
    report = attack(240)
    assert report.conclusion is Conclusion.CLEAN, "\n".join(report.sentences())
    assert guards(report) == {"search": True, "database": True, **ROWS}
    assert everything_is_gone()
    assert not SearchCredential.objects.exists() and not RetiredKey.objects.filter(membership__isnull=False).exists()
    assert documents_left() == 0
    ours = {str(tenant) for tenant in erasure.made("tenant")}
    assert ours and not [key.name for key in every_valid_key() if key.metadata["tenant"] in ours]


def test_a_later_run_removes_what_a_killed_one_left() -> None:
    world = building.build(random.Random(1))
    drain()
    search_plane().settle()
    somebody = world.of(Persona.RESIDENT)[0]
    forget(somebody.principal, kind=somebody.planted[0].kind, memory_id=somebody.planted[0].id)
    assert documents_left() > 100
    assert erasure.erase_leftovers() == 2
    assert everything_is_gone() and documents_left() == 0


def documents_left() -> int:
    """Documents that somebody could find."""
    checker = service_client(Identity.CHECKER)
    found = checker.search(index=list(reading_aliases()), query={"exists": {"field": "visibility"}}, size=0)
    return int(found["hits"]["total"]["value"])


def test_without_queries_in_the_keys_the_database_holds(no_query_in_keys: Break, no_filter_in_searches: Break) -> None:
    no_query_in_keys()
    no_filter_in_searches()
    report = attack()
    assert report.conclusion is Conclusion.GUARD_BROKEN, "\n".join(report.sentences())
    assert not report.leaks and guards(report) == {"search": False, "database": True, **ROWS}
    assert {"text", "id", "count"} <= {line.exposure for guard in report.guards for line in guard.findings}


def test_a_key_without_its_query_is_noticed_although_searches_name_their_owner(no_query_in_keys: Break) -> None:
    no_query_in_keys()
    report = attack(80)
    assert report.conclusion is Conclusion.GUARD_BROKEN and guards(report) == {
        "search": False,
        "database": True,
        **ROWS,
    }


def test_without_the_filter_of_the_load_step_the_keys_still_hold(no_load_filter: Break) -> None:
    no_load_filter()
    report = attack()
    assert report.conclusion is Conclusion.GUARD_BROKEN, "\n".join(report.sentences())
    assert not report.leaks and guards(report) == {"search": True, "database": False, **ROWS}


def test_without_any_there_are_leaks(
    no_query_in_keys: Break, no_filter_in_searches: Break, no_load_filter: Break, no_row_security: Break
) -> None:
    no_query_in_keys()
    no_filter_in_searches()
    no_load_filter()
    no_row_security()
    report = attack()
    assert report.conclusion is Conclusion.LEAK and report.leaked
    assert guards(report) == {"search": False, "database": False, **dict.fromkeys(ROWS, False)}
