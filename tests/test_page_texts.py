"""Texts of pages: each goes through gettext, has its translations, and uses one word for one thing."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.conf import settings
from django.template.base import Lexer, TokenType

from memoryhub.installation import BASE_DIR, TEMPLATE_DIR
from tests.catalogs import CATALOGS, Text, texts

TEMPLATES = sorted(path for path in TEMPLATE_DIR.rglob("*") if path.suffix in (".html", ".txt"))
# Read by programs, or without a word of ours.
NOT_PAGES = {"api/llms.txt", "_icons.html", "allauth/elements/button.html"}
# Names, units and formats, which are the same in every language.
NAMES = frozenset(
    """memoryhub ms utc json csv pdf zip html id ids kb mb gb sha-256 api mcp claude code cursor chatgpt openai python
    typescript curl ctrl enter shift esc openid connect saml scim oidc url uri http https""".split()
)
# Words of the code and of programs, each with the page's word for the thing; in translations also the wrong address.
SYNONYMS = {
    "en": {
        "episodes?": "event",
        "playbooks?": "how-to",
        "catalog entr(?:y|ies)": "shared entry",
        "memberships?": "member",
        "compan(?:y|ies)|organizations?": "organisation",
        "trails?": "audit log",
        "forg[eo]t(?:ten|s|ting)?(?! your password)": "delete",
        "log ?in|logins?": "sign in",
    },
    "de": {
        "Episoden?": "Ereignis",
        "Playbooks?": "Anleitung",
        "Firm(?:a|en)|Unternehmens?|Mandant(?:en)?": "Organisation",
        "[Dd]u|[Dd]ich|[Dd]ir|[Dd]eine?[mnrs]?": "Sie",
    },
    "es": {
        "episodios?": "evento",
        "empresas?|compañías?|inquilinos?": "organización",
        "tú|tus?|te|ti|contigo": "usted",
    },
}
_SHOWN_ATTRIBUTES = frozenset({"title", "placeholder", "aria-label", "alt", "data-label", "data-failed"})
_CODE = frozenset({"script", "style", "code", "kbd", "pre", "samp"})
_FILE = re.compile(r"\b[\w-]+\.(?:jsonl?|csv|pdf|zip)\b|\b[a-z]+_[a-z_]+\b|\bgpt-[\w-]+")
_WORD = re.compile(r"[A-Za-z][\w'’-]+|“")  # each language has quotation marks of its own
_TRANSLATED = re.compile(r"""_\((["']).*?\1\)""")
_LITERAL = re.compile(r"""(?:with|default|yesno|default_if_none)\b[^"']*["']([^"']*)["']""")


class _Bare(HTMLParser):
    """Collects words in text and in attributes that people read."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._code = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._code += tag in _CODE
        self.found += [value for name, value in attrs if name in _SHOWN_ATTRIBUTES and value and _words(value)]

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag in _CODE

    def handle_data(self, data: str) -> None:
        if not self._code and _words(data):
            self.found.append(" ".join(data.split()))


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(_FILE.sub("", text)) if word.lower() not in NAMES]


def bare_texts(source: str) -> list[str]:
    """What people would read in a template that goes through no tag of translation."""
    parts: list[str] = []
    literals: list[str] = []
    inside = before = ""
    for token in Lexer(source).tokenize():
        tag = token.contents.partition(" ")[0]
        if inside:
            inside = "" if token.token_type == TokenType.BLOCK and tag == f"end{inside}" else inside
        elif token.token_type == TokenType.BLOCK and tag in ("blocktranslate", "blocktrans", "comment"):
            inside = tag
        elif token.token_type == TokenType.TEXT and not before.endswith("class"):
            parts.append(token.contents)
        elif token.token_type in (TokenType.BLOCK, TokenType.VAR):
            parts.append("\N{REPLACEMENT CHARACTER}")
            if tag == "include" or token.token_type == TokenType.VAR:
                untranslated = _TRANSLATED.sub("", token.contents)
                literals += [each for each in _LITERAL.findall(untranslated) if " " in each and _words(each)]
        before = token.contents
    page = _Bare()
    page.feed("".join(parts))
    page.close()
    return page.found + literals


@pytest.mark.parametrize(
    ("source", "bare"),
    [
        ('<p title="{% translate "A word" %}">{% blocktranslate %}All of this{% endblocktranslate %}</p>', []),
        ("<p>Hello <b>{{ name }}</b></p>", ["Hello"]),
        ("<p>“{{ name }}”</p>", ["“\N{REPLACEMENT CHARACTER}”"]),
        ('<input placeholder="Search {{ name }}"><code>make demo</code>', ["Search \N{REPLACEMENT CHARACTER}"]),
        ('{% include "a.html" with nobody="not yet" somebody=_("at last") %}', ["not yet"]),
    ],
)
def test_words_outside_of_translation_are_found(source: str, bare: list[str]) -> None:
    assert bare_texts(source) == bare


def test_no_template_has_a_bare_text() -> None:
    found = {
        name: bare
        for path in TEMPLATES
        if (name := str(path.relative_to(TEMPLATE_DIR))) not in NOT_PAGES and (bare := bare_texts(path.read_text()))
    }
    assert not found


def translated_texts(source: str) -> list[str]:
    """The English texts that a template sends through gettext, without their placeholders."""
    found: list[str] = []
    inside = False
    for token in Lexer(source).tokenize():
        tag = token.contents.partition(" ")[0]
        if token.token_type == TokenType.BLOCK:
            inside = tag in ("blocktranslate", "plural") if inside or tag == "blocktranslate" else False
            found += re.findall(r"""^translate (?:"(.*?)"|'.*?')""", token.contents)
        elif token.token_type == TokenType.TEXT and inside:
            found.append(token.contents)
    return found


def _synonyms(language: str, shown: list[str]) -> list[tuple[str, str]]:
    """Each text that has another word for a thing than the pages' own, with the word to write."""
    return [
        (text, instead)
        for synonym, instead in SYNONYMS[language].items()
        for text in shown
        if re.search(rf"\b(?:{synonym})\b", text, re.IGNORECASE if language == "en" else 0)
    ]


def test_no_function_of_translation_has_a_name_that_hides_its_texts() -> None:
    renamed = re.compile(r"\bn?p?n?gettext\w* as (?!_\b)\w+")
    code = (path for package in ("memoryhub", "memories", "tenants") for path in (BASE_DIR / package).rglob("*.py"))
    assert not [path for path in code if renamed.search(path.read_text())], "make messages collects by these names"


def test_a_synonym_is_found() -> None:
    source = '{% translate "An episode" %}{% blocktranslate %}Forgot your password? Our company{% endblocktranslate %}'
    assert [instead for _, instead in _synonyms("en", translated_texts(source))] == ["event", "organisation"]


def test_pages_have_one_word_for_one_thing() -> None:
    assert not [found for path in TEMPLATES for found in _synonyms("en", translated_texts(path.read_text()))]


@pytest.mark.parametrize("catalog", CATALOGS, ids=lambda path: f"{path.parent.parent.name}-{path.stem}")
def test_translations_have_one_word_for_one_thing(catalog: Path) -> None:
    language = catalog.parent.parent.name
    assert not _synonyms(language, [form for text in texts(catalog) for form in text.forms])


def test_german_has_different_words_for_a_review_and_a_verification() -> None:
    german = [text for path in CATALOGS if path.parent.parent.name == "de" for text in texts(path)]
    reviews = [text for text in german if re.search(r"\breviews?\b", text.english, re.IGNORECASE)]
    assert reviews and not [form for text in reviews for form in text.forms if "Prüfung" in form]


@pytest.mark.parametrize("catalog", CATALOGS, ids=lambda path: f"{path.parent.parent.name}-{path.stem}")
def test_every_text_is_translated_with_its_placeholders_and_plurals(catalog: Path) -> None:
    found = texts(catalog)
    assert found
    assert not [text.english for text in found if text.fuzzy or not all(text.forms)]
    assert not [text.english for text in found if len(text.forms) != (2 if text.plural else 1)]
    assert not [text.english for text in found if not set(map(_placeholders, text.forms)) <= _expected(text)]


def _placeholders(text: str) -> tuple[str, ...]:
    return tuple(sorted(re.findall(r"%\(\w+\)[sd]|%[sd]|\{\w*\}", text)))


def _expected(text: Text) -> set[tuple[str, ...]]:
    return {_placeholders(each) for each in (text.english, text.plural) if each}


def test_both_languages_have_the_same_texts() -> None:
    by_language = {
        code: {text.key for path in CATALOGS if path.parent.parent.name == code for text in texts(path)}
        for code, _name in settings.LANGUAGES
        if code != settings.LANGUAGE_CODE
    }
    first, *others = by_language.values()
    assert all(first == other for other in others)
