"""Documents for the catalog: cut at their headings, and hostile ones refused."""

from __future__ import annotations

import time
import zlib
from pathlib import Path

import pytest
from fpdf import FPDF

from memories.importing import documents
from memories.importing.documents import PART_CHARACTERS, UnreadableDocument, parts_of

LONG = "The pump is primed by hand before its first start. " * 4


def read(tmp_path: Path, name: str, text: str) -> list[tuple[str, str]]:
    path = tmp_path / name
    path.write_text(text)
    return [(part.title, part.text) for part in parts_of(path, path.stem)]


def test_markdown_is_cut_at_its_headings(tmp_path: Path) -> None:
    text = f"---\nkey: value\n---\n# Pumps\n\n{LONG}\n\n## Faults ##\n\n{LONG}\n\n```\n# no heading\n```\n"
    text += f"\nCare\n----\n\n{LONG}"
    found = read(tmp_path, "pumps.md", text)
    assert [title for title, _ in found] == ["Pumps", "Pumps › Faults", "Pumps › Care"]
    assert "# no heading" in found[1][1] and "key: value" not in str(found)


def test_html_is_its_visible_text_by_headings(tmp_path: Path) -> None:
    text = (
        f"<title>Site</title><nav>Menu</nav><script>alert(1)</script><h1>Pumps &amp; <b>more</b></h1><p>{LONG}"
        f"<h2>Faults</h2><table><tr><td>one<td>two</table><div>{LONG}</div><style>p {{}}</style><footer>Imprint"
    )
    found = read(tmp_path, "pumps.html", text)
    assert [title for title, _ in found] == ["Pumps & more", "Pumps & more › Faults"]
    assert "one two" in found[1][1]
    assert not any(word in str(found) for word in ("Menu", "alert", "{}", "Imprint", "<"))


def test_json_lines_are_records_of_their_own(tmp_path: Path) -> None:
    lines = '{"title": "P7", "text": "A pump", "url": "https://a.b/p7"}\n\n{"text": "A hose"}'
    (tmp_path / "shop.jsonl").write_text(lines)
    found = parts_of(tmp_path / "shop.jsonl", "shop")
    assert [(part.title, part.text, part.url) for part in found] == [
        ("P7", "A pump", "https://a.b/p7"),
        ("shop", "A hose", ""),
    ]


def test_a_pdf_is_read_page_by_page(tmp_path: Path) -> None:
    pdf = FPDF()
    pdf.set_title("Pumps")
    pdf.set_font("helvetica")
    for page in (1, 2):
        pdf.add_page()
        pdf.multi_cell(0, text=f"Page {page}. {LONG}")
    pdf.output(str(tmp_path / "pumps.pdf"))
    found = parts_of(tmp_path / "pumps.pdf", "pumps")
    assert [part.title for part in found] == ["Pumps › page 1", "Pumps › page 2"]
    assert "primed by hand" in found[1].text


def test_a_long_section_is_cut_where_a_reader_would(tmp_path: Path) -> None:
    found = read(tmp_path, "long.md", f"# Pumps\n\n{LONG * 20}\n\n{'x' * 3_000}")
    assert all(len(text) <= PART_CHARACTERS for _, text in found)
    assert found[0][1].endswith("first start.") and sum(text.count("x") for _, text in found) >= 3_000


def test_a_short_section_joins_the_one_before_it_with_its_heading(tmp_path: Path) -> None:
    ((title, text),) = read(tmp_path, "pumps.md", f"# Pumps\n\n{LONG}\n\n## Colour\n\nRed")
    assert title == "Pumps" and text.endswith("Colour: Red")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bad.jsonl", b'{"text": "fine"}\nno json'),
        ("bad.jsonl", b'{"text": 7}'),
        ("bad.jsonl", b"[" * 100_000),
        ("bad.pdf", b"%PDF-1.7 no"),
        ("bad.pdf", b""),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UnreadableDocument):
        parts_of(tmp_path / name, "bad")


def test_a_pdf_that_unfolds_to_any_size_ends_with_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = zlib.compress(zlib.compress(b"(A) Tj " * 60_000_000, 1), 1)
    stream = b"<</Length %d/Filter[/FlateDecode/FlateDecode]>>stream\n%s\nendstream" % (len(bomb), bomb)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>",
        stream,
    ]
    body = b"".join(b"%d 0 obj%s endobj\n" % (number, each) for number, each in enumerate(objects, start=1))
    (tmp_path / "bomb.pdf").write_bytes(b"%PDF-1.7\n" + body + b"trailer<</Root 1 0 R/Size 5>>")
    monkeypatch.setattr(documents, "PDF_SECONDS", 20)
    with pytest.raises(UnreadableDocument):
        parts_of(tmp_path / "bomb.pdf", "bomb")


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("odd.md", "["), ("odd.md", "> "), ("odd.md", "- "), ("odd.md", "*a **"), ("odd.md", "[a]: <"),
        ("odd.html", "<!--"), ("odd.html", "<div "), ("odd.html", "<![x"), ("odd.html", "<p>"), ("odd.html", "&#x"),
    ],
)  # fmt: skip
def test_odd_text_takes_time_in_proportion_to_its_size(tmp_path: Path, name: str, unit: str) -> None:
    def seconds(size: int) -> float:
        (tmp_path / name).write_text(unit * size)
        began = time.process_time()
        parts_of(tmp_path / name, "odd")
        return time.process_time() - began

    small, large = seconds(1_000), seconds(16_000)
    assert large < 160 * small + 0.5


def test_files_and_their_parts_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_PARTS", 2)
    with pytest.raises(UnreadableDocument, match="more than 2 parts"):
        read(tmp_path, "many.md", f"# A\n\n{LONG}\n\n# B\n\n{LONG}\n\n# C\n\n{LONG}")
    monkeypatch.setattr(documents, "MAX_FILE_BYTES", 10)
    with pytest.raises(UnreadableDocument, match="bytes"):
        read(tmp_path, "long.md", LONG)
