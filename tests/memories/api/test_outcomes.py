"""Outcomes of playbooks by REST."""

from __future__ import annotations

from tests.memories.api.caller import Caller, Life


def test_refined_steps_make_a_new_version(ada: Caller, life: Life) -> None:
    told = ada.post(f"memories/{life.playbook}/outcome/", {"success": False, "refined_steps": ["Ring twice"]})
    assert (told.status, told.json["superseded_ids"]) == (201, [str(life.playbook)])
    assert told.json["memory"]["steps"] == ["Ring twice"]
    again = ada.post(f"memories/{life.playbook}/outcome/", {"success": True})
    assert (again.status, again.json["memory_id"]) == (200, told.json["memory_id"])


def test_only_playbooks_have_outcomes(ada: Caller, life: Life) -> None:
    assert ada.post(f"memories/{life.fact}/outcome/", {"success": True}).status == 409
    assert ada.post(f"memories/{life.playbook}/outcome/", {}).status == 400
    assert ada.post(f"memories/{life.playbook}/outcome/", {"success": True, "refined_steps": [""]}).status == 400
