"""Which extractor an installation uses."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from memories.consolidation.rules import consolidation_extractor


@pytest.mark.english
@pytest.mark.parametrize(
    ("consolidating", "answering", "name"),
    [
        pytest.param("small", "large", "small", id="the model that consolidates"),
        pytest.param("", "large", "large", id="else the one that answers"),
        pytest.param("", "", "rules", id="else the rules"),
    ],
)
def test_the_settings_name_the_extractor(settings: Settings, consolidating: str, answering: str, name: str) -> None:
    settings.MEMORYHUB_CONSOLIDATION_MODEL = consolidating
    settings.MEMORYHUB_MODEL = answering
    assert consolidation_extractor().name == name
