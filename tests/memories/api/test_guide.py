"""The examples of the guide work as they stand."""

from __future__ import annotations

import itertools
import re
import shlex
from pathlib import Path

import pytest

from memories.api.urls import urlpatterns
from memories.services.policies import set_policy
from tenants.models import Tenant
from tenants.principal import SYSTEM, Right
from tests.memories.api.caller import Caller, Life, key_of

GUIDE = (Path(__file__).resolve().parents[3] / "docs" / "api.md").read_text()
EXAMPLES = [
    command.replace("\\\n", " ")
    for block in re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
    # A quoted body may have several lines; otherwise a command ends with its line.
    for command in re.findall(r"^curl (?:'[^']*'|\\\n|[^'\n])*", block, re.MULTILINE)
]


@pytest.mark.django_db(transaction=True)  # the search key of a new member is made after the commit
@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_answered(ada: Caller, life: Life, tenant: Tenant, example: str) -> None:
    set_policy(SYSTEM, tenant_id=tenant.id, provision_members=True)
    words = shlex.split(example)
    (address,) = (word.removeprefix("$API/") for word in words if word.startswith("$API/"))
    options = dict(itertools.pairwise(words))
    headers = dict(words[index + 1].split(": ", 1) for index, word in enumerate(words) if word == "-H")
    keys = {"Bearer $KEY": key_of(tenant), "Bearer $ADMIN": key_of(tenant, {Right.AUDIT, Right.ADMINISTER})}
    caller = {"Bearer $TOKEN": ada, **keys}[headers.pop("Authorization")]
    body = options["-d"].encode() if "-d" in options else None
    answer = caller.send(options.get("-X", "POST" if body else "GET"), address, body, **headers)
    assert answer.status in (200, 201, 202)
    assert answer.text


def test_there_are_examples_of_all_that_matters() -> None:
    wanted = "schema members context messages operations turns sessions recall consolidation memories reviews"
    wanted += " import export audit tenant items"
    assert {found for example in EXAMPLES for found in re.findall(r"\$API/(\w+)/", example)} == set(wanted.split())


def test_the_guide_names_every_change_of_a_memory() -> None:
    names = {str(pattern.name) for pattern in urlpatterns if "memory_id" in str(pattern.pattern)} - {"memory"}
    assert names == set(re.findall(r"/memories/\{id\}/(\w+)/", GUIDE))
