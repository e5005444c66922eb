"""Tokens of the model in use: an estimate on the safe side, moved by what the endpoint reports, within bounds."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import pytest
from tokenizers import Tokenizer

import memories.embedding
from memories.llm import tokens
from memories.llm.tokens import ModelTokens, estimated

MODELS = Path(memories.embedding.__file__).parent / "models"
ENGLISH = "We left Bristol in the spring and have lived in Edinburgh ever since, close to the botanical garden."
JSON = '{"id": "3fa85f64-5717-4562-b3fc-2c963f66afa6", "kind": "semantic", "text": "Lives in Edinburgh", "key": "city"}'

# A token for each word and mark of English; for two letters of Cyrillic and Greek; for each character of Chinese,
# Japanese and Korean, each digit, each letter of a rarer script; three for an emoji. No vocabulary in use needs more
# than the bytes of a text.
LEAST = [
    ("Where do I live?", 5),
    ("我住在爱丁堡，喜欢喝茶。", 12),
    ("에든버러에 살아요", 8),
    ("Я живу в Эдинбурге.", 9),
    ("مرحبا", 5),
    ("נעים מאוד", 8),
    ("1234567890", 10),
    ("👍", 3),
]


@pytest.fixture(autouse=True)
def _nothing_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_ratios", OrderedDict())


@pytest.mark.parametrize(("text", "least"), LEAST)
def test_each_script_is_estimated_on_the_safe_side(text: str, least: int) -> None:
    assert least <= estimated(text) <= len(text.encode())


@pytest.mark.parametrize("text", [ENGLISH, JSON, Path(__file__).read_text()], ids=["prose", "json", "code"])
def test_an_estimate_is_above_the_tokenizer_at_hand_but_not_far(text: str) -> None:
    tokenizer = Tokenizer.from_file(str(MODELS / "minilm-l6-memory-int8-onnx" / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    counted = len(tokenizer.encode(text, add_special_tokens=False).ids)
    assert counted <= estimated(text) <= 1.7 * counted


def test_what_the_endpoint_reports_moves_the_count() -> None:
    before = ModelTokens("m")
    before.learn(1_000, 1_500)
    assert ModelTokens("m").factor == 1.5
    assert ModelTokens("m").count("a b c d") == 6
    assert ModelTokens("other").factor == 1
    assert before.count("a b c d") == 4, "what is counted in one turn is counted alike"


def test_the_worst_of_the_last_calls_counts() -> None:
    model = ModelTokens("m")
    for reported in (1_800, *[900] * 7):
        model.learn(1_000, reported)
    assert ModelTokens("m").factor == 1.8
    model.learn(1_000, 900)
    assert ModelTokens("m").factor == 0.9


@pytest.mark.parametrize(
    ("estimate", "reported"),
    [(1_000, 12), (1_000, 40_000), (1_000, None), (1_000, 0), (1_000, -3), (100, 200)],
    ids=["the uncached part", "all calls so far", "nothing", "zero", "nonsense", "a short prompt"],
)
def test_what_cannot_be_meant_changes_nothing(estimate: int, reported: int | None) -> None:
    ModelTokens("m").learn(estimate, reported)
    assert ModelTokens("m").factor == 1
