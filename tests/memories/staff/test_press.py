"""What erases, evicts or releases takes a press of its button; in a browser: tests/browser/test_enter_key.py."""

from __future__ import annotations

import re
from pathlib import Path

TEMPLATES = Path(__file__).resolve().parents[3] / "templates/admin"
FORM = re.compile(r"<form\b.*?</form>", re.DOTALL)
FIELD = re.compile(r"<input(?![^>]*type=\"hidden\")\b|_reason\.html")
FIRST = re.compile(r"<form[^>]*?(?:{%.*?%}[^>]*?)*>\s*{% csrf_token %}{% include \"admin/_by_press_alone\.html\" %}")


def dangerous_forms() -> dict[str, str]:
    """Those with a field to press Enter in."""
    found = [(path, form) for path in TEMPLATES.rglob("*.html") for form in FORM.findall(path.read_text())]
    return {path.name: form for path, form in found if "button-danger" in form and FIELD.search(form)}


def test_a_form_with_a_field_and_a_dangerous_button_begins_with_one_that_does_nothing() -> None:
    forms = dangerous_forms()
    assert {"_eviction.html", "hold.html", "erasure.html"} <= set(forms)
    assert [name for name, form in forms.items() if not FIRST.match(form)] == []
    assert "disabled hidden" in (TEMPLATES / "_by_press_alone.html").read_text()


def test_keeping_comes_before_evicting() -> None:
    form = dangerous_forms()["_eviction.html"]
    assert form.index('value="keep"') < form.index('value="evict"')
