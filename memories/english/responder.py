"""The responder, which answers in English when no model is configured. It is deterministic and never guesses.

It writes, ends and erases with the same tools as a model, and only as the latest message asks. A question is answered
from the facts of the slot it names, or else from recalled memories; otherwise the answer is unknown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any
from uuid import UUID

from django.utils import timezone, translation

from memories.consolidation.rules import marking
from memories.constants import MAX_TOOL_CALLS_AT_ONCE
from memories.english import answers, phrasing, questions
from memories.english.answers import FORGET, LISTED, RECALL, RETIRE, UNDO, WRITE, CalledTool, Item, as_item, words_of
from memories.english.changes import End, read_changes
from memories.english.grammar import Reading, fragment, read, with_value
from memories.english.known import Held, weighed
from memories.english.phrasing import UNKNOWN, reply, second_person, sentence
from memories.english.questions import FORMS, Knowledge
from memories.english.slots import SOMEBODY, P, Statement
from memories.english.text import content_words
from memories.english.times import WEEKDAYS
from memories.english.vocabulary import QUESTION
from memories.hygiene.sensitivity.findings import has_label
from memories.hygiene.text import normalised
from memories.llm.base import ChatMessage, Finished, Output, StopReason, TextPiece, ToolCall, ToolSchema
from memories.models import Fact, Playbook, Relation
from memories.selectors.memories import list_memories
from memories.selectors.policies import may_recall
from memories.selectors.sessions import TurnView, transcript
from memories.types import CURRENT, Contradiction, Kind, Scope, Status
from memories.words import words
from tenants.principal import Principal

LONGEST_QUERY = 300
MOST_FACTS = 600
# The tools' own limit on ids.
MOST_AT_ONCE = 10
# "Forget" applies to a memory that contains this share of the user's words for it.
MEANT_SHARE = 0.6
EARLIER_TURNS = 3
STEM = 4
# Questions of one message that are answered.
MOST_QUESTIONS = 20
_PIECE = re.compile(r"\S+\s*|\s+")


class Responder:
    """The ChatModel of one member and conversation; without a member it knows nothing."""

    name = "offline responder"
    offline = True

    def __init__(self, principal: Principal | None = None, session_id: UUID | None = None) -> None:
        self._principal = principal
        self._session_id = session_id
        # Of the page: an answer may be streamed after the request has ended.
        self._language = translation.get_language()
        self._text = ""
        self._waiting: list[ToolCall] | None = None
        self._quoted: list[tuple[Kind, UUID]] = []
        self._stores = True
        self._answered_from: Knowledge | None = None

    def bound(self, principal: Principal, session_id: UUID) -> Responder:
        """Return a responder for one turn of this member."""
        return Responder(principal, session_id)

    def looks_up(self, text: str) -> bool:
        """True if answering `text` may require a recall."""
        if _short(text):
            return False
        message = read(text)
        if message.forget is not None:
            return not P["everything"].match(message.forget)
        return any(questions.asks_for_all(each) != "" for each in message.questions[:MOST_QUESTIONS])

    def sources(self) -> Sequence[tuple[Kind, UUID]]:
        """The memories that the answer states or quotes."""
        stated = self._answered_from.cited if self._answered_from else ()
        return [*dict.fromkeys((*stated, *self._quoted))]

    def told(self, answer: str) -> Sequence[tuple[Kind, UUID]]:
        """The facts whose words `answer` repeats, and the events that it quotes."""
        marks, begin = marking(answer), _beginnings(answer)
        known = self.__dict__.get("_known")
        facts = (*known.current, *known.ended, *known.retracted) if known else ()
        alike = (fact for fact in facts if begin & _beginnings(fact.text))  # cheap, as most facts have no such word
        return [*((fact.kind, fact.pk) for fact in alike if marks & marking(fact.text)), *self._quoted]

    def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSchema], *, may_call_tools: bool
    ) -> Generator[Output]:
        """Stream the answer to `messages`; see ChatModel."""
        self._text, done = _turn(messages)
        offered = {tool["function"]["name"] for tool in tools}
        self._stores = WRITE in offered
        if calls := self._calls(done, offered if may_call_tools else set()):
            yield from calls
            yield Finished(StopReason.TOOL_CALLS)
            return
        answer = _short(self._text)
        if not self._stores and ";" in answer:  # what follows says that the words are kept
            answer = f"{answer.partition(';')[0].rstrip()}."
        if not answer or (not self._stores and " kept" in answer):
            with translation.override(self._language):
                answer = self._say(done)
        for piece in _PIECE.findall(answer):
            yield TextPiece(piece)
        yield Finished(StopReason.DONE)

    # -- facts and earlier turns --------------------------------------------------------------------------------------

    @cached_property
    def _reads(self) -> Principal | None:
        """The member, if what is known of them may come up."""
        return self._principal if self._principal is not None and may_recall(self._principal) else None

    @property
    def _unrecalled(self) -> str:
        """The answer to whoever asks for what may not come up; empty if memory may."""
        if self._principal is None or self._reads:
            return ""
        return reply("temporary" if self._principal.off_record else "recall_off")

    @property
    def _no_undo(self) -> str:
        """Why nothing is undone in this conversation; empty if something may be."""
        if self._principal is not None and self._principal.off_record:
            return reply("undo_temporary")
        return self._unrecalled or ("" if self._stores else reply("undo_paused"))

    @cached_property
    def _known(self) -> Knowledge:
        """The member's own facts before this turn changed them."""
        return self._look()

    def _look(self) -> Knowledge:
        facts: list[Fact] = []
        if self._reads:
            rows = list_memories(self._reads, Kind.SEMANTIC, status=(*CURRENT, Status.SUPERSEDED))
            some = rows.filter(scope=Scope.USER).defer("embedding", "token_ids")[:MOST_FACTS]
            facts = [row for row in some if isinstance(row, Fact)]
        return Knowledge(facts, timezone.now())

    @cached_property
    def _message(self) -> Reading:
        return read(self._text, " ".join(f"{turn.text} {turn.answer}" for turn in self._turns))

    @cached_property
    def _turns(self) -> Sequence[TurnView]:
        """The last turns before this one, oldest first."""
        if self._principal is None or self._session_id is None:
            return ()
        earlier = transcript(self._principal, self._session_id, last=EARLIER_TURNS + 1)[:-1]
        return [turn for turn in earlier if turn.own]

    @property
    def _last(self) -> TurnView | None:
        return self._turns[-1] if self._turns else None

    def _touched(self, relation: Relation) -> list[Fact]:
        """Return the facts that the previous turn wrote or replaced."""
        seen = self._last.having(relation) if self._last else ()
        return [mention.memory for mention in seen if isinstance(mention.memory, Fact)]

    def _pointed_at(self) -> list[Fact]:
        """Return the facts that "that" refers to: those the previous turn wrote, or else those in its answer."""
        if written := [fact for fact in self._touched(Relation.WROTE) if fact.superseded_at is None]:
            return written
        told = self._last.answer.casefold() if self._last else ""
        return [fact for fact in self._known.current if second_person(fact.text).casefold() in told]

    # -- tool calls ---------------------------------------------------------------------------------------------------

    def _calls(self, done: Sequence[CalledTool], offered: set[str]) -> list[ToolCall]:
        """Return the next tool calls; none once everything is done."""
        if not offered or _short(self._text):
            return []
        query = self._text[:LONGEST_QUERY]
        recalled = any(each.tool == RECALL and each.arguments.get("query") == query for each in done)
        if RECALL in offered and not recalled and self.looks_up(self._text):
            return [_call(RECALL, query=query)]
        if self._waiting is None and P["undo"].match(self._text.strip()):
            self._waiting = [] if self._no_undo else [*self._undoing()]
        if self._waiting is None:
            calls = (*self._changing(), *self._forgetting(done))
            self._waiting = [call for call in calls if call.name in offered and not has_label(call.arguments)]
        now, self._waiting = self._waiting[:MAX_TOOL_CALLS_AT_ONCE], self._waiting[MAX_TOOL_CALLS_AT_ONCE:]
        return now

    def _changing(self) -> Iterator[ToolCall]:
        """Yield calls that write facts, with the facts they replace, or end facts."""
        message, known, now = self._message, self._known, self._known.now
        changes = read_changes(message.text)
        if start := _later_start(message.text, known.current, now):
            yield _write(start, [str(fact.pk) for fact in known.current if fact.key == "employer"], "harsh")
        elif P["denied"].match(self._text.strip()):
            if len(facts := self._pointed_at()) == 1:
                yield _call(RETIRE, memory_ids=[str(facts[0].pk)], contradiction="harsh")
        else:
            held = [_held(fact) for fact in sorted(known.current, key=lambda fact: fact.learned_at)]
            once = [*held, *(_held(fact) for fact in known.ended)]
            # "There" refers to the home mentioned last.
            spoken = [words for turn in reversed(self._turns) for words in (turn.text, turn.answer)] or [""]
            over: set[str] = set()
            steps = [*weighed(message.statements, changes, held, now, spoken, once=once, denials=True)]
            if not steps and (better := self._instead(fragment(message.text))):
                fact, text = better
                yield _write(Statement(text, fact.key, fact.category), [str(fact.pk)], "harsh")
            for step in steps:
                ids = [str(fact.id) for fact in step.over if str(fact.id) not in over][:MOST_AT_ONCE]
                over |= {*ids}
                harsh = step.kind is Contradiction.HARSH
                if step.said is not None:
                    yield _write(step.said, ids, "harsh" if harsh else "", step.since)
                elif ids:
                    yield _call(RETIRE, memory_ids=ids, contradiction="harsh" if harsh else "natural")
        if book := message.playbook:
            yield _call(WRITE, kind="procedural", **asdict(book))

    def _instead(self, value: str) -> tuple[Fact, str] | None:
        """Return the fact just discussed that can take `value`, and its new text."""
        pointed = self._pointed_at() if value else ()
        found = [(fact, text) for fact in pointed if (text := with_value(fact.text, value))]
        names = [each for each in found if each[0].text.split()[-1][0].isupper() is value[0].isupper()]
        return next(reversed(names or found), None)

    def _undoing(self) -> Iterator[ToolCall]:
        """Yield calls that take back what the previous turn alone said, and restore what it ended."""
        for mention in self._last.having(Relation.WROTE, Relation.REPLACED) if self._last else ():
            row = mention.memory if isinstance(mention.memory, Fact | Playbook) else None
            ended = mention.relation is Relation.REPLACED
            if row is None or row.superseded_by_id is not None or (row.superseded_at is not None) is not ended:
                continue
            if ended or row.restores or not self._said_elsewhere(row):
                yield _call(UNDO, memory_id=str(row.pk))

    def _said_elsewhere(self, row: Fact | Playbook) -> bool:
        """True if a memory is supported by more than the previous turn; the button Undo leaves it, too."""
        said = self._last.episode_id if self._last else None
        return any(episode.pk != said for episode in row.supporting_episodes.all())

    def _forgetting(self, done: Sequence[CalledTool]) -> Iterator[ToolCall]:
        forget = self._message.forget
        if forget is None or P["everything"].match(forget):
            return
        back = P["points_back"].match(forget)
        ids = self._just_said() if back else self._to_forget(forget, answers.memories_of(done))
        if ids:
            yield _call(FORGET, memory_ids=ids[:MOST_AT_ONCE])

    def _just_said(self) -> list[str]:
        """Return the id of the one memory that the previous turn wrote or answered with, or else of its episode."""
        if (last := self._last) is None:
            return []
        written = [each.memory_id for each in last.having(Relation.WROTE) if each.memory is not None]
        pointed = written or [fact.pk for fact in self._pointed_at()]
        told = [last.episode_id] if last.episode_id and not QUESTION.search(last.text) else []
        return [str(each) for each in (pointed if len(pointed) == 1 else told)]

    def _to_forget(self, forget: str, recalled: Sequence[Item]) -> list[str]:
        """Return the ids that are certainly meant: all about one person, a single memory, or the fact of a slot."""
        found = self._named(forget, recalled)
        if len(found) == 1 and found[0]["kind"] == "episodic" and self._taught(found[0]["id"]):
            return []  # a fact learned from this episode would be erased too, and the user did not name it
        if len(found) == 1 or (found and all("who" in item for item in found)):
            return [item["id"] for item in found]
        asked = questions.read_question(forget) or questions.read_question(f"what is {_subject_of(forget)}")
        facts = self._known.answering(asked) if asked and asked.slot != "thing" else []
        return [str(fact.pk) for fact in facts[:1]]

    def _taught(self, episode_id: str) -> bool:
        """True if a current fact was learned from an episode."""
        if self._principal is None:
            return False
        facts = Fact.objects.of(self._principal).current()
        return facts.filter(supporting_episodes=UUID(episode_id)).exists()

    def _named(self, forget: str, recalled: Sequence[Item]) -> list[Item]:
        """Return the memories that `forget` names best, preferring facts and playbooks to episodes."""
        about = _subject_of(forget)
        who, words = P["article_of"].sub("", about), content_words(about)
        stated = {normalised(each.text) for each in read(about).statements}
        if exact := [fact for fact in self._known.current if normalised(fact.text) in stated]:
            return [*map(as_item, exact)]
        person = re.fullmatch(f"{SOMEBODY}s?", who, re.IGNORECASE) or who.casefold() in self._known.names
        if person and (facts := self._known.about(who)):
            return [as_item(fact) | {"who": who} for fact in facts]
        own: list[Item] = [*map(as_item, self._known.current)]
        own += [item for item in recalled if item["kind"] in ("episodic", "procedural") and not item.get("shared")]
        share = {item["id"]: len(words & words_of(item)) / len(words) for item in own} if words else {}
        best = max(share.values(), default=0.0)
        found = [item for item in own if share.get(item["id"]) == best >= MEANT_SHARE]
        settled = [item for item in found if item["kind"] != "episodic"]
        return settled or [item for item in found if not QUESTION.search(item["text"])]

    # -- answers ------------------------------------------------------------------------------------------------------

    def _say(self, done: Sequence[CalledTool]) -> str:
        message, recalled = self._message, answers.memories_of(done)
        changed = [each for each in done if each.tool in (WRITE, RETIRE, FORGET, UNDO)]
        if P["undo"].match(self._text.strip()):
            calls = [call for step in self._last.steps for call in step.tool_calls] if self._last else []
            proposed = any(call["name"] == FORGET for call in calls)
            return (not proposed and self._no_undo) or answers.undone(changed, proposed_before=proposed)
        parts = [answers.report(changed)] if changed else []
        if message.forget is not None and not any(each.tool == FORGET for each in changed):
            parts.append(self._not_forgotten(message.forget, recalled))
        if any(each.result.get("closed") for each in done):
            parts.append(f"{reply('closed')} {reply('kept')}" if self._stores else reply("closed"))
        else:
            self._answered_from = known = self._look() if changed and message.questions else self._known
            parts += [
                _short(each) or self._last_said(each) or self._unrecalled or self._answer(each, known, recalled)
                for each in message.questions[:MOST_QUESTIONS]
            ]
        if P["remind"].search(self._text) and reply("no_reminders") not in "".join(parts):
            parts.append(reply("no_reminders"))
        return "\n\n".join(dict.fromkeys(parts)) or self._nothing_done()

    def _nothing_done(self) -> str:
        """Answer a statement that yielded no facts or changes."""
        if not self._stores:
            return reply("not_stored" if self._principal is None or self._principal.off_record else "paused")
        text = self._message.text
        if any(isinstance(each, End) and each.kind is Contradiction.HARSH for each in read_changes(text)):
            return self._unrecalled or reply("which_place" if "there" in text.casefold().split() else "nothing_said")
        if P["denied"].match(text.strip()) or fragment(text):
            return reply("what_is_right")
        if not content_words(text):
            return reply("unclear")
        if has_label(self._text):
            return reply("masked")
        return reply("saved_unread" if self._unrecalled else "saved")

    def _last_said(self, question: str) -> str:
        """Quote the message before this one to whoever asks for it."""
        if self._last is None or not FORMS["last_said"].match(questions.normalised(question)):
            return ""
        self._quoted += [(Kind.EPISODIC, self._last.episode_id)] if self._last.episode_id else []
        return f"You said: “{self._last.text}”"

    def _answer(self, question: str, known: Knowledge, recalled: Sequence[Item]) -> str:
        about, plain = questions.asks_for_all(question), questions.normalised(question)
        if about is not None:
            return answers.about(about, known, recalled) if about else answers.all_known(known)
        if day := questions.day_asked(question, known.now):
            return self._said_on(day)
        named = FORMS["who_is"].match(plain)
        if named and (facts := known.about(named["name"])):
            return answers.facts_told(facts[:3], known)
        asked = questions.read_question(question)
        if not content_words(plain) and asked is None:
            return reply("unclear")
        if asked and (answer := answers.answered(asked, known)):
            return answer
        if P["may_i"].match(plain) and (avoided := answers.avoided(plain, known)):
            return answers.facts_told(avoided, known)
        if asked and (asked.past or asked.slot in ("since", "spouse", "children", "siblings", "pets")):
            return UNKNOWN
        # The height of an unknown name may be general knowledge: "How high is Everest?"
        general = asked and asked.who[:1].isupper() and FORMS["measure"].match(plain) and not known.about(asked.who)
        unknown = UNKNOWN if (asked and not general) or known.concerns(question) else reply("not_told")
        return answers.from_memories(question, asked, recalled, known) or unknown

    def _said_on(self, day: datetime) -> str:
        """List the member's statements of a day."""
        when, told = phrasing.day(day, self._known.now), list[str]()
        if self._reads:
            rows = list_memories(self._reads, Kind.EPISODIC).order_by("-happened_at", "-sequence")
            rows = rows.filter(happened_at__gte=day, happened_at__lt=day + timedelta(days=1)).exclude(text=self._text)
            said = [row for row in rows[: LISTED * 5] if _says(row.text)]
            self._quoted += [(row.kind, row.pk) for row in said[:LISTED]]
            told = [row.text for row in said]
        quoted = [f"“{text}”" for text in reversed(told[:LISTED])]
        lead = f"{when.capitalize()} you told me{', most recently' if len(told) > LISTED else ''}:"
        return answers.listed(lead, quoted) if told else f"You told me nothing {when}."

    def _not_forgotten(self, forget: str, recalled: Sequence[Item]) -> str:
        if P["everything"].match(forget):
            return reply("everything")
        if self._unrecalled:
            return self._unrecalled
        found = [] if P["points_back"].match(forget) else self._named(forget, recalled)[:LISTED]
        self._quoted += [(Kind(item["kind"]), UUID(item["id"])) for item in found]
        texts = [sentence(answers.named(item)) for item in found]
        return answers.listed(reply("which"), texts) if found else reply("not_found")


