"""The errors of tenants: who may not do what, said without naming anybody else."""

from __future__ import annotations


class TenantsError(Exception):
    """Base of all errors that tenants raises on purpose."""


class Forbidden(TenantsError):
    """The principal lacks the right for this; the message names the right, never the object."""


class NoMembership(TenantsError):
    """The user belongs to no active tenant, or not to this one."""


class InvalidValue(TenantsError):
    """A value that a tenant, member or token cannot have; nothing was stored."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


class AuditConflict(TenantsError):
    """Two writers met on one audit chain: its lock was not held. The whole transaction must be undone."""


class NoSearchKey(TenantsError):
    """The member has no key to search with now; `state` says why in a word, the message in a sentence."""

    def __init__(self, state: str, message: str) -> None:
        super().__init__(message)
        self.state = state


class SearchKeysUnavailable(TenantsError):
    """The cluster did not make, read or end a key. `trouble` is why, in a word (KeyTrouble), the message a sentence."""

    def __init__(self, trouble: str, message: str) -> None:
        super().__init__(message)
        self.trouble = trouble
