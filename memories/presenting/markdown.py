"""Markdown of an answer as HTML that is safe to show.

A model writes the answer and may have read hostile text. HTML in the text stays text, an image becomes a link, because
an address that the page loads could carry a memory away, and what the parser emits passes an allow list of tags,
attributes and address schemes. Headings begin at the third level, below those of the page.
"""

from __future__ import annotations

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

_HIGHEST_HEADING, _LOWEST_HEADING = 3, 6
_TAGS = frozenset("p br hr h3 h4 h5 h6 strong em s code pre blockquote ul ol li a table thead tbody tr th td".split())
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
_SCHEMES = frozenset({"http", "https", "mailto"})

_parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"]).disable("image")


def rendered(text: str) -> SafeString:
    """The HTML of `text`."""
    tokens = _parser.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = _lowered(token)
    html = _parser.renderer.render(tokens, _parser.options, {})
    clean = nh3.clean(
        html, tags=_TAGS, attributes=_ATTRIBUTES, url_schemes=_SCHEMES, link_rel="noopener noreferrer nofollow"
    )
    return mark_safe(clean)  # noqa: S308 - what the allow list let through


def _lowered(token: Token) -> str:
    return f"h{min(int(token.tag[1:]) + _HIGHEST_HEADING - 1, _LOWEST_HEADING)}"
