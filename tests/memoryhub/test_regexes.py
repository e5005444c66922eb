"""A regular expression that is compiled when it is first used is one like any other from then on."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest

import memories
from memoryhub import regexes
from memoryhub.regexes import lazy_regex


def test_it_finds_what_the_compiled_one_finds() -> None:
    pattern, flags, text = r"(?P<who>ada|noor)\b", re.IGNORECASE, "Ada and Noor"
    lazy, compiled = lazy_regex(pattern, flags), re.compile(pattern, flags)
    assert lazy.pattern == pattern
    assert lazy.findall(text) == compiled.findall(text) == ["Ada", "Noor"]
    assert [each["who"] for each in lazy.finditer(text)] == ["Ada", "Noor"]
    assert lazy.sub("x", text) == "x and x"
    assert (lazy.match(text), lazy.fullmatch(text)) != (None, None)
    assert lazy.search("nobody") is None
    assert (lazy.flags, lazy.groupindex) == (compiled.flags, compiled.groupindex)


def test_a_method_that_was_used_is_the_compiled_one_itself() -> None:
    lazy = lazy_regex("a+")
    assert lazy.search("caat") is not None
    assert vars(lazy)["search"].__self__ is vars(lazy)["compiled"]


def test_an_expression_has_no_more_than_others_have() -> None:
    with pytest.raises(AttributeError):
        _ = lazy_regex("a").nothing  # type: ignore[attr-defined]  # it has none


def test_every_expression_of_the_program_can_be_compiled() -> None:
    for module in pkgutil.walk_packages(memories.__path__, "memories."):
        if module.name.startswith(("memories.consolidation.", "memories.hygiene.", "memories.llm.")):
            importlib.import_module(module.name)
    assert regexes.compile_all() > 300
