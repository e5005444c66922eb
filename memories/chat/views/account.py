"""The member's account: profile, memory switches, who looked, delete everything, a readable export, an import."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
import zoneinfo
from collections import defaultdict
from contextlib import closing
from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import NoReverseMatch, reverse
from django.utils import timezone, translation
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from memories.chat.presenting import member_page, refusal, refusals_shown
from memories.chat.topics import TOPICS, lines_of_choice, topics_chosen
from memories.constants import MAX_IMPORT_BYTES
from memories.errors import Conflict, InvalidInput, LimitExceeded
from memories.importing.formats import ExportFormat, parse_export
from memories.importing.records import ItemRecord, MemoryRecord
from memories.models import ForgetProposal, ProposalState
from memories.presenting.lines import SECTIONS
from memories.selectors.erasure import open_request
from memories.selectors.looks import in_stretches, looks_at
from memories.selectors.policies import choices_of, lines_of
from memories.services.admission import admit_more, units_of
from memories.services.choices import choose
from memories.services.erasure.forget_all import count_to_forget
from memories.services.erasure.proposals import forget_everything
from memories.services.erasure.requests import ask_erasure
from memories.services.portability.exports_import import import_export, size_of
from memories.services.portability.memories_export import export_memories
from memories.types import CURRENT, Kind, Status
from memoryhub.db.scope import WideRole, acting_as
from memoryhub.env.limits import Bucket
from memoryhub.languages import number, speak
from memoryhub.reauthentication import ask_password
from tenants.audit.fields import field_words
from tenants.errors import InvalidValue
from tenants.models import ApiToken, User
from tenants.principal import Principal
from tenants.services import set_profile

LOOKS_SHOWN = 20
# What a member types before everything, or the account, is deleted.
DELETE_WORD, ACCOUNT_WORD = gettext_lazy("delete everything"), gettext_lazy("delete my account")
# Pages of the sign-in, linked where they exist.
_SIGN_IN_PAGES = (
    ("account_change_password", gettext_lazy("Password")),
    ("usersessions_list", gettext_lazy("Devices and sessions")),
    ("mfa_index", gettext_lazy("Second factor")),
    ("account_email", gettext_lazy("E-mail address")),
)
IMPORTING_SECONDS = 20.0
# An archive may unpack to this many times the largest file, and list so many files.
_UNPACKED, _MOST_FILES = 4, 10_000
_CONVERSATIONS = "conversations.json"
# Its signature begins each entry of an archive's list of files; reading the list makes an object of each.
_ENTRY = b"PK\x01\x02"
# Other methods unpack without a bound, or not everywhere.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
# What reading a damaged or unsupported archive may raise; an unknown method or version is a RuntimeError.
_UNREADABLE = (
    zipfile.BadZipFile, zlib.error, EOFError, KeyError, RuntimeError, OSError, OverflowError, ValueError, struct.error,
)  # fmt: skip

TOPIC_NAMES = {
    "health": gettext_lazy("Health"),
    "money": gettext_lazy("Money"),
    "family": gettext_lazy("Family"),
    "love": gettext_lazy("Love and sex"),
    "beliefs": gettext_lazy("Beliefs"),
    "politics": gettext_lazy("Politics"),
    "work": gettext_lazy("Work"),
}


@member_page()
def home(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The page; `?cursor=` selects a page of the looks."""
    cursor = request.GET.get("cursor", "")
    try:
        looks, following = looks_at(principal, limit=LOOKS_SHOWN, cursor=cursor)
    except InvalidInput:
        return redirect("account:home")
    chosen, words = topics_chosen(lines_of(choices_of(principal).never_topics))
    tokens = ApiToken.objects.filter(membership_id=principal.membership_id, revoked_at=None)
    context: dict[str, Any] = {
        "zones": sorted(zoneinfo.available_timezones()),
        "languages": [("", _("As the browser")), *settings.LANGUAGES],
        "sign_in_pages": [(url, title) for name, title in _SIGN_IN_PAGES if (url := _address(name))],
        "choices": choices_of(principal),
        "topics": [(name, TOPIC_NAMES[name], name in chosen) for name in TOPICS],
        "own_topics": "\n".join(words),
        "programs": sum(token.is_usable_at(timezone.now()) for token in tokens),
        "looks": in_stretches(looks),
        "cursor": cursor,
        "following": following,
        "deletion": _last_deletion(principal),
    }
    return render(request, "account/home.html", context)


