"""The badge of a chain's verification: what `templates/admin/_verification.html` shows."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tenants.models import ChainCheck, Checked

# A stored reason names a memory by its kind and id; people call the kinds so.
_CALLED = {"semantic": "fact", "procedural": "how-to"}
_NAMED = re.compile(rf"(?P<kind>{'|'.join(_CALLED)})(?= (?:[0-9a-f]{{8}}-|without an id))")


def why_broken(check: ChainCheck) -> str:
    """What is wrong with a chain, as people read it."""
    return _NAMED.sub(lambda match: _CALLED[match["kind"]], check.reason, count=1)


@dataclass(frozen=True, slots=True)
class Badge:
    """The latest proof of a chain (None: never proven) and where to post for a new one (empty: not for this reader).

    `bad_event_url` is the page of the first bad event, where there is one that the reader may open; `back` is the page
    to return to.
    """

    what: Checked
    check: ChainCheck | None
    verify_url: str = ""
    bad_event_url: str = ""
    back: str = ""

    @property
    def title(self) -> str:
        """What is verified."""
        return "Audit trail" if self.what is Checked.AUDIT else "Supersession"

    @property
    def why(self) -> str:
        """What is wrong, if anything is."""
        return why_broken(self.check) if self.check else ""

    @property
    def state(self) -> str:
        """good, bad, or unknown; a class name."""
        if self.check is None:
            return "unknown"
        return "good" if self.check.ok else "bad"

    @property
    def counted(self) -> str:
        """Such as `12 events`: how many were good."""
        count = self.check.count if self.check else 0
        noun = "event" if self.what is Checked.AUDIT else "memory"
        plural = "events" if self.what is Checked.AUDIT else "memories"
        return f"{count} {noun if count == 1 else plural}"
