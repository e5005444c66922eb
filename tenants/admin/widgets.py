"""Fields that forms of the admin declare themselves, as the theme draws them; those of models get theirs anyway."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the theme's have no types
    from django.forms import CheckboxSelectMultiple, PasswordInput, Select, TextInput
else:
    from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget as CheckboxSelectMultiple
    from unfold.widgets import UnfoldAdminPasswordWidget as PasswordInput
    from unfold.widgets import UnfoldAdminSelectWidget as Select
    from unfold.widgets import UnfoldAdminTextInputWidget as TextInput

__all__ = ["CheckboxSelectMultiple", "PasswordInput", "Select", "TextInput"]
