"""Service identities at Elasticsearch: `setup` creates them; `check` and a system check compare them with cluster.py.

An identity is a user with one role that this code defines, or an API key with the same rights. `setup` changes no other
user. No message repeats a password, a key or Elasticsearch's answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register
from elastic_transport import ConnectionTimeout, TlsError, TransportError
from elasticsearch import ApiError, BadRequestError, Elasticsearch

from memoryhub.elasticsearch import SERVICE_SECONDS, Identity, NoCredential, in_use, service_client
from memoryhub.installation import PROGRAM
from tenants.errors import SearchKeysUnavailable, TenantsError
from tenants.search_keys import cluster
from tenants.search_keys.cluster import SERVICES, Rights, installation, rights_of, role_name
from tenants.search_keys.lifecycle import temporary_key

START_SECONDS = 30.0
SHORTEST_PASSWORD = 8
PROOF_LIFETIME = timedelta(minutes=1)
_LICENCES_WITH_QUERIES = frozenset({"trial", "platinum", "enterprise"})
_UNAUTHORIZED, _FORBIDDEN, _MISSING, _UNAVAILABLE = 401, 403, 404, 503
NO_ANSWER = "The search cluster does not answer."
NO_SECURITY = "Security is off at the search cluster; set xpack.security.enabled."
Answer = TypeVar("Answer")


class ClusterUnready(TenantsError):
    """Elasticsearch cannot be used as it is configured; the message says what to do."""


class ClusterUnreachable(ClusterUnready):
    """Elasticsearch does not answer."""


@dataclass(frozen=True, slots=True)
class IdentityReport:
    """An identity's user, and each difference from the rights that `setup` gives."""

    identity: Identity
    user: str
    problems: tuple[str, ...]
    is_superuser: bool = False

    @property
    def ok(self) -> bool:
        """True without problems."""
        return not self.problems


def setup() -> list[str]:
    """Create or update the roles and users of the service identities; returns a line for each.

    Needs ELASTICSEARCH_SETUP and the credentials of the four. Raises ClusterUnready, before any change if the licence
    or a credential is wrong.
    """
    setting_up = service_client_or_unready(Identity.SETUP)
    me = _once_started(setting_up.security.authenticate, "ELASTICSEARCH_SETUP")["username"]
    require_licence(setting_up, "ELASTICSEARCH_SETUP")
    credentials = {identity: _credential(identity) for identity in SERVICES}
    users = {identity: user for identity, (user, password) in credentials.items() if password}
    if len({*users.values(), me}) != len(users) + 1:
        raise ClusterUnready("Give each identity a user of its own; ELASTICSEARCH_SETUP is none of them.")
    for identity, user in users.items():
        _require_ours(setting_up, identity, user)
    done = []
    for identity in SERVICES:
        name = role_name(identity)
        _once_started(
            partial(setting_up.security.put_role, name=name, **rights_of(identity).role), "ELASTICSEARCH_SETUP"
        )
        done.append(f"role {name}")
    for identity, user in users.items():
        _put_user(setting_up, identity, user, credentials[identity][1])
        done.append(f"user {user}")
    return done


def check() -> list[IdentityReport]:
    """Compare every service identity with what `setup` would make. Raises ClusterUnreachable."""
    return [describe(identity) for identity in SERVICES]


def describe(identity: Identity, *, seconds: float = SERVICE_SECONDS) -> IdentityReport:
    """Compare one identity with what `setup` would make. Raises ClusterUnreachable."""
    try:
        client = service_client(identity).options(request_timeout=seconds)
        me: Mapping[str, Any] = _ask(client.security.authenticate, f"ELASTICSEARCH_{identity.name}").body
        found = _privileges(client, me)
    except NoCredential:
        return IdentityReport(identity, "", (f"ELASTICSEARCH_{identity.name} is not set.",))
    except ClusterUnreachable:
        raise
    except ClusterUnready as error:
        return IdentityReport(identity, "", (str(error),))
    unlimited = _is_unlimited(me, found)
    problems = ("It is a superuser.",) if unlimited else tuple(_differences(rights_of(identity), found))
    return IdentityReport(identity, str(me["username"]), problems, unlimited)


