"""Bodies in an encoding that is not for text, with files, or too large are refused before they are read."""

from __future__ import annotations

import io
from tempfile import NamedTemporaryFile

import pytest
from django.core.wsgi import get_wsgi_application
from django.test import Client, RequestFactory

from memoryhub.middleware import admitting, refusal
from tenants.models import Membership

pytestmark = pytest.mark.django_db


def status_of(content_type: str, method: str = "GET", body: bytes = b"") -> int:
    """What the site answers to a query and a body of this type."""
    environ = dict(RequestFactory().generic(method, "/login/", QUERY_STRING="q=%2B2AA-%C3%A4").environ)
    told: list[str] = []
    environ |= {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body)), "CONTENT_TYPE": content_type}
    answer = admitting(get_wsgi_application())(environ, lambda status, *_: told.append(status))
    assert b"".join(answer)
    return int(told[0].split()[0])


@pytest.mark.parametrize(
    "charset", ["hex", "rot13", "idna", "undefined", "utf-7", "raw_unicode_escape", "utf-16", "latin-1", "a\0b"]
)
def test_another_encoding_is_refused(charset: str) -> None:
    assert status_of(f"text/plain; charset={charset}") == 400
    assert status_of(f'application/x-www-form-urlencoded; Charset="{charset}"', "POST", b"username=+2AA-") == 400


@pytest.mark.parametrize("content_type", ["", "text/plain", ";", "nonsense", "a/b; charset", "a/b; charset=nonsense"])
def test_what_names_none_is_utf_8(content_type: str) -> None:
    assert status_of(content_type) == 200


@pytest.mark.parametrize("charset", ["utf-8", "UTF8", "us-ascii", '"utf-8"'])
def test_utf_8_is_read_by_whatever_name(charset: str) -> None:
    assert status_of(f"text/plain; charset={charset}") == 200


FORM = "application/x-www-form-urlencoded"


def test_no_page_takes_a_file(client: Client) -> None:
    assert status_of("Multipart/form-data; boundary=B", "POST", b"--B--") == 415
    with NamedTemporaryFile() as file:
        answer = client.post("/login/", {"username": "ada", "file": file})
    assert answer.status_code == 200 and not answer.wsgi_request.FILES


@pytest.mark.parametrize(
    ("more", "largest"),
    [
        pytest.param({}, 64 * 1024, id="anonymous"),
        pytest.param({"HTTP_COOKIE": "a=b; memoryhub_session=x"}, 1100 * 1024, id="a session"),
        pytest.param({"HTTP_AUTHORIZATION": "Bearer x"}, 1100 * 1024, id="a token"),
        pytest.param({"HTTP_AUTHORIZATION": "Bearer x", "PATH_INFO": "/api/v1/import/"}, 8300 * 1024, id="a file"),
        pytest.param({"PATH_INFO": "/api/v1/import"}, 64 * 1024, id="an anonymous file"),
    ],
)
def test_how_large_a_body_may_be(more: dict[str, str], largest: int) -> None:
    environ = {"CONTENT_TYPE": FORM, "PATH_INFO": "/", **more}
    assert refusal({**environ, "CONTENT_LENGTH": str(largest)}) is None
    refused = refusal({**environ, "CONTENT_LENGTH": str(largest + 1)})
    assert refused is not None and refused[0] == "413 Content Too Large" and f"{largest:,}" in refused[1]


def test_a_page_reads_a_large_body_of_somebody_signed_in_only(client: Client, membership: Membership) -> None:
    large = "x=" + "y" * 70_000
    assert client.post("/login/", large, content_type=FORM).status_code == 413
    client.force_login(membership.user)
    assert client.post("/login/", large, content_type=FORM).status_code == 302
