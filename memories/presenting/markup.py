"""Template tags: icons, the mark of a kind, times and numbers. Registered as builtins in the settings; no queries."""

from __future__ import annotations

import re
from datetime import datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from memories.presenting.lines import SECTIONS, ago, in_full
from memories.types import Kind

register = template.Library()

_MILLISECONDS_IN_WORDS = 100
_LABEL = re.compile(r'(\bdata-label=")(\w)')


@register.simple_tag
def icon(name: str) -> SafeString:
    """A glyph from the sheet in `_icons.html`; decoration, so hidden from screen readers."""
    return format_html('<svg class="icon" aria-hidden="true"><use href="#i-{}"/></svg>', name)


@register.simple_tag
def kind_mark(kind: Kind | str) -> SafeString:
    """The mark of a kind: its colour, its glyph, and its name for those who see neither."""
    section = SECTIONS[Kind(kind)]
    return format_html(
        '<span class="mark kind-{kind}" title="{noun}: {hint}">{icon}'
        '<span class="visually-hidden">{noun}</span></span>',
        kind=section.kind.value,
        noun=section.noun.capitalize(),
        hint=section.hint,
        icon=icon(section.kind.value),
    )


@register.simple_tag
def when(moment: datetime | None) -> SafeString | str:
    """A time in words, with the exact one in a tooltip and in `datetime`."""
    if moment is None:
        return ""
    return _time(moment, ago(timezone.localtime(moment), timezone.localtime()))


@register.simple_tag
def clock(moment: datetime) -> SafeString:
    """The time of day, for lists that already say the day."""
    return _time(moment, f"{timezone.localtime(moment):%H:%M}")


@register.filter
def duration(milliseconds: float | None) -> str:
    """Such as `0.8 s`, or `40 ms` below a tenth of a second."""
    if milliseconds is None:
        return ""
    if milliseconds < _MILLISECONDS_IN_WORDS:
        return f"{milliseconds:.0f} ms"
    return f"{milliseconds / 1000:.1f} s"


@register.filter
def number(value: int | None) -> str:
    """A count with its thousands apart."""
    return "" if value is None else f"{value:,}"


@register.filter(is_safe=True)
def labels_capitalised(page: str) -> str:
    """A table of which each cell on a phone is labelled as its column is headed: with a capital first."""
    return mark_safe(_LABEL.sub(lambda label: label[1] + label[2].upper(), page))  # noqa: S308 - safe before as after


@register.filter
def initials(name: str) -> str:
    """One or two letters for a round badge."""
    words = name.split()
    return "".join(word[0] for word in (words[:1] + words[1:][-1:])).upper()


@register.filter
def action_words(action: str) -> str:
    """An audit action such as `fact.superseded` in words."""
    return action.replace(".", " ").replace("_", " ")


@register.filter
def share(value: float | None) -> str:
    """A share of one as a percentage."""
    return "" if value is None else f"{value:.0%}"


def _time(moment: datetime, words: str) -> SafeString:
    exact = in_full(timezone.localtime(moment))
    return format_html('<time datetime="{}" title="{}">{}</time>', moment.isoformat(), exact, words)
