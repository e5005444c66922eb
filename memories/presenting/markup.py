"""Template tags for icons, kinds, times and numbers. The settings register them as builtins; they run no query."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from django import template
from django.utils import formats, timezone
from django.utils.html import format_html, format_html_join, json_script, strip_tags
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import capfirst
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from memories.consolidation.rules import to_owner
from memories.presenting.highlighting import part_with, pieces
from memories.presenting.lines import SECTIONS, ago, in_full, in_utc, percent
from memories.presenting.markdown import rendered
from memories.presenting.reasons import reason_words
from memories.types import Kind
from memoryhub.installation import PROGRAM
from memoryhub.languages import ENGLISH, number, script_texts
from tenants.audit.actions import action_words

register = template.Library()
register.filter(reason_words)
register.filter(action_words)

_MILLISECONDS_IN_WORDS = 100
# Controls that make a text read in another direction than it is written; those round a name in a right-to-left script
# (isolates and marks) are left alone.
_CONTROLS = {"\u202a": "LRE", "\u202b": "RLE", "\u202c": "PDF", "\u202d": "LRO", "\u202e": "RLO"}
_CONTROL = re.compile("[\u202a-\u202e]")
# Attributes and what people edit keep their characters.
_SHOWN = re.compile(r"(?:<textarea\b[^>]*+>.*?</textarea>|<[^>]*+>)|[\u202a-\u202e]", re.DOTALL | re.IGNORECASE)
_BOOLEAN = re.compile(r'<img src="[^"]*icon-(yes|no|unknown)[^"]*" alt="[^"]*">')


@register.simple_tag
def icon(name: str) -> SafeString:
    """A glyph from the sheet in `_icons.html`, hidden from screen readers because it is decoration."""
    return format_html('<svg class="icon" aria-hidden="true"><use href="#i-{}"/></svg>', name)


@register.simple_tag
def program() -> str:
    """What a person types before a command of memoryhub."""
    return PROGRAM


@register.simple_tag(name="script_texts")
def texts_of_scripts() -> SafeString | str:
    """The texts of scripts in the language of the page, as data that `texts.js` reads; empty in English."""
    texts = script_texts(get_language() or ENGLISH)
    return json_script(texts, "texts") if texts else ""


@register.simple_tag
def kind_mark(kind: Kind | str) -> SafeString:
    """The mark of a kind: colour and glyph, with its name for screen readers and as a tooltip."""
    section = SECTIONS.get(Kind(kind))
    noun, hint = (section.noun, section.hint) if section else (_("item"), _("what a program keeps beside the memories"))
    return format_html(
        '<span class="mark kind-{kind}" title="{noun}: {hint}">{icon}'
        '<span class="visually-hidden">{noun}</span></span>',
        kind=kind,
        noun=capfirst(noun),
        hint=hint,
        icon=icon(kind),
    )


@register.simple_tag
def when(moment: datetime | None) -> SafeString | str:
    """A relative time, with the exact one as tooltip and in `datetime`; empty for None."""
    if moment is None:
        return ""
    return _time(moment, ago(timezone.localtime(moment), timezone.localtime()))


@register.simple_tag
def exact(moment: datetime | None) -> SafeString | str:
    """The time to the second in UTC, for lists that are evidence; empty for None."""
    return "" if moment is None else _time(moment, in_utc(moment))


@register.simple_tag
def clock(moment: datetime) -> SafeString:
    """The time of day, for lists that already show the day."""
    return _time(moment, formats.time_format(timezone.localtime(moment)))


@register.filter
def duration(milliseconds: float | None) -> str:
    """A duration such as `0.8 s`, or `40 ms` below 100 ms; empty for None."""
    if milliseconds is None:
        return ""
    if milliseconds < _MILLISECONDS_IN_WORDS:
        return f"{number(milliseconds, 0)} ms"
    return f"{number(milliseconds / 1000, 1)} s"


@register.filter(name="number")
def number_if_any(value: int | None) -> str:
    """A count with separators of thousands; empty for None."""
    return "" if value is None else number(value)


@register.filter
def labelled(cells: Iterable[str], headers: Iterable[Mapping[str, Any]]) -> Iterator[SafeString]:
    """The cells of an admin list's row, each with its column as `data-label`, which phones show above it."""
    for cell, header in zip(cells, headers, strict=True):
        label = format_html(' data-label="{}"', capfirst(strip_tags(header["text"])))
        place = len("<td")
        yield booleans_in_words(cell[:place] + label + cell[place:])


@register.filter(is_safe=True)
def booleans_in_words(page: str) -> SafeString:
    """Write yes and no for the pictures that Django's admin draws of a boolean."""
    return mark_safe(_BOOLEAN.sub(lambda found: {"yes": _("Yes"), "no": _("No")}.get(found[1], "–"), page))  # noqa: S308 - safe before as after


@register.filter(is_safe=True)
def controls_drawn(page: str) -> str:
    """Draw the controls of writing direction in a page as marks, so that no words hide behind them."""
    if not _CONTROL.search(page):
        return page

    def drawn(found: re.Match[str]) -> str:
        name = _CONTROLS.get(found[0])
        title = _("A control of writing direction")
        return f'<span class="control" title="{title}">{name}</span>' if name else found[0]

    return mark_safe(_SHOWN.sub(drawn, page))  # noqa: S308 - safe before as after


@register.filter
def markdown(text: str) -> SafeString:
    """Markdown as HTML that loads nothing and runs nothing."""
    return rendered(text)


@register.filter
def addressed(text: str) -> str:
    """The text of a fact as its owner reads it, "You live in Leeds"; unchanged if it cannot be turned."""
    return to_owner(text) or text


@register.filter
def marked(text: str, words: Sequence[str]) -> SafeString:
    """The text with each occurrence of one of `words` marked."""
    parts = (format_html("<mark>{}</mark>", each) if holds else each for each, holds in pieces(str(text), words))
    return format_html_join("", "{}", ((part,) for part in parts))


@register.filter
def excerpt(text: str, words: Sequence[str]) -> SafeString:
    """A long text as its part around the first of `words`, marked; without words, the whole text."""
    return marked(part_with(text, words), words)


@register.filter
def initials(name: str) -> str:
    """The initials of the first and last word of a name, for a badge."""
    words = name.split()
    return "".join(word[0] for word in (words[:1] + words[1:][-1:])).upper()


@register.filter
def share(value: float | None) -> str:
    """A fraction as a percentage; empty for None."""
    return "" if value is None else percent(value)


def _time(moment: datetime, words: str) -> SafeString:
    exact = in_full(timezone.localtime(moment))
    return format_html('<time datetime="{}" title="{}">{}</time>', moment.isoformat(), exact, words)


_BROWSERS = {"Edg/": "Edge", "OPR/": "Opera", "Firefox/": "Firefox", "Chrome/": "Chrome", "Safari/": "Safari"}
_SYSTEMS = {
    "Android": "Android", "iPhone": "iPhone", "iPad": "iPad", "Mac OS": "macOS", "Windows": "Windows", "Linux": "Linux",
}  # fmt: skip


@register.filter
def browser_name(user_agent: str) -> str:
    """Such as `Firefox on Linux`; the first words of another program's own name."""
    browser = next((name for mark, name in _BROWSERS.items() if mark in user_agent), "")
    system = next((name for mark, name in _SYSTEMS.items() if mark in user_agent), "")
    if browser and system:
        return _("%(browser)s on %(system)s") % {"browser": browser, "system": system}
    return user_agent[:60] or _("unknown program")
