"""Links in the columns of the theme's lists, which look like the text around them unless they say what they are."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString


def named_link(address: str, words: str) -> SafeString:
    """`words` as a link, in the colour of links."""
    return format_html('<a class="font-medium text-primary-600 dark:text-primary-400" href="{}">{}</a>', address, words)
