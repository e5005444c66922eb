"""One address says how mail is sent."""

from __future__ import annotations

import pytest

from memoryhub.env import read


@pytest.mark.parametrize(
    ("url", "host", "port", "user", "tls", "ssl"),
    [
        ("", "", 587, "", False, False),
        ("smtp://ada:p%40ss@mail.example", "mail.example", 587, "ada", True, False),
        ("smtp://localhost:25", "localhost", 25, "", False, False),
        ("smtps://mail.example", "mail.example", 465, "", False, True),
    ],
)
def test_mail_is_encrypted_unless_it_stays_here(
    url: str, host: str, port: int, user: str, tls: bool, ssl: bool
) -> None:
    env, problems = read({"MEMORYHUB_MAIL_URL": url})
    mail = env.mail
    assert problems == () and (mail["EMAIL_HOST"], mail["EMAIL_PORT"], mail["EMAIL_HOST_USER"]) == (host, port, user)
    assert (mail["EMAIL_USE_TLS"], mail["EMAIL_USE_SSL"]) == (tls, ssl)
    assert mail["EMAIL_HOST_PASSWORD"] == ("p@ss" if user else "")


@pytest.mark.parametrize("url", ["mail.example:25", "http://mail.example", "smtp://"])
def test_another_address_is_reported(url: str) -> None:
    env, problems = read({"MEMORYHUB_MAIL_URL": url})
    assert [problem.variable for problem in problems] == ["MEMORYHUB_MAIL_URL"] and not env.mail["EMAIL_HOST"]
