"""Codes and quoted strings: what a query means literally, and who has it."""

from __future__ import annotations

import pytest

from memories.embedding import pack_pieces, token_vectors
from memories.recall.codes import codes, share_held, spellings
from memories.recall.late_interaction import pack


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("what does E4012 mean?", ["e4012"]),
        ("why is ERR_CONN there", ["err_conn"]),
        ("are we on v3.2.1 or 3.2?", ["v3.2.1", "3.2"]),
        ("who is ana.lee@example.com", ["ana.lee@example.com"]),
        ("what is in /etc/nginx/nginx.conf", ["/etc/nginx/nginx.conf"]),
        ('who said "the red kite"?', ["the red kite"]),
        ("wer sagte „so nicht“", ["so nicht"]),
        ("do I take 20 mg or 5?", ["20 mg"]),
        ("what costs £415", ["£415"]),
        ("what is the 2nd of them in 1999, and/or his well-known 12 o'clock", []),
        ("don't say 'cause it isn't", []),
    ],
)
def test_codes_of_a_question(text: str, found: list[str]) -> None:
    assert list(codes(text)) == found


def held(code: str, *texts: str) -> list[bool]:
    """Whether each text has the code."""
    vectors = token_vectors()
    stored = pack([pack_pieces(vectors.piece_ids(text)) for text in texts])
    wanted = [[vectors.piece_ids(spelt) for spelt in spellings(code)]]
    return [bool(share) for share in share_held(stored, wanted, vectors.continues)]


@pytest.mark.parametrize(
    ("code", "holding", "other"),
    [
        ("e4012", "The pump says E4012 again", "The pump says E40125 again"),
        ("3.2.1", "Runs v3.2.1 at work", "Runs 3.2.10 at work"),
        ("err_conn", "Log: ERR_CONN, then silence", "An err in the conn"),
        ("20 mg", "Takes 20 mg at night", "Takes 120 mg at night"),
        ("the red kite", "Saw the red kite", "The kite is red"),
    ],
)
def test_a_text_has_a_code_in_one_piece(code: str, holding: str, other: str) -> None:
    assert held(code, other, holding, other) == [False, True, False]


def test_a_code_does_not_reach_from_one_text_into_the_next() -> None:
    assert held("the red kite", "Saw the red", "kite") == [False, False]
