"""What production refuses in the identities, from the environment alone."""

from __future__ import annotations

import pytest

from memoryhub import env
from memoryhub.env import of_identities

GOOD = {"ELASTICSEARCH_INDEXER": "indexer:x", "ELASTICSEARCH_MINTER": "minter:x", "ELASTICSEARCH_MANAGER": ""}


def test_an_identity_for_each_task_is_fine() -> None:
    assert of_identities(GOOD | {"ELASTICSEARCH_CHECKER": "bGlrZSBhbiBBUEkga2V5"}) == []


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        pytest.param({"ELASTICSEARCH_SETUP": "admin:x"}, {"ELASTICSEARCH_SETUP"}, id="administrator"),
        pytest.param({"ELASTICSEARCH_MINTER": "elastic:x"}, {"ELASTICSEARCH_MINTER"}, id="superuser"),
        pytest.param(
            {"ELASTICSEARCH_MINTER": "indexer:y"}, {"ELASTICSEARCH_INDEXER", "ELASTICSEARCH_MINTER"}, id="one for two"
        ),
        pytest.param(
            {"ELASTICSEARCH_SETUP": "minter:x"},
            {"ELASTICSEARCH_SETUP", "ELASTICSEARCH_MINTER"},
            id="the administrator's user",
        ),
    ],
)
def test_what_could_do_too_much_is_named(changed: dict[str, str], named: set[str]) -> None:
    assert {problem.variable for problem in of_identities(GOOD | changed)} == named


def test_only_production_with_elasticsearch_is_strict() -> None:
    identities = {"ELASTICSEARCH_SETUP": "elastic:secret", "ELASTICSEARCH_URL": "http://localhost:9200"}
    for mode, search, refused in (
        ("production", "elasticsearch", True),
        ("development", "elasticsearch", False),
        ("production", "embedded", False),
    ):
        _, problems = env.read({"MEMORYHUB_ENV": mode, "MEMORYHUB_SEARCH": search, **identities})
        assert ("ELASTICSEARCH_SETUP" in {problem.variable for problem in problems}) is refused
        assert "secret" not in str([problem for problem in problems if problem.variable.startswith("ELASTICSEARCH")])
