"""Limits admin pages to the rows that a user may see: all for superusers, those of their roles' tenants for staff.

A row of another tenant is not in the queryset: its address answers 404, and no choice, filter or search offers it. Only
roles decide; Django's model permissions are not used.

A query string names a tenant by `?tenant=` and its slug or id; `platform` means rows that belong to no tenant. Pages
with totals show all tenants unless one is named (`scope_of`); audit logs and histories show one at a time (`one_of`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import MAXYEAR, MINYEAR, datetime
from typing import Any, TypeVar
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.exceptions import DisallowedModelAdminToField
from django.contrib.admin.filters import SimpleListFilter
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ORDER_VAR, ChangeList
from django.contrib.admin.widgets import RelatedFieldWidgetWrapper
from django.core.exceptions import PermissionDenied
from django.db.models import DateTimeField, Field, ForeignKey, Func, Model, QuerySet, Value
from django.db.models.constants import LOOKUP_SEP
from django.db.models.functions import Coalesce, Lower, NullIf
from django.forms import ModelChoiceField
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from memoryhub.languages import gettext_lazy
from memoryhub.reauthentication import ask_password
from tenants import services
from tenants.errors import InvalidValue, TenantsError, is_storable
from tenants.middleware import memberships_here, request_id_of
from tenants.models import Membership, Tenant, User
from tenants.principal import Actor, ActorKind, Role
from tenants.selectors import memberships_of, tenant_ids_of
from tenants.usernames import is_made_up

Row = TypeVar("Row", bound=Model)
Switched = TypeVar("Switched", Membership, Tenant, User)
_LONGEST_SEARCH = 200


def signed_in(request: HttpRequest) -> User:
    """The user of an admin page. Raises TypeError if nobody is signed in."""
    if not isinstance(request.user, User):
        raise TypeError("An admin page without a signed-in user.")
    return request.user


def acting(request: HttpRequest) -> Actor:
    """The staff member of this request, as the actor of audit events."""
    return Actor(ActorKind.STAFF, signed_in(request).id, request_id_of(request))


def roles_held(request: HttpRequest) -> frozenset[Role]:
    """The roles that the user of this request has in any tenant."""
    return frozenset(Role(each.role) for each in memberships_here(request, signed_in(request)))


def role_here(request: HttpRequest, tenant_id: UUID) -> Role | None:
    """The user's role in the tenant; None if they have none."""
    held = (each.role for each in memberships_here(request, signed_in(request)) if each.tenant_id == tenant_id)
    return next(map(Role, held), None)


def tenants_here(request: HttpRequest, roles: Sequence[Role]) -> list[UUID]:
    """The ids of the tenants where the user of this request has one of `roles`."""
    held = memberships_here(request, signed_in(request))
    return [each.tenant_id for each in held if each.role in roles]


def tenants_within(user: User, roles: Sequence[Role]) -> QuerySet[Tenant]:
    """The tenants where `user` has one of `roles`, sorted by name; a superuser gets all."""
    tenants = Tenant.objects.all()
    return tenants if user.is_superuser else tenants.filter(pk__in=tenant_ids_of(user, roles))


class ScopedChangeList(ChangeList):
    """A list that also marks the column by whose expression it is sorted at first, such as `by_name`."""

    def get_ordering_field_columns(self) -> dict[int, Any]:
        found: dict[int, Any] = super().get_ordering_field_columns()
        if found or ORDER_VAR in self.params:
            return found
        ordering: Sequence[Any] = self.model_admin.ordering or ()  # Django takes expressions, too
        first = [each for each in ordering if isinstance(each, Func)]
        return {at: "asc" for at, name in enumerate(self.list_display) if self.get_ordering_field(name) in first}