def require_licence(client: Elasticsearch, whose: str) -> None:
    """Raise ClusterUnready unless the licence has document-level security.

    `whose` is the variable of `client`'s user.
    """
    licence = _once_started(client.license.get, whose)["license"]
    if licence["status"] != "active" or licence["type"] not in _LICENCES_WITH_QUERIES:
        raise ClusterUnready(
            f"The licence of the search cluster ({licence['type']}, {licence['status']}) has no document-level"
            " security; a trial, Platinum or Enterprise licence has."
        )


def prove_search() -> str:
    """Make a member's key that lives for a minute and search with it; returns the fault, empty on success."""
    try:
        key = temporary_key(uuid4(), uuid4(), lifetime=PROOF_LIFETIME)
        cluster.prove(key.encoded)
    except SearchKeysUnavailable as error:
        return str(error)
    return ""


def no_answer(error: TransportError) -> str:
    """A message with a hint where to look. The transport's own message is left out, since it may contain an address."""
    if isinstance(error, TlsError):
        return f"{NO_ANSWER} TLS failed: look at ELASTICSEARCH_URL (https or http) and ELASTICSEARCH_CA_CERTS."
    if isinstance(error, ConnectionTimeout):
        return f"{NO_ANSWER} It took too long."
    return f"{NO_ANSWER} No connection: look at ELASTICSEARCH_URL, and whether it runs."


def service_client_or_unready(identity: Identity) -> Elasticsearch:
    """The client of an identity. Raises ClusterUnready if it is not configured."""
    try:
        return service_client(identity)
    except NoCredential as error:
        raise ClusterUnready(str(error)) from None


def _credential(identity: Identity) -> tuple[str, str]:
    """User and password. An API key has an empty password; `setup` makes no user for it. Raises ClusterUnready."""
    credential = settings.ELASTICSEARCH_CREDENTIALS.get(identity.value, "")
    if not credential:
        raise ClusterUnready(f"Set ELASTICSEARCH_{identity.name} to user:password; setup makes that user.")
    user, colon, password = credential.partition(":")
    if colon and len(password) < SHORTEST_PASSWORD:
        raise ClusterUnready(
            f"Give ELASTICSEARCH_{identity.name} a password of {SHORTEST_PASSWORD} characters or more."
        )
    return user, password


def _require_ours(setting_up: Elasticsearch, identity: Identity, user: str) -> None:
    """Raise ClusterUnready if the user exists without exactly this identity's role."""
    everybody = _once_started(setting_up.security.get_user, "ELASTICSEARCH_SETUP")
    if user in everybody and everybody[user]["roles"] != [role_name(identity)]:
        raise ClusterUnready(
            f"The user in ELASTICSEARCH_{identity.name} exists and is not the {identity.value} of {installation()!r};"
            " give another name."
        )


def _put_user(setting_up: Elasticsearch, identity: Identity, user: str, password: str) -> None:
    put = partial(setting_up.security.put_user, username=user, password=password, roles=[role_name(identity)])
    try:
        _once_started(put, "ELASTICSEARCH_SETUP")
    except ClusterUnready as error:
        if isinstance(error.__context__, BadRequestError):
            raise ClusterUnready(
                f"The search cluster does not take the user name or the password in ELASTICSEARCH_{identity.name}."
            ) from None
        raise


def _privileges(client: Elasticsearch, me: Mapping[str, Any]) -> Mapping[str, Any]:
    """The rights of an identity: a user's privileges, or the one role descriptor of an API key."""
    if me["authentication_type"] != "api_key":
        granted: Mapping[str, Any] = _ask(client.security.get_user_privileges, "This identity").body
        return granted
    key_id = me["api_key"]["id"]
    (key,) = _ask(lambda: client.security.get_api_key(id=key_id, owner=True), "This identity")["api_keys"]
    descriptors: Mapping[str, Any] = key["role_descriptors"]
    if len(descriptors) > 1:
        raise ClusterUnready("This API key has more than one role.")
    # A key without descriptors has its maker's rights; treat it as unlimited.
    return next(iter(descriptors.values()), {"cluster": ["all"], "indices": []})


