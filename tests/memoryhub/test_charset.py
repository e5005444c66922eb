"""Text in an encoding that is not for text, or that makes what no database holds, is refused before it is read."""

from __future__ import annotations

import io

import pytest
from django.core.wsgi import get_wsgi_application
from django.test import RequestFactory

from memoryhub.middleware import reading_utf8

pytestmark = pytest.mark.django_db


def status_of(content_type: str, method: str = "GET", body: bytes = b"") -> int:
    """What the site answers to a query and a body of this type."""
    environ = dict(RequestFactory().generic(method, "/login/", QUERY_STRING="q=%2B2AA-%C3%A4").environ)
    told: list[str] = []
    environ |= {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body)), "CONTENT_TYPE": content_type}
    answer = reading_utf8(get_wsgi_application())(environ, lambda status, *_: told.append(status))
    assert b"".join(answer)
    return int(told[0].split()[0])


@pytest.mark.parametrize(
    "charset", ["hex", "rot13", "idna", "undefined", "utf-7", "raw_unicode_escape", "utf-16", "latin-1", "a\0b"]
)
def test_another_encoding_is_refused(charset: str) -> None:
    assert status_of(f"text/plain; charset={charset}") == 400
    form = b'--B\r\nContent-Disposition: form-data; name="username"\r\n\r\n+2AA-\r\n--B--\r\n'
    assert status_of(f"multipart/form-data; boundary=B; charset={charset}", "POST", form) == 400
    assert status_of(f'multipart/form-data; Charset="{charset}"; boundary=B', "POST", form) == 400


@pytest.mark.parametrize("content_type", ["", "text/plain", ";", "nonsense", "a/b; charset", "a/b; charset=nonsense"])
def test_what_names_none_is_utf_8(content_type: str) -> None:
    assert status_of(content_type) == 200


@pytest.mark.parametrize("charset", ["utf-8", "UTF8", "us-ascii", '"utf-8"'])
def test_utf_8_is_read_by_whatever_name(charset: str) -> None:
    assert status_of(f"text/plain; charset={charset}") == 200
