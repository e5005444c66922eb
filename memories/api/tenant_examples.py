"""Examples of the operations on events, webhooks, audit log, policy, erasures and holds."""

from __future__ import annotations

from typing import Any

from memories.api.examples import (
    ASKED_WHY,
    AT,
    FACT_ID,
    LATER,
    WHY,
    Json,
    OperationExample,
    asked_example,
    example_id,
    page_example,
)

_EVENT = {
    "id": example_id(16),
    "type": "memory.created",
    "timestamp": AT,
    "data": {
        "kind": "semantic",
        "id": FACT_ID,
        "user_id": "user-42",
        "member_id": example_id(17),
        "app": "",
        "actor": "key",
    },
}
_WEBHOOK = {
    "id": example_id(18),
    "url": "https://example.org/hooks/memory",
    "types": ["memory.created", "member.erased"],
    "description": "",
    "enabled": True,
    "trouble": "",
    "failures": 0,
    "delivered_at": None,
    "previous_until": None,
    "created_at": AT,
}
_NEW_WEBHOOK = {**_WEBHOOK, "secret": "whsec_…"}
_DELIVERY = {
    "event_id": example_id(16),
    "type": "memory.created",
    "state": "delivered",
    "attempts": 1,
    "status": 204,
    "error": "",
    "created_at": AT,
    "tried_at": AT,
    "next_try_at": AT,
}
_DIGEST = "9f2c" * 16
_ENTRY = {
    "id": example_id(17),
    "sequence": 4,
    "at": AT,
    "action": "fact.created",
    "what": "wrote down a fact “home city”",
    "actor": "Ada",
    "actor_kind": "member",
    "actor_id": example_id(18),
    "target_kind": "semantic",
    "target_id": FACT_ID,
    "owner_id": example_id(18),
    "request_id": "request-0001",
    "erased": False,
    "digest": _DIGEST,
    "previous_digest": _DIGEST,
    "fault": "",
}
_LOGGED = {**_ENTRY, "reason": "", "before": None, "after": {"text": "Lives in Edinburgh."}}
_VERIFIED = {
    "ok": True,
    "verified_up_to": 4,
    "digest": _DIGEST,
    "erased": 0,
    "first_bad": None,
    "reason": "",
    "checked_at": AT,
}
_HOLD = {
    "id": example_id(19),
    "user_id": "user-42",
    "owner_id": example_id(18),
    "reason": "Case 7.",
    "placed_at": AT,
    "released_at": None,
}
_POLICY: Json = {
    "instructions": "We sell bicycles. Note sizes and repairs.",
    "categories": ["repairs: what was mended, and when"],
    "never_words": ["salary"],
    "never_topics": ["health: doctor, back pain"],
    "apps": {"planner": {"never_topics": ["politics"]}},
    **dict.fromkeys(("recall_mode", "second_person"), ""),
    **dict.fromkeys(("keep_superseded", "keep_originals", "apps_apart", "reason_to_look"), False),
    **dict.fromkeys(("looks_name_staff", "provision_members"), True),
    **dict.fromkeys(
        ("recall_threshold", "session_hours", "consolidate_every", "consolidate_hours", "recall_items", "recall_tokens")
    ),
    **dict.fromkeys(("pinned_refresh_turns", "erasure_delay_hours", "exports_daily", "max_token_days")),
    "handling": {"phone": "mask"},
    "limits": {},
    "upstreams": {"openai": {"url": "https://api.openai.com/v1", "has_key": True, "model": ""}},
    "caller_keys": False,
    "updated_at": AT,
}


def _erasure(state: str, **members: Any) -> Json:
    asked = {**asked_example(state, LATER), "user_id": "user-42", "membership_id": example_id(20), **ASKED_WHY}
    times = {"asked_by_key": None, "decided_at": AT, "started_at": None, "finished_at": None}
    return {**asked, **times, "on_hold": False, "progress": {}, "trouble": "", "has_receipt": False, **members}


TENANT_EXAMPLES: dict[str, OperationExample] = {
    "events_list": OperationExample({"results": [_EVENT], "next_cursor": "gAAAAABp…", "has_more": False}),
    "webhooks_list": OperationExample(page_example(_WEBHOOK)),
    "webhooks_create": OperationExample(_NEW_WEBHOOK, {"url": _WEBHOOK["url"], "types": _WEBHOOK["types"]}, 201),
    "webhooks_read": OperationExample(_WEBHOOK),
    "webhooks_change": OperationExample({**_WEBHOOK, "types": []}, {"types": [], "enabled": True}),
    "webhooks_delete": OperationExample({**_WEBHOOK, "enabled": False}),
    "webhooks_rotate": OperationExample({**_NEW_WEBHOOK, "previous_until": LATER}, {"grace_hours": 24}),
    "webhooks_replay": OperationExample(_WEBHOOK, {"since": AT}, 202),
    "webhooks_deliveries": OperationExample(page_example(_DELIVERY)),
    "audit_list": OperationExample(page_example(_ENTRY)),
    "audit_read": OperationExample(_LOGGED),
    "audit_verify": OperationExample(_VERIFIED, {}),
    "tenant_audit_list": OperationExample(page_example(_ENTRY)),
    "tenant_audit_read": OperationExample(_LOGGED),
    "tenant_audit_verify": OperationExample(_VERIFIED, {}),
    "policy_read": OperationExample(_POLICY),
    "policy_change": OperationExample(_POLICY, {"never_topics": _POLICY["never_topics"]}),
    "me_erase": OperationExample(asked_example("asked"), ASKED_WHY, 202),
    "me_erase_withdraw": OperationExample(asked_example("refused")),
    "erasures_list": OperationExample(page_example(_erasure("asked", decided_at=None))),
    "erasures_create": OperationExample(_erasure("asked", decided_at=None), ASKED_WHY, 202),
    "erasures_read": OperationExample(_erasure("approved")),
    "erasures_approve": OperationExample(_erasure("approved"), {}),
    "erasures_withdraw": OperationExample(_erasure("refused"), WHY),
    "erasures_receipt": OperationExample(
        {"receipt": {"erasure": example_id(16), "erased": {"facts": 12}}, "digest": _DIGEST, "signature": "bWVt…"}
    ),
    "erasures_verify": OperationExample({"ok": True, "asked": 31, "troubles": []}, {}),
    "holds_list": OperationExample(page_example(_HOLD)),
    "holds_create": OperationExample(_HOLD, {"reason": "Case 7."}, 201),
    "holds_read": OperationExample(_HOLD),
    "holds_release": OperationExample({**_HOLD, "released_at": LATER}, WHY),
}
