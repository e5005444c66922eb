"""What stands before the cluster may answer anything: a key is then not made, and the attempt is noted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

import pytest
from pytest_django import Settings

from tenants.errors import SearchKeysUnavailable
from tenants.models import Membership
from tenants.search_keys import rotate
from tenants.search_keys.claims import retire
from tenants.search_keys.cluster import every_valid_key, prove
from tenants.search_keys.lifecycle import KeyOutcome, end_now
from tenants.search_keys.verification import verify
from tests.parts import serving
from tests.tenants.search_keys.probing import credential, key_of

pytestmark = pytest.mark.django_db

STRANGE = (
    b"{}",
    b"[]",
    b'"no"',
    b'{"responses":[{}],"api_keys":[{}]}',
    b'{"responses":7,"api_keys":7}',
    b'{"id":"x","encoded":"y","expiration":"soon"}',
)


@contextmanager
def in_its_place(settings: Settings, body: bytes) -> Iterator[None]:
    """A server in the place of the cluster that answers everything with the same body."""

    class Handler(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline()
            if not self.raw_requestline or not self.parse_request():
                self.close_connection = True
                return
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("X-Elastic-Product", "Elasticsearch")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with serving(Handler) as port:
        settings.ELASTICSEARCH_URLS = (f"http://127.0.0.1:{port}",)
        yield


@pytest.mark.parametrize("body", STRANGE, ids=lambda body: body.decode())
def test_an_answer_of_another_form_is_an_error(membership: Membership, settings: Settings, body: bytes) -> None:
    before, key = credential(membership), key_of(membership)
    retire("taken", membership.pk, None, due_at=before.retry_at)
    with in_its_place(settings, body):
        assert rotate(membership) is KeyOutcome.FAILED
        after = credential(membership)
        assert (after.key_id, after.claimed_until, after.trouble) == (before.key_id, None, "failed")
        assert end_now(["taken"]) == 0
        with pytest.raises(SearchKeysUnavailable):
            prove(key)
        with pytest.raises(SearchKeysUnavailable):
            verify(Membership.objects.filter(pk=membership.pk))
        with pytest.raises(SearchKeysUnavailable):
            list(every_valid_key())