def _address(name: str) -> str:
    try:
        return reverse(name)
    except NoReverseMatch:
        return ""


def _last_deletion(principal: Principal) -> ForgetProposal | None:
    asked = ForgetProposal.objects.of(principal).filter(counts__isnull=False)
    return asked.filter(state__in=(ProposalState.CONFIRMED, ProposalState.ERASED)).order_by("-created_at").first()


@member_page("POST")
def profile(request: HttpRequest, _principal: Principal) -> HttpResponse:
    """POST: store the time zone and the language."""
    zone, language = request.POST.get("time_zone", ""), request.POST.get("language", "")
    try:
        set_profile(cast("User", request.user), time_zone=zone, language=language)
    except InvalidValue as error:
        messages.error(request, f"{capfirst(field_words(error.field))}: {error.reason}")
    else:
        speak(language or translation.get_language_from_request(request), request)
        messages.success(request, _("Saved."))
    return redirect("account:home")


@member_page("POST")
def switches(request: HttpRequest, principal: Principal) -> HttpResponse:
    """POST: pause or resume memory, and switch recall."""
    learns, recalls = "learns" in request.POST, "recalls" in request.POST
    choose(principal, learns=learns, recalls=recalls)
    said = _("Memory is on.") if learns else _("Memory is paused: nothing new is learned or stored.")
    messages.success(request, said if recalls else f"{said} " + _("Recall is off."))
    return redirect("account:home")


@member_page("POST")
def topics(request: HttpRequest, principal: Principal) -> HttpResponse:
    """POST: store the topics that are never remembered."""
    with refusals_shown(request, _("The topics")):
        choose(principal, never_topics=lines_of_choice(request.POST.getlist("topics"), request.POST.get("words", "")))
        messages.success(request, _("Saved. What you said before stays until you delete it."))
    return redirect("account:home")


@member_page("GET", "POST")
def delete(request: HttpRequest, principal: Principal) -> HttpResponseBase:
    """Say what goes; after the typed word, delete everything once the time to undo is over."""
    wrong = False
    if request.method == "POST":
        if _typed(request, DELETE_WORD):
            try:
                return redirect("chat:forgetting", proposal_id=forget_everything(principal).pk)
            except Conflict as error:  # a legal hold
                messages.error(request, str(error))
                return redirect("account:home")
        wrong = True
    counts: list[tuple[str, int]] = []
    with refusals_shown(request):  # a legal hold
        found = count_to_forget(principal, filters=None)
        known = ((section.title, found.memories.get(kind)) for kind, section in SECTIONS.items())
        counts = [(str(title), count) for title, count in known if count is not None]
        counts += [(_("Items of programs"), found.memories[Kind.ITEM]), (_("Conversations"), found.sessions)]
    context = {"counts": counts, "word": DELETE_WORD, "wrong": wrong, "account_word": ACCOUNT_WORD}
    context["leaving"] = open_request(principal.membership_id)
    return render(request, "account/delete.html", context, status=400 if wrong else 200)


@member_page("POST")
def leave(request: HttpRequest, principal: Principal) -> HttpResponseBase:
    """POST: ask for the erasure of the account, which the organisation's policy may have a second person approve."""
    if not _typed(request, ACCOUNT_WORD):
        messages.error(request, _("Type “%(word)s” to confirm. Nothing was deleted.") % {"word": ACCOUNT_WORD})
        return redirect("account:delete")
    if (question := ask_password(request, "account/password_again.html")) is not None:
        return question
    with refusals_shown(request), acting_as(WideRole.STAFF):
        ask_erasure(principal, membership_id=principal.membership_id, reason="asked for by the member")
        messages.success(request, _("Your organisation is told. Your account is deleted as its policy says."))
    return redirect("account:delete")


def _typed(request: HttpRequest, word: StrOrPromise) -> bool:
    return " ".join(request.POST.get("word", "").split()).casefold() == str(word).casefold()


