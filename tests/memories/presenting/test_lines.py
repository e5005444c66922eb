"""Display text of memories."""

from __future__ import annotations

from django.utils import translation

from memories.presenting.lines import category_title


def test_a_built_in_category_is_in_the_language_of_the_page_and_another_stays() -> None:
    assert [category_title(each) for each in ("home", "home_life")] == ["Home", "Home life"]
    with translation.override("de"):
        assert [category_title(each) for each in ("home", "home_life", "")] == ["Zuhause", "Home life", ""]
