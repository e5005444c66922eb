"""What the workers do for the members' keys: make those that are missing, replace old ones, end those that were taken.

Every task may run twice, late, or beside itself: a key is claimed before it is made, and ended as often as it takes.
A cluster that is away is no error here; each key remembers what is left to do.
"""

from __future__ import annotations

import logging

from memoryhub.celery import task
from tenants import search_keys
from tenants.errors import SearchKeysUnavailable

log = logging.getLogger(__name__)


@task("tenants.mint_waiting")
def mint_waiting() -> None:
    """Make the keys of members who wait for one."""
    search_keys.mint_waiting()


@task("tenants.revoke_waiting")
def revoke_waiting() -> None:
    """Have the cluster end the keys that were taken away."""
    search_keys.revoke_waiting()


@task("tenants.rotate_due")
def rotate_due() -> None:
    """Replace the keys that are old."""
    search_keys.rotate_due()


@task("tenants.end_orphans")
def end_orphans() -> None:
    """End the keys at the cluster that no member holds: whoever made them died before storing them."""
    try:
        ended = search_keys.end_orphans()
    except SearchKeysUnavailable as error:
        log.warning("Keys without a member could not be looked for: %s", error)
    else:
        if ended:
            log.warning("Ended %d key(s) that no member held.", ended)
