"""The forms of the member's pages: they type what was posted. What may be stored is for the services to say."""

from __future__ import annotations

from typing import Any

from django import forms

from memories.errors import InvalidInput
from memories.models import ReviewDecision


class Typed(forms.CharField):
    """Text as somebody typed it, with plain line breaks."""

    def __init__(self) -> None:
        super().__init__(required=False, strip=False)
        self.validators = []

    def to_python(self, value: Any) -> str:
        """Browsers send line breaks as CR and LF."""
        return str(super().to_python(value)).replace("\r\n", "\n")


class Flag(forms.BooleanField):
    """A button or checkbox that sends 1 for yes."""

    def __init__(self) -> None:
        super().__init__(required=False, widget=forms.TextInput)


class PostedForm(forms.Form):
    """A form that the services check."""

    def values(self) -> dict[str, Any]:
        """The typed values. Raises InvalidInput for a form that no page of ours sends."""
        for name, reasons in self.errors.items():
            raise InvalidInput(name, str(reasons[0]))
        return self.cleaned_data


class MessageForm(PostedForm):
    """What the user says; `tenant` is the one that the page was opened in."""

    message = Typed()
    turn_id = forms.UUIDField(required=False, error_messages={"invalid": "must be a UUID."})
    tenant = Typed()


class ActionForm(PostedForm):
    """What a button or a small form sends; each view reads its own fields.

    `cascade` takes the facts of a conversation along, `more` what else a memory is made of or led to.
    """

    title = Typed()
    text = Typed()
    reason = Typed()
    pinned = Flag()
    cascade = Flag()
    more = Flag()


class DecisionForm(PostedForm):
    """The answer to a review."""

    text = Typed()
    decision = forms.ChoiceField(
        choices=ReviewDecision.choices,
        error_messages=dict.fromkeys(("required", "invalid_choice"), "must be one of those on the page."),
    )
    keep = forms.UUIDField(required=False, error_messages={"invalid": "must be one of those on the page."})
    never_true = Flag()
