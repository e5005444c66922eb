"""What the pages share on which a tenant's administrators decide: only their own tenants are offered."""

from __future__ import annotations

from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db.models import ForeignKey, Model
from django.forms import ModelChoiceField
from django.http import HttpRequest

from memories.errors import InvalidInput
from tenants.admin.scoping import TenantScopedAdmin, signed_in, tenants_within

Row = TypeVar("Row", bound=Model)


class DecidingAdmin(TenantScopedAdmin[Row]):
    """Rows of the tenants that one administers; whose they are is decided once."""

    fixed: tuple[str, ...] = ("tenant",)

    def get_readonly_fields(self, request: HttpRequest, obj: Row | None = None) -> list[Any]:  # noqa: ARG002
        return [] if obj is None else [*self.fixed]

    def formfield_for_foreignkey(
        self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> ModelChoiceField[Any] | None:
        """Decisions are made for one's own tenants."""
        kwargs["queryset"] = tenants_within(signed_in(request), self.roles).filter(is_active=True)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)


def said_of(error: InvalidInput) -> ValidationError:
    """What a service refuses, beside the field of the form."""
    return ValidationError({error.field: f"This {error.reason}"})
