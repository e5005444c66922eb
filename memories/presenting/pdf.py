"""Plain documents as PDF: headings, pairs and lines, with the author, the time and page numbers on each page."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _
from fpdf import FPDF
from fpdf.fonts import TTFFont

from memories.presenting.lines import in_utc
from memories.selectors.audit_report import ReportSection
from memoryhub.installation import PROGRAM
from memoryhub.languages import in_english

_FONTS = Path(__file__).parent / "fonts"
_FAMILY = "Inter"
_MUTED, _TEXT, _DANGER = (110, 110, 110), (25, 25, 25), (180, 20, 20)
_LEFT_MM, _LINE_MM = 50, 5
_SMALL, _NORMAL, _HEADING, _TITLE = 8, 9.5, 12, 18


class Document(FPDF):
    """A document in A4. What its fonts do not have is written as a code point, so that no text is lost."""

    def __init__(self, title: str, *, whose: str, made_by: str, made_at: datetime) -> None:
        super().__init__(format="A4")
        self.add_font(_FAMILY, "", _FONTS / "Inter-Regular.ttf")
        self.add_font(_FAMILY, "B", _FONTS / "Inter-SemiBold.ttf")
        font = self.fonts[_FAMILY.lower()]
        self._known = frozenset(font.cmap if isinstance(font, TTFFont) else ())
        self.set_creation_date(made_at)
        self.set_title(title)
        self.set_author(made_by)
        self.set_margin(18)
        self.set_auto_page_break(auto=True, margin=22)
        self._foot = _("%(title)s of %(whose)s. Made by %(who)s, %(when)s.") % {
            "title": title, "whose": whose, "who": made_by, "when": in_utc(made_at),
        }  # fmt: skip
        self.add_page()
        self._write(title, size=_TITLE, style="B")
        self._write(whose, size=_HEADING)
        self.ln(2)

    def footer(self) -> None:
        """The author, the time and the number of the page."""
        self.set_y(-16)
        self.set_font(_FAMILY, "", _SMALL)
        self.set_text_color(*_MUTED)
        self.cell(self.epw - 24, 6, self._drawn(self._foot))
        self.cell(24, 6, _("Page %(number)s of {nb}") % {"number": self.page_no()}, align="R")

    def heading(self, text: str) -> None:
        """A heading, kept with what follows."""
        if self.will_page_break(24):
            self.add_page()
        self.ln(4)
        self._write(text, size=_HEADING, style="B")

    def paragraph(self, text: str, *, alarming: bool = False) -> None:
        """A paragraph."""
        self._write(text, colour=_DANGER if alarming else _TEXT)

    def pair(self, name: str, value: str) -> None:
        """A name at the left and its value; both may wrap."""
        if self.will_page_break(2 * _LINE_MM):
            self.add_page()
        top = self.get_y()
        self._write(name, colour=_MUTED, width=_LEFT_MM - 2)
        after = self.get_y()
        self.set_xy(self.l_margin + _LEFT_MM, top)
        self._write(value)
        self.set_y(max(after, self.get_y()) if after >= top else self.get_y())

    def content(self) -> bytes:
        """The finished file."""
        return bytes(self.output())

    def _write(
        self,
        text: str,
        *,
        size: float = _NORMAL,
        style: str = "",
        colour: tuple[int, int, int] = _TEXT,
        width: float = 0,
    ) -> None:
        self.set_font(_FAMILY, style, size)
        self.set_text_color(*colour)
        height = _LINE_MM * max(1.0, size / _NORMAL)
        self.multi_cell(width, height, self._drawn(text), align="L", new_x="LMARGIN", new_y="NEXT")

    def _drawn(self, text: str) -> str:
        text = unicodedata.normalize("NFC", " ".join(text.split()))
        return "".join(each if ord(each) in self._known else f"U+{ord(each):04X} " for each in text)


@in_english()
def report_pdf(
    sections: Sequence[ReportSection], *, whose: str, since: datetime, until: datetime, made_by: str, made_at: datetime
) -> bytes:
    """The report of a period."""
    document = Document(_("Audit report"), whose=whose, made_by=made_by, made_at=made_at)
    document.pair(_("Period"), _("%(since)s to %(until)s") % {"since": in_utc(since), "until": in_utc(until)})
    document.pair(_("Made"), _("%(when)s by %(who)s") % {"when": in_utc(made_at), "who": made_by})
    for section in sections:
        document.pair(section.title, str(section.total))
    for section in sections:
        document.heading(f"{section.title} ({section.total})")
        for line in section.lines:
            why = _(" Reason: %(why)s") % {"why": line.why} if line.why else ""
            document.pair(in_utc(line.at), f"{line.text}{why}{f' [{line.place}]' if line.place else ''}")
        if section.left_out:
            document.paragraph(
                _("%(count)s more are not listed: export the audit log of this period.") % {"count": section.left_out}
            )
        if not section.total:
            document.paragraph(_("None."))
    return document.content()


@in_english()
def certificate_pdf(certificate: Mapping[str, Any], *, made_by: str, made_at: datetime, recorded_as: str) -> bytes:
    """The certificate of a verification; `recorded_as` names the event that records it."""
    whose = certificate["tenant"]["name"]
    document = Document(_("Certificate of verification"), whose=whose, made_by=made_by, made_at=made_at)
    verdicts = {
        "intact": _("Intact: everything that was verified agrees with the audit log."),
        "broken": _("Broken: something that was verified was changed outside memoryhub."),
        "incomplete": _("Incomplete: some checks could not be made; the others found everything intact."),
    }
    document.paragraph(verdicts[certificate["verdict"]], alarming=certificate["verdict"] != "intact")
    log, memories = certificate["audit_log"], certificate["memories"]
    started, finished = (datetime.fromisoformat(certificate[name]) for name in ("started_at", "finished_at"))
    for name, value in (
        (_("Organisation"), f"{whose} ({certificate['tenant']['id']})"),
        (_("Verified"), _("%(since)s to %(until)s") % {"since": in_utc(started), "until": in_utc(finished)}),
        (_("Requested by"), (certificate["asked_by"] or {}).get("name", "")),
        (_("Chains of events"), str(log["chains"])),
        (_("Good events"), str(log["events"])),
        (_("Events without words"), _("%(count)s, erased with their memory") % {"count": log["erased"]}),
        (_("Chains with an anchor"), _("%(anchored)s of %(chains)s") % {**log, "anchored": log["anchored_chains"]}),
        (_("Owners of memories"), str(memories["owners"])),
        (_("Memories that agree"), str(memories["compared"])),
        (
            _("Triggers and anchor file"),
            " ".join(certificate["guards"]) if certificate["guards"] != "present" else _("in place"),
        ),
        (_("Recorded as"), recorded_as),
        (_("SHA-256 of the results"), certificate["results_sha256"]),
    ):
        document.pair(name, value)
    if certificate["failed"]:
        document.heading(_("What does not verify"))
        for each in certificate["failed"]:
            at = _(" at event %(number)s") % {"number": each["first_bad"]} if each["first_bad"] else ""
            document.pair(each["what"], f"{each['chain']}{at}: {each['reason']}")
    document.heading(_("How to check this certificate"))
    document.paragraph(
        _(
            "This file is part of a signed archive. `%(program)s verify_export FILE` checks the archive without a"
            " database; with `--public-key` it needs no secret either. chains.jsonl has the result of each chain."
        )
        % {"program": PROGRAM}
    )
    return document.content()
