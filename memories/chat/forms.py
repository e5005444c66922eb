"""The forms of the member's pages, which convert the submitted values; the services validate them."""

from __future__ import annotations

from typing import Any

from django import forms

from memories.errors import InvalidInput
from memories.models import ReviewDecision
from memoryhub.languages import gettext_lazy


class Typed(forms.CharField):
    """Text as typed, neither stripped nor validated, with LF line breaks."""

    def __init__(self) -> None:
        super().__init__(required=False, strip=False)
        self.validators = []

    def to_python(self, value: Any) -> str:
        """Replace CR LF, which browsers submit, with LF."""
        return str(super().to_python(value)).replace("\r\n", "\n")


class Flag(forms.BooleanField):
    """A button or checkbox that submits 1 for yes."""

    def __init__(self) -> None:
        super().__init__(required=False, widget=forms.TextInput)


class PostedForm(forms.Form):
    """A form whose values the services validate."""

    def values(self) -> dict[str, Any]:
        """The converted values. Raises InvalidInput for a value that no page of the site submits."""
        for name, reasons in self.errors.items():
            raise InvalidInput(name, str(reasons[0]))
        return self.cleaned_data


class MessageForm(PostedForm):
    """A message to the agent; `tenant` is the tenant in which the page was opened.

    `temporary` begins a temporary chat.
    """

    message = Typed()
    turn_id = forms.UUIDField(required=False, error_messages={"invalid": "must be a UUID."})
    tenant = Typed()
    temporary = Flag()


class ActionForm(PostedForm):
    """The fields of all buttons and small forms; each view reads its own.

    `cascade` also erases the facts of a conversation; `changed` says that a corrected fact was true until now.
    """

    title = Typed()
    text = Typed()
    reason = Typed()
    verdict = Typed()
    note = Typed()
    pinned = Flag()
    cascade = Flag()
    changed = Flag()


class AddForm(PostedForm):
    """A how-to, its steps one a line; the facts of the same form are a list."""

    title = Typed()
    trigger = Typed()
    steps = Typed()


class DecisionForm(PostedForm):
    """The decision of a review."""

    text = Typed()
    decision = forms.ChoiceField(
        choices=ReviewDecision.choices,
        error_messages=dict.fromkeys(("required", "invalid_choice"), gettext_lazy("must be one of those on the page.")),
    )
    keep = forms.UUIDField(
        required=False, error_messages={"invalid": gettext_lazy("must be one of those on the page.")}
    )
    never_true = Flag()
