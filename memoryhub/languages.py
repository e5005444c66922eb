"""The language of a page: the reader's choice, else what the browser accepts, else English.

What programs read stays English: the API and its errors, logs, the audit log, exports and certificates. `in_english`
is for what a page stores, signs or lets download.
"""

from __future__ import annotations

import gettext
import re
from collections.abc import Callable
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, Final, cast

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import formats, translation
from django.utils.cache import patch_vary_headers

from memoryhub.problem_details import is_api

ENGLISH: Final = "en"
_PROGRAMS = ("/v1/", "/.well-known/", "/metrics", "/livez", "/readyz")


class LanguageMiddleware:
    """Answers programs in English and browsers in a language that they accept; `speak` then takes the reader's own."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request, and name the language of a page."""
        by_program = is_for_programs(request.path_info)
        with translation.override(ENGLISH if by_program else translation.get_language_from_request(request)):
            response = self.get_response(request)
            if not by_program and response.headers.get("Content-Type", "").startswith("text/html"):
                response.headers.setdefault("Content-Language", translation.get_language() or ENGLISH)
                patch_vary_headers(response, ("Accept-Language", "Cookie"))
        return response


def is_for_programs(path: str) -> bool:
    """Whether a program reads what is at this path."""
    return is_api(path) or path.startswith(_PROGRAMS)


def speak(language: str, request: HttpRequest) -> None:
    """Go on in the language that the reader of a page chose; empty: none."""
    if language in dict(settings.LANGUAGES) and not is_for_programs(request.path_info):
        translation.activate(language)


def gettext_lazy(text: str) -> str:
    """Django's, for tables of texts that templates render: to these it is the text."""
    return cast("str", translation.gettext_lazy(text))


def number(value: float, decimals: int | None = None) -> str:
    """A number with the separators of the language of the page; without `decimals`, with as many as it has."""
    plain = value if isinstance(value, int) or decimals is not None else f"{Decimal(f'{value:g}'):f}"
    return formats.number_format(plain, decimals, force_grouping=True)


def parts_of(composed: str, text: str) -> dict[str, str] | None:
    """The parts, by name, of a text made from `composed`, such as `imported from %(part)s`; None of another text."""
    match = _pattern_of(composed).fullmatch(text)
    return None if match is None else match.groupdict()


@cache
def _pattern_of(composed: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"%\\\((\w+)\\\)s", r"(?P<\1>.+?)", re.escape(composed)), re.DOTALL)


def in_english() -> translation.override:
    """A context, or a decorator, in which texts, numbers and dates are English."""
    return translation.override(ENGLISH)


@lru_cache
def script_texts(language: str) -> dict[str, str | list[str]]:
    """The translations of the texts of scripts by their English; of one with a plural, its forms in order."""
    catalog = gettext.translation("djangojs", settings.LOCALE_PATHS[0], [language], fallback=True)
    texts: dict[str, Any] = {}
    for key, text in getattr(catalog, "_catalog", {}).items():
        if isinstance(key, str):
            texts[key] = text
        else:
            texts.setdefault(key[0], []).append(text)
    texts.pop("", None)  # the header
    return texts
