"""The language of pages, and what stays English."""

from __future__ import annotations

import gettext
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.test import Client
from django.utils import translation

from memories.presenting.lines import age_title, day_title, in_full, percent, short_date
from memoryhub.languages import number, parts_of, script_texts
from tenants.models import User
from tests.catalogs import CATALOGS, texts

MOMENT = datetime(2026, 3, 3, 14, 5, tzinfo=UTC)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("accepted", "language"), [("de-AT,de;q=0.9", "de"), ("es", "es"), ("fr,en;q=0.5", "en"), ("fr", "en"), ("", "en")]
)
def test_a_page_is_in_a_language_that_the_browser_accepts(client: Client, accepted: str, language: str) -> None:
    answer = client.get("/login/", headers={"accept-language": accepted})
    assert f'<html lang="{language}"' in answer.content.decode()
    assert answer.headers["Content-Language"] == language
    assert "Accept-Language" in answer.headers["Vary"]


@pytest.mark.django_db
def test_what_a_person_chose_holds_on_the_pages_of_members_and_of_staff(client: Client) -> None:
    client.force_login(User.objects.create_superuser("root", language="es"))
    for address in ("/admin/", "/nothing/"):
        page = client.get(address, headers={"accept-language": "de"}).content.decode()
        assert '<html lang="es"' in page


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/api/v1/nothing/", "/api/v1/recall/", "/mcp", "/scim/v2/Users", "/v1/models"])
def test_programs_get_the_same_answer_whatever_they_accept(client: Client, path: str) -> None:
    def answer(language: str) -> tuple[str, str | None]:
        given = client.get(path, headers={"accept-language": language, "x-request-id": "the-same-one"})
        return given.content.decode(), given.headers.get("Content-Language")

    assert answer("de") == answer("en")
    assert answer("de")[1] is None


@pytest.mark.parametrize(
    ("language", "full", "day", "short", "count", "share"),
    [
        ("en", "Tuesday 3 March 2026, 14:05 UTC", "Tuesday 3 March", "3 Mar 2026", "1,234", "45%"),
        ("de", "Dienstag, 3. März 2026, 14:05 UTC", "Dienstag, 3. März", "3. Mär 2026", "1.234", "45\xa0%"),
        ("es", "martes, 3 de marzo de 2026, 14:05 UTC", "Martes, 3 de marzo", "3 mar 2026", "1\xa0234", "45\xa0%"),
    ],
)
def test_dates_and_numbers_are_written_as_the_language_has_it(
    language: str, full: str, day: str, short: str, count: str, share: str
) -> None:
    with translation.override(language):
        assert in_full(MOMENT) == full
        assert day_title(MOMENT.date(), datetime(2026, 9, 1, tzinfo=UTC).date()) == day
        assert age_title(MOMENT.date(), datetime(2026, 9, 1, tzinfo=UTC).date()) in ("March", "März", "Marzo")
        assert short_date(MOMENT.date(), datetime(2027, 1, 1, tzinfo=UTC).date()) == short
        assert (number(1234), percent(0.45)) == (count, share)


def test_a_number_is_never_written_with_an_exponent() -> None:
    assert [number(each) for each in (0.25, 0.00001, 1e16)] == ["0.25", "0.00001", "10,000,000,000,000,000"]
    with translation.override("de"):
        assert number(0.00001) == "0,00001"


@pytest.mark.parametrize("catalog", CATALOGS, ids=lambda path: f"{path.parent.parent.name}-{path.stem}")
def test_the_compiled_catalog_is_that_of_the_source(catalog: Path) -> None:
    with catalog.with_suffix(".mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]  # no other way to list them
    source: dict[str | tuple[str, int], str] = {}
    for text in texts(catalog):
        if text.plural:
            source.update({(text.key, place): form for place, form in enumerate(text.forms)})
        else:
            source[text.key] = text.forms[0]
    assert {key: text for key, text in source.items() if text} == {key: text for key, text in compiled.items() if key}


def test_scripts_read_the_texts_of_their_language() -> None:
    assert script_texts("en") == {}
    assert all(isinstance(text, str) or len(text) == 2 for text in script_texts("es").values())


def test_a_composed_text_is_taken_apart() -> None:
    composed = "%(count)s of (%(whose)s)"
    assert parts_of(composed, "3 of (Ada\nand Bob)") == {"count": "3", "whose": "Ada\nand Bob"}
    assert parts_of(composed, "3 of Ada") is None
