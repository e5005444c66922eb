"""A tenant's members as SCIM reads and writes them, by the services of `tenants/people.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn, cast
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from scim2_models import (
    ForbiddenException,
    InvalidFilterException,
    InvalidValueException,
    Meta,
    NotFoundException,
    NotImplementedException,
    Resource,
    ResourceType,
    SearchRequest,
    UniquenessException,
)
from scim2_models.path import CompareOperator, Comparison
from scim2_server.storage import ScimStorage, SearchPage

from memories.api.scim.resources import Email, GroupOfUser, MemberOfGroup, ScimGroup, ScimUser
from tenants.errors import Forbidden, InvalidValue, is_storable
from tenants.people import DirectoryEntry, KnownMember, Taken, add_person, change_person, people_of, remove_person
from tenants.principal import KeyHolder, Role
from tenants.services import change_role

_GROUPS = {role.value: role for role in Role if role is not Role.MEMBER}
_COLUMNS = {"username": "known_as__iexact", "externalid": "external_id", "id": "pk"}
_SCIM_NAMES = {"user_name": "userName", "external_id": "externalId", "email": "emails", "display_name": "displayName"}


class TenantStorage(ScimStorage):
    """The members and roles of the tenant of one key; nothing of another tenant exists for it."""

    def __init__(self, key: KeyHolder) -> None:
        self.key = key

    @contextmanager
    def operation(self) -> Iterator[None]:
        """One transaction, whose errors are those of SCIM."""
        try:
            with transaction.atomic():
                yield
        except Taken as error:
            raise UniquenessException(detail=_said(error)) from None
        except InvalidValue as error:
            raise InvalidValueException(detail=_said(error)) from None
        except Forbidden as error:
            raise ForbiddenException(detail=str(error)) from None

    def get(self, resource_type: ResourceType, resource_id: str, *, response_parameters: Any = None) -> Resource[Any]:  # noqa: ARG002
        """Read a user or a group. Raises NotFoundException."""
        if resource_type.name == "Group":
            return self._group(resource_id)
        return _user(self._member(resource_id))

    def search(
        self,
        resource_types: list[ResourceType],
        search_request: SearchRequest[Any],
        *,
        position: Any = None,  # noqa: ARG002
    ) -> SearchPage:
        """A page of users, or of groups. Raises InvalidFilterException for all but the equality of a name or id."""
        if len(resource_types) > 1:
            raise NotImplementedException(detail="Search in /Users or in /Groups.")
        start = search_request.start_index_0 or 0
        stop = start + (search_request.count or 0)
        if resource_types[0].name == "Group":
            asked, every = search_request.filter, [self._group(name) for name in _GROUPS]
            found: list[Resource[Any]] = [each for each in every if asked is None or asked.match(each)]
            return SearchPage(len(found), found[start:stop])
        rows = _filtered(people_of(self.key.tenant_id), search_request.filter)
        return SearchPage(rows.count(), [_user(each) for each in rows[start:stop]])

    def create(self, resource_type: ResourceType, resource: Resource[Any]) -> Resource[Any]:
        """Add a person. Groups are roles, so there are no others."""
        if not isinstance(resource, ScimUser):
            self._refuse_group(resource_type)
        made = add_person(self.key.tenant_id, _person(resource, active=True), actor=self.key.actor)
        return _user(self._member(str(made.pk)))

    def update(
        self,
        resource_type: ResourceType,
        resource: Resource[Any],
        *,
        expected_version: str | None = None,  # noqa: ARG002
    ) -> Resource[Any]:
        """Change a person, or who has a role."""
        if not isinstance(resource, ScimUser):
            return self._update_group(cast("ScimGroup", resource))
        member = self._member(str(resource.id), lock=True)
        change_person(member, _person(resource, active=member.is_active), actor=self.key.actor)
        return self.get(resource_type, str(resource.id))

    def delete(self, resource_type: ResourceType, resource_id: str, *, expected_version: str | None = None) -> None:  # noqa: ARG002
        """Remove a person: they are deactivated, and their names are free."""
        if resource_type.name == "Group":
            self._refuse_group(resource_type)
        remove_person(self._member(resource_id, lock=True), actor=self.key.actor)

    def _member(self, resource_id: str, *, lock: bool = False) -> KnownMember:
        rows = people_of(self.key.tenant_id)
        if lock:
            rows = rows.select_for_update(of=("self",), no_key=True)
        found = rows.filter(pk=pk).first() if (pk := _uuid(resource_id)) else None
        if found is None:
            raise NotFoundException(detail="There is no such user.")
        return found

    def _group(self, name: str) -> ScimGroup:
        if name not in _GROUPS:
            raise NotFoundException(detail="There is no such group.")
        members = [
            MemberOfGroup(value=str(each.pk), ref=f"Users/{each.pk}", display=each.user.speaker)
            for each in people_of(self.key.tenant_id).filter(role=name)
        ]
        return ScimGroup(id=name, display_name=name, members=members or None, meta=Meta(resource_type="Group"))

    def _update_group(self, group: ScimGroup) -> ScimGroup:
        role = _GROUPS[str(group.id)]
        if "members" not in group.model_fields_set:  # a replacement that does not speak of them keeps them
            return self._group(role.value)
        wanted = {str(each.value) for each in group.members or []}
        now = {str(each.pk): each for each in people_of(self.key.tenant_id).filter(role=role)}
        for pk in sorted(wanted - now.keys()):
            try:
                change_role(self._member(pk), role=role, actor=self.key.actor)
            except NotFoundException:
                raise InvalidValueException(detail="members: names a user who is not there.") from None
        for pk in sorted(now.keys() - wanted):
            change_role(now[pk], role=Role.MEMBER, actor=self.key.actor)
        return self._group(role.value)

    @staticmethod
    def _refuse_group(resource_type: ResourceType) -> NoReturn:
        names = ", ".join(_GROUPS)
        raise ForbiddenException(detail=f"The groups are the roles {names}: add users to them. ({resource_type.name})")


def _user(member: KnownMember) -> ScimUser:
    """The resource of a member that `people_of` found."""
    user, known_as, groups = member.user, member.known_as or f"member-{member.pk}", None
    if member.role in _GROUPS:
        groups = [GroupOfUser(value=member.role, ref=f"Groups/{member.role}", display=member.role)]
    return ScimUser(
        id=str(member.pk),
        external_id=member.external_id or None,
        user_name=known_as,
        display_name=user.display_name if user.display_name != known_as else None,
        active=member.is_active,
        emails=[Email.model_construct(value=user.email, type="work", primary=True)] if user.email else None,
        groups=groups,
        meta=Meta(resource_type="User", created=member.created_at),
    )


def _person(resource: ScimUser, *, active: bool) -> DirectoryEntry:
    """What a resource says; `active` if it does not say whether the person is."""
    emails = sorted(resource.emails or [], key=lambda each: not each.primary)
    return DirectoryEntry(
        user_name=resource.user_name or "",
        external_id=resource.external_id or "",
        name=resource.display_name or "",
        email=next((str(each.value) for each in emails if each.value), ""),
        active=active if resource.active is None else resource.active,
    )


def _filtered(rows: QuerySet[KnownMember, KnownMember], asked: Any) -> QuerySet[KnownMember, KnownMember]:
    if asked is None:
        return rows
    node = asked.ast
    column = _COLUMNS.get(str(node.attr_path).rpartition(":")[2].lower()) if isinstance(node, Comparison) else None
    if column is None or node.op != CompareOperator.eq or not isinstance(node.value, str):
        raise InvalidFilterException(detail='Filter by userName, externalId or id with eq, such as userName eq "ada".')
    value: str | UUID | None = _uuid(node.value) if column == "pk" else node.value
    return rows.filter(**{column: value}) if value and is_storable(str(value)) else rows.none()


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _said(error: InvalidValue, names: Mapping[str, str] = _SCIM_NAMES) -> str:
    return f"{names.get(error.field, error.field)}: {error.reason}"