@member_page("POST")
def export(_request: HttpRequest, principal: Principal) -> HttpResponse:
    """Download facts by category, how-tos and events by day as one HTML file; writes an audit event."""
    facts: dict[str, list[MemoryRecord]] = defaultdict(list)
    ended: list[MemoryRecord] = []
    howtos: list[MemoryRecord] = []
    days: dict[Any, list[MemoryRecord]] = defaultdict(list)
    items: list[ItemRecord] = []
    with closing(export_memories(principal)) as records:
        for record in records:
            if isinstance(record, ItemRecord):
                items.append(record)
            elif record.kind is Kind.EPISODIC and record.happened_at is not None:
                days[timezone.localdate(record.happened_at)].append(record)
            elif record.status not in (None, *CURRENT):
                if record.status == Status.SUPERSEDED:
                    ended.append(record)
            elif record.kind is Kind.SEMANTIC:
                facts[record.category.replace("_", " ").capitalize()].append(record)
            else:
                howtos.append(record)
    context = {
        "speaker": principal.speaker,
        "facts": sorted(facts.items(), key=lambda each: (not each[0], each[0])),
        "ended": ended,
        "howtos": howtos,
        "days": sorted(days.items(), reverse=True),
        "items": items,
        "now": timezone.now(),
    }
    name = f"memory-{timezone.localdate():%Y-%m-%d}.html"
    document = render_to_string("account/export.html", context)
    return HttpResponse(document, headers={"Content-Disposition": f'attachment; filename="{name}"'})


@member_page()
def importing(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The page that takes an export of ChatGPT."""
    context = {"choices": choices_of(principal), "largest": MAX_IMPORT_BYTES // 1024**2}
    return render(request, "account/import.html", context)


@member_page("POST")
def run_import(request: HttpRequest, principal: Principal) -> JsonResponse:
    """POST: the file is the body. With `?dry_run=1` say what would come, else store it; repeated, it goes on."""
    dry_run = request.GET.get("dry_run") == "1"
    try:
        admit_more(principal, Bucket.ENTRIES)  # whoever has none left has no file read
        body = _conversations(request.read(MAX_IMPORT_BYTES + 1))
        form, found = parse_export(body, ExportFormat.CHATGPT)
        admit_more(principal, Bucket.ENTRIES, max(size_of(found), units_of(len(body))) - 1)
        done = import_export(principal, form, found, dry_run=dry_run, learn=True, seconds=IMPORTING_SECONDS)
    except (InvalidInput, Conflict, LimitExceeded) as error:
        words = refusal(error, _("The file"))
        if isinstance(error, InvalidInput) and error.field != "file":
            words = f"{capfirst(error.field)}: {error.reason}"
        return JsonResponse({"message": words}, status=400 if isinstance(error, InvalidInput) else 409)
    context = {"done": done, "events": done.report.added[Kind.EPISODIC], "dry_run": dry_run, "shown": done.refused[:20]}
    return JsonResponse({"html": render_to_string("account/_imported.html", context), "complete": done.complete})


def _conversations(source: bytes) -> bytes:
    """The conversations of an export: the file itself, or that of this name in an archive. Raises InvalidInput."""
    name = {"file": _CONVERSATIONS}
    if len(source) > MAX_IMPORT_BYTES:
        raise InvalidInput(
            "file", _("is larger than %(most)s MB; unpack it and divide it.") % {"most": MAX_IMPORT_BYTES // 1024**2}
        )
    if not source.startswith(b"PK"):
        return source
    if source.count(_ENTRY) > _MOST_FILES:
        raise InvalidInput(
            "file",
            _("lists more than %(most)s files; unpack it and send %(file)s.") % {"most": number(_MOST_FILES), **name},
        )
    most = _UNPACKED * MAX_IMPORT_BYTES
    try:
        with zipfile.ZipFile(io.BytesIO(source)) as archive:
            entry = archive.getinfo(_CONVERSATIONS)
            if entry.flag_bits & _ENCRYPTED:
                raise InvalidInput("file", _("is encrypted; unpack it and send %(file)s.") % name)
            if entry.compress_type not in _METHODS:
                raise InvalidInput("file", _("is packed in an unusual way; unpack it and send %(file)s.") % name)
            with archive.open(entry) as inner:
                unpacked = inner.read(most + 1)
    except _UNREADABLE as error:
        reason = _("is no archive with a readable %(file)s; unpack it and send that.") % name
        raise InvalidInput("file", reason) from error
    if len(unpacked) > most:
        raise InvalidInput(
            "file", _("holds more than %(most)s MB when unpacked; divide it.") % {"most": most // 1024**2}
        )
    return unpacked
