"""Reads documents for the catalog: Markdown, HTML, PDF and JSON lines, cut at their headings into parts of sane size.

Files are hostile until proven otherwise: their size and the number of their parts are limited. Of Markdown only the
blocks are parsed, and HTML is first written anew by nh3, so that both take time in proportion to their size. A PDF is
read in a process of its own with a limit of time and memory, because its few bytes may unfold to any size; this module
is also that process.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from html import unescape
from html.parser import HTMLParser
from itertools import islice
from pathlib import Path

import nh3
from markdown_it import MarkdownIt

from memories.constants import MAX_TITLE_CHARACTERS

MAX_FILE_BYTES = 16 * 2**20
MAX_PARTS = 2_000
# The encoder reads about 1,000 characters; what is shorter than the least joins the part before it.
PART_CHARACTERS, LEAST_CHARACTERS = 1_200, 120
PDF_SECONDS, PDF_BYTES = 60, 2 * 2**30
_SEPARATOR = " › "


class UnreadableDocument(Exception):
    """A file that cannot be read; the message is the end of a sentence."""


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A part of a document. `title` names the document and the headings above it."""

    title: str
    text: str
    url: str = ""


Section = tuple[tuple[str, ...], str]
"""The headings above a text, and the text."""


def parts_of(path: Path, name: str) -> list[DocumentPart]:
    """Read a file; `name` is the title of one that has none. Raises UnreadableDocument, or OSError."""
    read = READERS[path.suffix.lower()]
    if (size := path.stat().st_size) > MAX_FILE_BYTES:
        raise UnreadableDocument(f"has {size:,} bytes; at most {MAX_FILE_BYTES:,} are read.")
    parts = list(islice(read(path, name), MAX_PARTS + 1))
    if len(parts) > MAX_PARTS:
        raise UnreadableDocument(f"has more than {MAX_PARTS:,} parts.")
    return parts


def chunked(sections: Iterable[Section], name: str) -> Iterator[DocumentPart]:
    """Cut sections to PART_CHARACTERS, at paragraphs, lines, sentences or words; short ones join the one before."""
    held: tuple[tuple[str, ...], str] | None = None
    for headings, text in sections:
        for piece in _pieces(_tidy(text)):
            if held is not None and len(piece) < LEAST_CHARACTERS and len(held[1]) + len(piece) < PART_CHARACTERS:
                held = held[0], f"{held[1]}\n{_lead(headings, held[0])}{piece}"
                continue
            if held is not None:
                yield _part(name, *held)
            held = headings, piece
    if held is not None:
        yield _part(name, *held)


def _lead(headings: tuple[str, ...], before: tuple[str, ...]) -> str:
    return f"{headings[-1]}: " if headings and headings != before else ""


def _part(name: str, headings: tuple[str, ...], text: str) -> DocumentPart:
    titles = [each for place, each in enumerate((name, *headings)) if each and (place == 0 or each != name)]
    return DocumentPart(_SEPARATOR.join(titles)[:MAX_TITLE_CHARACTERS].strip(), text)