def _beginnings(text: str) -> set[str]:
    """The first letters of each longer word, which its other forms share."""
    return {word[:STEM] for word in words(text) if len(word) >= STEM - 1}


def _short(text: str) -> str:
    """Answer messages that need no memory: small talk, questions about the responder, unsupported requests."""
    return phrasing.short_answer(text, questions.normalised(text), timezone.now())


def _says(text: str) -> bool:
    """True if a message states something: it is no question, small talk, undo, denial or request to forget."""
    back = any(P[name].match(text.strip()) for name in ("undo", "denied", "forget"))
    return not (back or QUESTION.search(text) or _short(text))


def _subject_of(forget: str) -> str:
    """Return the object of a request to forget, without surrounding words."""
    return "" if P["points_back"].match(forget) else P["about"].sub("", forget).strip().rstrip(".!?")


def _held(fact: Fact) -> Held:
    """Convert a fact to the form that the rules compare."""
    current = fact.superseded_at is None
    times = fact.learned_at, fact.valid_from
    return Held(fact.text, fact.key, fact.category, *times, id=fact.pk, current=current)


def _later_start(message: str, facts: Iterable[Fact], now: datetime) -> Statement | None:
    """Return a statement that a known job begins later, as in "I start there next Monday", or None."""
    match = P["start"].search(message)
    if match is None:
        return None
    where = re.sub(r"^(?:working )?(?:at )?", "", match["where"] or "there")
    known = next((fact for fact in facts if fact.key == "employer"), None)
    if where in ("there", "my new job", "the new job", "work"):
        if known is None:
            return None
        where = re.sub(r"^(?:works|starts) (?:at|for) |(?: on .*)$", "", known.text, flags=re.IGNORECASE)
    return Statement(f"Starts at {where} {_on(match['when'], now)}", "employer", "work")


