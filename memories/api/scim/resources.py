"""The SCIM resources that are served, with the attributes that are kept; all others are accepted and dropped.

Directories send many attributes that mean nothing here, and take an error for a failure of the whole person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import EmailStr, Field
from scim2_models import (
    URN,
    AuthenticationScheme,
    Bulk,
    CaseExact,
    ChangePassword,
    ComplexAttribute,
    ETag,
    Filter,
    Mutability,
    Patch,
    Reference,
    Required,
    Resource,
    ScimPolicy,
    ScimProvider,
    ServiceProviderConfig,
    Sort,
    Uniqueness,
)

PAGE = 200
# The types of resources that references name, which are no classes here.
if TYPE_CHECKING:
    _Users = Reference[Any]
    _Groups = Reference[Any]
else:
    _Users, _Groups = Reference["User"], Reference["Group"]


class Email(ComplexAttribute):
    """An e-mail address; the primary one, or else the first, is kept, as that of work."""

    value: EmailStr | None = None
    type: str | None = Field(None, examples=["work"])
    primary: bool | None = None


class GroupOfUser(ComplexAttribute):
    """A group that a user is in."""

    value: Annotated[str | None, Mutability.read_only, CaseExact.true] = None
    ref: Annotated[_Groups | None, Mutability.read_only] = Field(
        None, serialization_alias="$ref", validation_alias="$ref"
    )
    display: Annotated[str | None, Mutability.read_only] = None


class ScimUser(Resource[Any]):
    """A member of the tenant."""

    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:User")

    user_name: Annotated[str | None, Uniqueness.server, Required.true] = None
    display_name: str | None = None
    active: bool | None = None
    emails: list[Email] | None = None
    groups: Annotated[list[GroupOfUser] | None, Mutability.read_only] = None


class MemberOfGroup(ComplexAttribute):
    """A user in a group."""

    value: Annotated[str | None, Mutability.immutable, CaseExact.true] = None
    ref: Annotated[_Users | None, Mutability.immutable] = Field(
        None, serialization_alias="$ref", validation_alias="$ref"
    )
    display: Annotated[str | None, Mutability.read_only] = None


class ScimGroup(Resource[Any]):
    """A role of staff, with those who have it. Whoever is in none is an ordinary member."""

    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:Group")

    display_name: Annotated[str | None, Required.true, Mutability.immutable] = None
    members: list[MemberOfGroup] | None = None


# As schemas and resource types name them.
ScimUser.__name__, ScimGroup.__name__ = "User", "Group"
PROVIDER = ScimProvider(
    models=[ScimUser, ScimGroup],
    config=ServiceProviderConfig(
        patch=Patch(supported=True),
        bulk=Bulk(supported=False, max_operations=0, max_payload_size=0),
        filter=Filter(supported=True, max_results=PAGE),
        change_password=ChangePassword(supported=False),
        sort=Sort(supported=False),
        etag=ETag(supported=False),
        authentication_schemes=[
            AuthenticationScheme(
                type=AuthenticationScheme.Type.oauthbearertoken,
                name="Backend key",
                description="A backend key of the tenant with the scope people.",
                primary=True,
            )
        ],
    ),
    policy=ScimPolicy(
        unknown=ScimPolicy.Unknown.ignore,
        remove_value_as_filter=ScimPolicy.RemoveValue.apply,
        unmatched_path_filter=ScimPolicy.UnmatchedPathFilter.create,
    ),
)