def _tidy(text: str) -> str:
    text = text.replace("\x00", "").encode("utf-8", "replace").decode()
    lines = (re.sub(r"[ \t\u00a0]+", " ", line).strip() for line in text.splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


# A text is cut after the last of these that lies in the second half of what fits.
_CUTS = ("\n\n", "\n", ". ", " ")


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > PART_CHARACTERS:
        least, most = start + PART_CHARACTERS // 2, start + PART_CHARACTERS
        ends = (place + len(cut.rstrip()) for cut in _CUTS if (place := text.rfind(cut, least, most)) >= 0)
        end = next(ends, most)
        if piece := text[start:end].strip():
            yield piece
        start = end
    if rest := text[start:].strip():
        yield rest


def _text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8-sig", "replace")


_markdown = MarkdownIt("commonmark").disable(["inline", "reference"])
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


def markdown_parts(path: Path, name: str) -> Iterator[DocumentPart]:
    """Cut Markdown at its headings. The first heading of the first level is the title."""
    text = _FRONT_MATTER.sub("", _text_of(path).replace("\r\n", "\n"), count=1)
    lines = text.split("\n")
    tokens = _markdown.parse(text)
    found = [
        (token.map, int(token.tag[1:]), tokens[place + 1].content)
        for place, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map
    ]
    title = next((words for _, level, words in found if level == 1), name)
    sections: list[Section] = []
    above: dict[int, str] = {}
    start = 0
    for (first, last), level, words in found:
        sections.append((tuple(above.values()), "\n".join(lines[start:first])))
        above = {each: other for each, other in above.items() if each < level} | {level: words}
        start = last
    sections.append((tuple(above.values()), "\n".join(lines[start:])))
    return chunked(sections, title)


_HIDDEN = {"script", "style", "noscript", "template", "svg", "nav", "footer", "form", "iframe", "object", "title"}
_TITLE = re.compile(r"<title[^<>]{0,200}>([^<]{1,500})</title", re.IGNORECASE)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset(
    "p div section article main header aside ul ol li table tr br hr pre blockquote dl dt dd figure figcaption".split()
)
_CELLS = frozenset({"td", "th"})
_TITLE_WITHIN = 10_000  # characters


class _PageReader(HTMLParser):
    """Collects the text of clean HTML by headings."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.sections: list[Section] = []
        self._above: dict[int, str] = {}
        self._text: list[str] = []
        self._heading: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - as inherited
        if tag in _HEADINGS:
            self._flush()
            self._heading = []
        else:
            self._text.append(" " if tag in _CELLS else "\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _HEADINGS and self._heading is not None:
            words, level = " ".join("".join(self._heading).split()), _HEADINGS[tag]
            self._above = {each: other for each, other in self._above.items() if each < level} | {level: words}
            self._heading = None
        elif tag not in _CELLS:
            self._text.append("\n")

    def handle_data(self, data: str) -> None:
        (self._text if self._heading is None else self._heading).append(data)

    def close(self) -> None:
        """End the last section."""
        super().close()
        self._flush()

    def _flush(self) -> None:
        self.sections.append((tuple(self._above.values()), "".join(self._text)))
        self._text = []


def html_parts(path: Path, name: str) -> Iterator[DocumentPart]:
    """Cut the visible text of a page at its headings."""
    text = _text_of(path)
    reader = _PageReader()
    reader.feed(nh3.clean(text, tags={*_HEADINGS, *_BLOCKS, *_CELLS}, clean_content_tags=_HIDDEN, attributes={}))
    reader.close()
    first = next((headings[0] for headings, _ in reader.sections if headings), "")
    title = _TITLE.search(text[:_TITLE_WITHIN])
    return chunked(reader.sections, first or (" ".join(unescape(title[1]).split()) if title else "") or name)


def jsonl_parts(path: Path, name: str) -> Iterator[DocumentPart]:
    """Read JSON lines `{"title", "text", "url"}`, of which only the text is required."""
    for number, line in enumerate(_text_of(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            raise UnreadableDocument(f"has no JSON in line {number}.") from None
        if not isinstance(record, dict) or not all(isinstance(record.get(key, ""), str) for key in ("title", "url")):
            raise UnreadableDocument(f"has no object with a title, text and url in line {number}.")
        if not isinstance(record.get("text"), str):
            raise UnreadableDocument(f"has no text in line {number}.")
        for part in chunked([((), record["text"])], record.get("title", "").strip() or name):
            yield DocumentPart(part.title, part.text, record.get("url", ""))


def pdf_parts(path: Path, name: str) -> Iterator[DocumentPart]:
    """Read a PDF page by page, in a process that ends with its limits."""
    command = [sys.executable, "-m", "memories.importing.documents", str(path), name]
    try:
        done = subprocess.run(  # noqa: S603 - this module, and a path as its argument
            command, capture_output=True, timeout=PDF_SECONDS, check=False, cwd=Path(__file__).parents[2]
        )
    except subprocess.TimeoutExpired:
        raise UnreadableDocument(f"takes longer than {PDF_SECONDS} seconds to read.") from None
    if done.returncode or len(done.stdout) > MAX_FILE_BYTES:
        raise UnreadableDocument("is no PDF whose text can be read.")
    for part in json.loads(done.stdout):
        yield DocumentPart(**part)


def _read_pdf(path: Path, name: str) -> Iterator[DocumentPart]:
    from pypdf import PdfReader  # noqa: PLC0415 - in its own process alone

    reader = PdfReader(path)
    title = " ".join(str((reader.metadata.title if reader.metadata else "") or "").split()) or name
    pages = ((f"page {number}", page.extract_text()) for number, page in enumerate(reader.pages, start=1))
    return chunked((((number,), text) for number, text in pages), title)


READERS: Mapping[str, Callable[[Path, str], Iterable[DocumentPart]]] = {
    ".md": markdown_parts,
    ".markdown": markdown_parts,
    ".html": html_parts,
    ".htm": html_parts,
    ".pdf": pdf_parts,
    ".jsonl": jsonl_parts,
}


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (PDF_BYTES, PDF_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (PDF_SECONDS, PDF_SECONDS))
    found = islice(_read_pdf(Path(sys.argv[1]), sys.argv[2]), MAX_PARTS + 1)
    json.dump([asdict(part) for part in found], sys.stdout)
