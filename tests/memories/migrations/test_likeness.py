"""What was stored before there was a third gate is found by it too."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection

from memories.models import Fact, Playbook
from memories.services.facts.remember import remember_fact
from memories.services.playbooks import remember_playbook
from memories.services.facts.supersede import retire
from memories.types import Kind
from tenants.principal import Principal

pytestmark = pytest.mark.django_db


def test_what_is_believed_is_given_its_likeness(principal: Principal) -> None:
    ended = remember_fact(principal, text="I live in Leeds").memory_id
    retire(principal, kind=Kind.SEMANTIC, memory_id=ended)
    fact = remember_fact(principal, text="My dentist is Dr. Keller").memory_id
    how_to = remember_playbook(principal, title="Reset", trigger="E31", text="Carefully", steps=["Pull the plug"])
    stored = {row.pk: row.likeness for model in (Fact, Playbook) for row in model.objects.all()}
    for model in (Fact, Playbook):
        model.objects.update(likeness="")
    import_module("memories.migrations.0006_fill_likeness").fill(apps, SimpleNamespace(connection=connection))
    assert Fact.objects.get(pk=fact).likeness == stored[fact] != ""
    assert Playbook.objects.get().likeness == stored[how_to.memory_id] != ""
    assert Fact.objects.get(pk=ended).likeness == ""