class TenantScopedAdmin(admin.ModelAdmin[Row]):
    """Base of admin pages: shows rows whose `tenant_lookup` is a tenant where the user has one of `roles`.

    The forms of a `confirmed` page want a password that was given in the last minutes.
    """

    list_per_page = 50
    empty_value_display = "–"
    list_before_template = ""  # a template that is included above the list
    formfield_overrides = {
        DateTimeField: {
            "form_class": forms.SplitDateTimeField,
            "widget": forms.SplitDateTimeWidget(
                date_format="%Y-%m-%d",
                date_attrs={"placeholder": "2026-03-31", "aria-label": gettext_lazy("Day")},
                time_format="%H:%M",
                time_attrs={"placeholder": "14:05", "aria-label": gettext_lazy("Time")},
            ),
        }
    }
    tenant_lookup = "tenant_id"
    roles: Sequence[Role] = (Role.ADMIN,)
    confirmed = False
    refusals: tuple[type[Exception], ...] = (TenantsError,)  # the errors that a form shows
    form_names: Mapping[str, str] = {}  # the form's field for a field that a service names otherwise

    def in_scope(self, request: HttpRequest, rows: QuerySet[Row]) -> QuerySet[Row]:
        """The rows among `rows` that this user may see."""
        user = signed_in(request)
        # A memory's queryset requires a scope (`memories/models/guard.py`); here the user's roles limit the rows.
        rows = getattr(rows, "unscoped", lambda _reason: rows)("staff look at their tenants")
        if user.is_superuser:
            return rows
        return rows.filter(**{f"{self.tenant_lookup}__in": tenants_here(request, self.roles)})

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:  # noqa: ARG002
        return ScopedChangeList

    def get_queryset(self, request: HttpRequest) -> QuerySet[Row]:
        return self.in_scope(request, super().get_queryset(request))

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Row | None:
        """Like Django's, but refuses an empty `_to_field`, which Django does not check.

        Raises DisallowedModelAdminToField.
        """
        if from_field == "":
            raise DisallowedModelAdminToField("A field without a name cannot be referenced.")
        return super().get_object(request, object_id, from_field)

    def formfield_for_foreignkey(
        self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> ModelChoiceField[Any] | None:
        """Offer only active tenants where the user has one of `roles`."""
        if db_field.name == "tenant":
            kwargs["queryset"] = tenants_within(signed_in(request), self.roles).filter(is_active=True)
            if len(only := kwargs["queryset"][:2]) == 1:
                kwargs["initial"] = only[0]
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def formfield_for_dbfield(
        self, db_field: Field[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> forms.Field | None:
        """Django's field without its links to add or change what is chosen: the sidebar leads there."""
        field: Any = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is not None and isinstance(field.widget, RelatedFieldWidgetWrapper):
            field.widget = field.widget.widget
        return field  # type: ignore[no-any-return]

    @property
    def media(self) -> forms.Media:
        """Nothing: the frame has the scripts of lists and forms, and needs no jQuery."""
        return forms.Media()

    def may_enter(self, request: HttpRequest) -> bool:
        """Whether the user may open the page: a superuser, or staff with one of `roles` in any tenant."""
        user = request.user
        return isinstance(user, User) and (user.is_superuser or not roles_held(request).isdisjoint(self.roles))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.may_enter(request)

    def has_view_permission(self, request: HttpRequest, obj: Row | None = None) -> bool:  # noqa: ARG002 - see get_queryset
        return self.may_enter(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.may_enter(request)

    def has_change_permission(self, request: HttpRequest, obj: Row | None = None) -> bool:  # noqa: ARG002
        return self.may_enter(request)

    def has_delete_permission(self, request: HttpRequest, obj: Row | None = None) -> bool:  # noqa: ARG002
        return False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:  # type: ignore[override]  # Django 6's, which has one
        """Allow only lookups that the list's filters offer.

        Django would accept any column, and its answers would reveal columns that no page shows: whether a token's
        digest begins with a letter, or whether a member belongs to another tenant.
        """
        offered = map(_name, self.get_list_filter(request))
        may_ask = lookup.partition(LOOKUP_SEP)[0] not in _names(self.model) or any(
            lookup == name or lookup.startswith(f"{name}{LOOKUP_SEP}") for name in offered
        )
        return may_ask and _can_be_asked(value) and super().lookup_allowed(lookup, value, request)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Row], search_term: str
    ) -> tuple[QuerySet[Row], bool]:
        """Search, limited to 200 characters; a longer term finds nothing and shows a message."""
        if len(search_term) > _LONGEST_SEARCH:
            self.message_user(
                request, _("Search for at most %(most)s characters.") % {"most": _LONGEST_SEARCH}, messages.ERROR
            )
            return queryset.none(), False
        found: tuple[QuerySet[Row], bool] = super().get_search_results(request, queryset, search_term)
        return found

    def _asked(self, request: HttpRequest) -> HttpResponse | None:
        """The page that asks for the password, if a change wants one and none was given lately."""
        changes = self.confirmed and request.method == "POST" and self.may_enter(request)
        return ask_password(request) if changes else None

    def get_form(self, request: HttpRequest, obj: Row | None = None, change: bool = False, **kwargs: Any) -> Any:  # noqa: FBT001, FBT002
        """Django's form; once a service refused it, the form that says so."""
        form: Any = super().get_form(request, obj, change, **kwargs)
        refusal: Exception | None = getattr(request, "refusal", None)
        return form if refusal is None else _refused(form, refusal, self.form_names)

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the refusal of a service in the form, beside what was typed; nothing is stored."""
        if (page := self._asked(request)) is not None:
            return page
        try:
            return super().changeform_view(request, *args, **kwargs)
        except self.refusals as error:
            request.refusal = error  # type: ignore[attr-defined]  # for `get_form`
            return super().changeform_view(request, *args, **kwargs)

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Ask for the password before an action of the list, as before a change on an object's page."""
        if (page := self._asked(request)) is not None:
            return page
        response: HttpResponse = super().changelist_view(request, *args, **kwargs)
        return response


class SwitchedAdmin(TenantScopedAdmin[Switched]):
    """Base of pages whose rows are activated and deactivated, never deleted.

    Nobody deactivates themselves, so a tenant keeps an administrator who can undo it. The list has actions, each row's
    page the one that fits.
    """

    actions = ["deactivate", "activate"]
    is_switched = True  # for the buttons of a page

    @admin.action(description=gettext_lazy("Deactivate: turn away from now on"), permissions=["change"])
    def deactivate(self, request: HttpRequest, rows: QuerySet[Switched]) -> None:
        for row in rows:
            if getattr(row, "user_id", row.pk) != request.user.pk:
                services.deactivate(row, actor=acting(request))
            else:
                told = _("Nobody deactivates themselves: another administrator can do it.")
                self.message_user(request, told, messages.WARNING)

    @admin.action(description=gettext_lazy("Activate"), permissions=["change"])
    def activate(self, request: HttpRequest, rows: QuerySet[Switched]) -> None:
        for row in rows:
            try:
                services.activate(row, actor=acting(request))
            except InvalidValue as error:
                self.message_user(request, error.reason, messages.ERROR)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The row's page; its button to activate or deactivate does what the action of the list does."""
        switch = {"activate": self.activate, "deactivate": self.deactivate}.get(request.POST.get("_switch", ""))
        row = self.get_object(request, unquote(object_id)) if switch else None
        if switch is None or row is None:
            return super().change_view(request, object_id, form_url, extra_context)
        if (page := self._asked(request)) is not None:
            return page
        if not self.has_change_permission(request, row):
            raise PermissionDenied
        switch(request, self.get_queryset(request).filter(pk=row.pk))
        return HttpResponseRedirect(request.get_full_path())


def _refused(form: Any, refusal: Exception, names: Mapping[str, str]) -> Any:
    """The class of a form with the refusal as an error of its field or, if it has no such field, of the form."""
    name, words = None, str(refusal)
    if about := getattr(refusal, "field", ""):
        asked = names.get(about, about)
        name = asked if asked in form.base_fields else None
        if name or about == form._meta.model._meta.model_name:
            words = refusal.reason  # type: ignore[attr-defined]  # whose `field` is named has a reason

    class Refused(form):  # type: ignore[misc]  # a class that Django makes
        def full_clean(self) -> None:
            super().full_clean()
            if self.is_bound:
                self.add_error(name, words)

    return Refused


def _names(model: type[Model]) -> frozenset[str]:
    """Names that a lookup on this model can start with: columns, relations and reverse relations, `pk`."""
    columns = (field.attname for field in model._meta.concrete_fields)
    return frozenset({"pk", *columns, *(field.name for field in model._meta.get_fields())})


def _can_be_asked(value: str) -> bool:
    """Whether every database accepts the value: no NUL, and a time within the year range in every time zone."""
    try:
        moment = parse_datetime(value)
    except ValueError:  # the field itself reports the error
        moment = None
    return is_storable(value) and (moment is None or MINYEAR < moment.year < MAXYEAR)


def _name(offered: Any) -> str:
    """The query parameter of a list filter, or its column."""
    if isinstance(offered, type) and issubclass(offered, SimpleListFilter):
        return str(offered.parameter_name)
    return str(offered[0] if isinstance(offered, tuple | list) else offered)


def named(user: User | None) -> str | None:
    """Such as `Ada Fenwick (ada)`; only the name if the username tells nothing more. None for no user."""
    if user is None:
        return None
    name, username = user.shown_name, user.get_username()
    return name if user.is_erased or is_made_up(username) or name == username else f"{name} ({username})"


def by_name(user: str) -> Lower:
    """The order of the names that `named` shows of the users at this lookup path."""
    return Lower(Coalesce(NullIf(f"{user}__display_name", Value("")), f"{user}__username"))


def written(moment: datetime) -> str:
    """In the reader's time zone, such as `2026-03-03 14:05 CET` (format: memoryhub/en/)."""
    return date_format(timezone.localtime(moment), "DATETIME_FORMAT")


def stamp(moment: datetime) -> SafeString:
    """HTML `<time>` of the moment, with the seconds in a tooltip."""
    exact = date_format(timezone.localtime(moment), "Y-m-d H:i:s T")
    return format_html('<time datetime="{}" title="{}">{}</time>', moment.isoformat(), exact, written(moment))


PARAMETER = "tenant"
PLATFORM = "platform"
SHARED_NAME = gettext_lazy("Shared by all tenants")
PLATFORM_NAME = gettext_lazy("The platform itself")


@dataclass(frozen=True, slots=True)
class TenantScope:
    """The tenants that a page may show, sorted by name, and the `chosen` one, if any.

    `everything`: rows of no tenant may be shown, too. `roles`: the reader's roles by tenant id, empty for a superuser.
    `together`: the page shows all tenants while none is chosen.
    """

    tenants: tuple[Tenant, ...]
    everything: bool = False
    chosen: Tenant | None = None
    roles: Mapping[UUID, Role] = field(default_factory=dict)
    together: bool = True

    @property
    def shown(self) -> tuple[Tenant, ...]:
        """The chosen tenant, or all."""
        return self.tenants if self.chosen is None else (self.chosen,)

    @property
    def names(self) -> dict[UUID | None, str]:
        """The names of the shown tenants by id; None is the id of rows that all tenants share."""
        names: dict[UUID | None, str] = {tenant.id: tenant.name for tenant in self.shown}
        return names | {None: SHARED_NAME} if self.everything and self.chosen is None else names

    @property
    def count(self) -> int:
        """The number of shown tenants."""
        return len(self.shown)

    @property
    def may_choose(self) -> bool:
        """Whether the reader has a choice of tenants."""
        return self.everything or len(self.tenants) > 1

    @property
    def choices(self) -> list[tuple[str, Tenant]]:
        """The value of `?tenant=` and the tenant, for each tenant."""
        return [(address_of(tenant), tenant) for tenant in self.tenants]

    @property
    def address(self) -> str:
        """The value of `?tenant=` for the shown tenants; empty for all."""
        return "" if self.chosen is None and self.together else address_of(self.chosen)

    def within(self, roles: Sequence[Role]) -> Collection[UUID] | None:
        """Ids of the shown tenants where the reader has one of `roles`; None, for a superuser, means every tenant."""
        if self.everything:
            return None if self.chosen is None else (self.chosen.id,)
        return tuple(tenant.id for tenant in self.shown if self.roles.get(tenant.id) in roles)


def scope_of(request: HttpRequest, roles: Sequence[Role]) -> TenantScope:
    """The active tenants where the reader has one of `roles`, and the one named in `?tenant=`. Raises Http404."""
    user = signed_in(request)
    own: dict[UUID, Role] = {}
    if user.is_superuser:
        tenants = tuple(Tenant.objects.filter(is_active=True))
    else:
        memberships = list(memberships_of(user).filter(role__in=[role.value for role in roles]))
        own = {each.tenant_id: Role(each.role) for each in memberships}
        tenants = tuple(each.tenant for each in memberships)
    chosen = None
    if named := request.GET.get(PARAMETER, ""):
        chosen = _named(tenants, named)
    elif len(tenants) == 1 and not user.is_superuser:
        (chosen,) = tenants
    return TenantScope(tenants, everything=user.is_superuser, chosen=chosen, roles=own)


def one_of(request: HttpRequest, roles: Sequence[Role], asked: Mapping[str, str] | None = None) -> TenantScope:
    """One tenant: the one named in `asked` (default: the query string), else the first. Raises Http404.

    A superuser may also choose deactivated tenants; for them `chosen` None means the rows of no tenant.
    """
    user = signed_in(request)
    tenants = tuple(tenants_within(user, roles))
    named = (request.GET if asked is None else asked).get(PARAMETER, "").strip()
    if not named and tenants:
        chosen: Tenant | None = tenants[0]
    elif user.is_superuser and named in ("", PLATFORM):
        chosen = None
    else:
        chosen = _named(tenants, named)
    return TenantScope(tenants, everything=user.is_superuser, chosen=chosen, together=False)


def address_of(tenant: Tenant | None) -> str:
    """The value of `?tenant=` for a tenant; `platform` for None."""
    if tenant is None:
        return PLATFORM
    return tenant.slug if tenant.slug != PLATFORM else str(tenant.pk)


def _named(tenants: Sequence[Tenant], named: str) -> Tenant:
    """Find a tenant by slug or id. Raises Http404."""
    for tenant in tenants:
        if named in (tenant.slug, str(tenant.pk)):
            return tenant
    raise Http404