def _is_unlimited(me: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    everything = any({"all"} <= {*entry["privileges"]} and "*" in entry["names"] for entry in found["indices"])
    return "superuser" in me["roles"] or "all" in found["cluster"] or everything


def _differences(wanted: Rights, found: Mapping[str, Any]) -> list[str]:
    problems = []
    opened: dict[str, set[str]] = {"the cluster": {*found["cluster"]}}
    for entry in found["indices"]:
        if entry.get("query") or entry.get("field_security") or entry.get("allow_restricted_indices"):
            problems.append("It has an entry with a query, with fields, or for the cluster's own indices.")
        for name in entry["names"]:
            opened.setdefault(name, set()).update(entry["privileges"])
    needed = {"the cluster": wanted.cluster, **wanted.indices}
    places: dict[str, list[str]] = {}  # grouped by privileges to shorten the report
    for name in sorted({*opened, *needed}):
        has, needs = opened.get(name, set()), needed.get(name, frozenset())
        for verb, privileges in (("has", has - needs), ("lacks", needs - has)):
            if privileges:
                places.setdefault(f"It {verb} {', '.join(sorted(privileges))}", []).append(name)
    problems += [f"{what} on {', '.join(names)}." for what, names in places.items()]
    others = ("applications", "run_as", "global", "remote_indices", "remote_cluster")
    return problems + [f"It has rights of the kind {name}." for name in others if found.get(name)]


def _ask(request: Callable[[], Answer], whose: str) -> Answer:
    """The answer. Raises ClusterUnreachable, ClusterUnready; `whose` names the variable of the credential."""
    try:
        return request()
    except TransportError as error:
        raise ClusterUnreachable(no_answer(error)) from None
    except ApiError as error:
        raise _unready(error, whose) from None


def _once_started(request: Callable[[], Answer], whose: str) -> Answer:
    """Like `_ask`, but retries for START_SECONDS: a starting Elasticsearch loads its licence and users last."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            return _ask(request, whose)
        except ClusterUnready as error:
            cause = error.__context__
            starting = isinstance(cause, ApiError) and cause.meta.status in {_MISSING, _UNAVAILABLE}
            if not starting or time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def _unready(error: ApiError, whose: str) -> ClusterUnready:
    if "no handler found" in str(error.body):
        return ClusterUnready(NO_SECURITY)
    if error.meta.status == _UNAUTHORIZED:
        return ClusterUnready(f"{whose}: the search cluster does not know this user and password, or key.")
    if error.meta.status == _FORBIDDEN:
        return ClusterUnready(f"{whose}: the search cluster does not allow this user what it needs.")
    return ClusterUnready(f"The search cluster answered with error {error.meta.status}.")


# Keeps the start of the application short; `manage.py elasticsearch check` waits longer.
CHECK_SECONDS = 2.0


@register(Tags.security)
def identities_are_limited(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:  # noqa: ARG001 - Django's signature
    """System check: an error for an identity that is a superuser, a warning for any other difference."""
    if not (settings.PRODUCTION and in_use() and settings.ELASTICSEARCH_URLS):
        return []
    messages: list[CheckMessage] = []
    for identity in SERVICES:
        if not settings.ELASTICSEARCH_CREDENTIALS.get(identity.value):
            continue
        try:
            messages += _said_of(identity)
        except ClusterUnreachable:
            hint = "The search cluster does not answer, so nobody knows what the service identities may do."
            return [
                *messages,
                checks.Warning("The service identities could not be checked.", hint=hint, id="tenants.W001"),
            ]
    return messages


def _said_of(identity: Identity) -> list[CheckMessage]:
    report = describe(identity, seconds=CHECK_SECONDS)
    variable = f"ELASTICSEARCH_{identity.name}"
    if report.is_superuser:
        hint = f"Let `{PROGRAM} elasticsearch setup` make a user for it."
        return [Error(f"{variable} is a superuser at the search cluster.", hint=hint, id="tenants.E001")]
    if report.ok:
        return []
    hint = f"{' '.join(report.problems[:3])} See `{PROGRAM} elasticsearch check`."
    return [
        checks.Warning(f"{variable} is not as `{PROGRAM} elasticsearch setup` makes it.", hint=hint, id="tenants.W002")
    ]
