"""A program about erasing in a throwaway site: `python -m tests.proofs.erasing ACTION USERNAME [NUMBER]`.

`fill` gives a member NUMBER memories of each kind, each with their word; `ask` prints the id of an approved erasure;
`others` prints a digest for each row of everybody else's; `carry` carries the erasure out, slowly, for somebody to kill
it. A lease that the last process left behind counts as run out.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time

import django
import pytest

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
django.setup()

from django.db import connection  # noqa: E402 - after the set-up

from memories.models import ErasureRequest  # noqa: E402
from memories.search.outbox import drain  # noqa: E402
from memories.services.consolidation import consolidate  # noqa: E402
from memories.services.erasure.requests import ask_erasure  # noqa: E402
from memories.services.erasure.stages import carry_out  # noqa: E402
from memories.services.facts.remember import remember_fact  # noqa: E402
from memories.services.playbooks import remember_playbook  # noqa: E402
from memories.services.sessions.episodes import EpisodeDraft, remember_episodes  # noqa: E402
from memories.services.sessions.sessions import start_session  # noqa: E402
from tenants.models import Membership, User  # noqa: E402
from tenants.principal import SYSTEM  # noqa: E402
from tenants.principals import system_principal  # noqa: E402
from tests.unguarded import pass_tests  # noqa: E402

pass_tests(pytest.MonkeyPatch())

# After each batch: time in which the process may be killed.
BREATH_SECONDS = 0.02
# Tables that name a member by `user_id`, and change for other reasons than what the member keeps.
_OWN_AFFAIRS = {"memories_metricsample", "memories_hygienerun", "django_admin_log"}


def word_of(username: str) -> str:
    """A word that stands in all that a member keeps, in no one else's, and in no other word."""
    digits = hashlib.sha256(username.encode()).hexdigest()[:16]
    return "".join(chr(ord("g") + int(digit, 16)) for digit in digits)


def fill(membership: Membership, number: int) -> None:
    """Memories of each kind, indexed, and a run that read some."""
    principal, word = system_principal(membership), word_of(membership.user.username)
    session = start_session(principal, title=f"About {word}")
    drafts = [EpisodeDraft(f"Box {each} of {word} is open") for each in range(number)]
    remember_episodes(principal, session_id=session.pk, drafts=drafts)
    for each in range(number):
        remember_fact(principal, text=f"Keeps box {each} of {word}", key="box" if each % 3 == 0 else "")
    remember_playbook(principal, title=f"Open the box of {word}", steps=[f"Take {word}", "Turn it"])
    consolidate(principal)
    drain()


def others(membership: Membership) -> list[str]:
    """The table and a digest of each row that belongs to another member."""
    digests = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            columns = [each.name for each in connection.introspection.get_table_description(cursor, table)]
            if not {"tenant_id", "user_id"} <= set(columns) or table in _OWN_AFFAIRS:
                continue
            cursor.execute(f'SELECT * FROM "{table}"')  # noqa: S608 - names come from the schema
            whose = columns.index("user_id")
            digests += [
                f"{table} {hashlib.sha256(repr(row).encode()).hexdigest()}"
                for row in cursor.fetchall()
                if row[whose] not in {membership.user_id, membership.user_id.hex, str(membership.user_id)}
            ]
    return sorted(digests)


def main(action: str, username: str, number: str = "0") -> None:
    """Do one of them."""
    user = User.objects.filter(username=username).first()
    membership = Membership.objects.select_related("tenant", "user").filter(user=user).first() if user else None
    if action == "carry":
        request = ErasureRequest.objects.get(pk=username)
        ErasureRequest.objects.filter(pk=request.pk).update(leased_until=None)
        sys.stdout.write("erasing\n")
        sys.stdout.flush()
        carry_out(request.pk, noted=lambda _stage, _counts: time.sleep(BREATH_SECONDS))
        return
    assert membership is not None, username
    if action == "fill":
        fill(membership, int(number))
    elif action == "ask":
        sys.stdout.write(str(ask_erasure(SYSTEM, membership_id=membership.pk, reason="a proof").pk))
    else:
        sys.stdout.write(json.dumps(others(membership)))


if __name__ == "__main__":
    main(*sys.argv[1:])
