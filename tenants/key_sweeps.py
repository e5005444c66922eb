"""The thread of a web process that looks after the members' keys where no Celery does.

Invariant: it does what the tasks do (tenants/tasks.py), and several of it do no harm: keys are claimed one by one.
"""

from __future__ import annotations

from collections.abc import Callable

from memoryhub import background
from memoryhub.background import Repeated
from memoryhub.elasticsearch import in_use
from tenants.search_keys import mint_waiting, revoke_waiting, rotate_due

SWEEP_SECONDS = 5.0


class KeySweeper(Repeated):
    """Makes, replaces and ends keys every `pause` seconds."""

    def __init__(self, pause: float = SWEEP_SECONDS) -> None:
        super().__init__("key-sweeper", sweep, pause=pause)


def sweep() -> None:
    """Do everything about keys that is due."""
    revoke_waiting()
    mint_waiting()
    rotate_due()


def serve() -> Callable[[], None]:
    """Start the thread where there are keys and no Celery looks after them; return what stops it again."""
    return background.serve(KeySweeper(), wanted=in_use())