def _on(when: str, now: datetime) -> str:
    """Return the day meant, as a date if the words name a weekday or tomorrow."""
    low = when.casefold()
    name = next((day for day in WEEKDAYS if low.endswith(day)), "")
    if not name and low != "tomorrow":
        return when if low.startswith(("on ", "in ", "next ")) else f"on {when}"
    day = now + timedelta(days=(WEEKDAYS.index(name) - now.weekday() - 1) % 7 + 1 if name else 1)
    return f"on {day:%A} {day.day} {day:%B %Y}"


def _turn(messages: Sequence[ChatMessage]) -> tuple[str, list[CalledTool]]:
    """Return the user's latest message, and the tools called since."""
    latest = max((place for place, message in enumerate(messages) if message["role"] == "user"), default=-1)
    since = messages[latest + 1 :]
    called = {call["id"]: call["function"] for message in since for call in message.get("tool_calls") or ()}
    results = ((called.get(each["tool_call_id"]), each) for each in since if each["role"] == "tool")
    done = [
        CalledTool(tool["name"], json.loads(tool["arguments"]), json.loads(each["content"]))
        for tool, each in results
        if tool
    ]
    return (str(messages[latest]["content"]) if latest >= 0 else ""), done


def _call(tool: str, **arguments: Any) -> ToolCall:
    """Build a tool call in the form that a model produces, omitting empty arguments."""
    given = {name: value for name, value in arguments.items() if value}
    return ToolCall(tool, json.dumps(given, ensure_ascii=False))


def _write(said: Statement, over: Sequence[str], kind: str, since: datetime | None = None) -> ToolCall:
    """Build the call that stores a fact in place of the facts with the ids `over`."""
    fact = {"text": said.text, "key": said.key, "category": said.category}
    from_ = since.isoformat() if since else ""
    return _call(WRITE, **fact, supersedes_ids=list(over), contradiction=kind, valid_from=from_)
