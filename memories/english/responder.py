"""The responder: what answers in English when no model is configured. Deterministic, and it never guesses.

It writes, ends and erases by the same tools as a model, and only what the latest message asks for. A question goes to
the slot that it names first, then to what was recalled; what neither answers is not known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any
from uuid import UUID

from django.utils import timezone

from memories.constants import MAX_TOOL_CALLS_AT_ONCE
from memories.english import corrections, phrasing, questions
from memories.english.changes import Correction, End, Shift, read_changes
from memories.english.corrections import EVERYTHING, points_back, subject_of
from memories.english.grammar import Reading, Statement, read
from memories.english.known import Held, corrected, corrected_key, made_false, meant, shifted
from memories.english.people import SOMEBODY, more, others
from memories.english.phrasing import UNKNOWN, joined, second_person, sentence
from memories.english.questions import Asked, Knowledge
from memories.english.text import content_words, sentences
from memories.english.times import began
from memories.english.vocabulary import QUESTION
from memories.hygiene.sensitivity.findings import has_label
from memories.llm.base import ChatMessage, Finished, Output, StopReason, TextPiece, ToolCall, ToolSchema
from memories.llm.tokens import erased
from memories.models import Fact, Relation
from memories.selectors.memories import list_memories
from memories.selectors.sessions import TurnView, transcript
from memories.types import CURRENT, Contradiction, Kind, Scope, Source, Status
from tenants.principal import Principal

RECALL, WRITE, RETIRE, FORGET = "recall_memory", "write_memory", "retire_memory", "forget_memory"
LONGEST_QUERY = 300
MOST_FACTS = 600
LISTED = 10
MOST_AT_ONCE = 10
LONG_AGO = timedelta(days=400)
MEANT_SHARE = 0.6
EARLIER_TURNS = 3

ALL_OF_IT = (
    "I don't erase everything at once from the chat. On the page “What I remember” you can export it all and forget each "
    "memory; a conversation is forgotten from its own menu; an administrator can erase a member."
)
CLOSED = "I can't look into your memory at the moment, so I don't know. What you said is kept."
NOTHING_TO_FORGET = "I found nothing like that in your memory, so nothing was erased."
NOTHING_SAYS_THAT = "Nothing in your memory says that, so there is nothing to take back. What you said is kept."
NOTHING_TO_UNDO = "There is nothing in your last message that I could undo. To change a fact, tell me what is right."
GONE = "What was erased is gone for good; I can't bring it back."
_PIECE = re.compile(r"\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class _Done:
    """A tool that was called in this turn."""

    tool: str
    arguments: Mapping[str, Any]
    result: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Message:
    """The latest message, read once."""

    text: str
    reading: Reading = field(default_factory=Reading)
    statements: tuple[Statement, ...] = ()
    fixed: str = ""

    @property
    def questions(self) -> list[str]:
        """Its questions, each by itself."""
        return list(questions.parted(self.reading.question))


class Responder:
    """Answers one member in one conversation; without a member it knows nothing. See ChatModel."""

    name = "offline responder"
    offline = True

    def __init__(self, principal: Principal | None = None, session_id: UUID | None = None) -> None:
        self._principal = principal
        self._session_id = session_id
        self._text = ""
        self._waiting: list[ToolCall] | None = None

    def bound(self, principal: Principal, session_id: UUID) -> Responder:
        """The responder of one turn of this member."""
        return Responder(principal, session_id)

    def looks_up(self, text: str) -> bool:
        """Whether the answer to `text` may be among what a recall brings up."""
        if self._short_answer(text):
            return False
        message = _read(text)
        if message.reading.forget is not None:
            return not EVERYTHING.match(message.reading.forget)
        return any(questions.asks_for_all(each) != "" for each in message.questions)

    def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSchema], *, may_call_tools: bool
    ) -> Generator[Output]:
        """Answer `messages`; see ChatModel."""
        self._text, done = _turn(messages)
        offered = {tool["function"]["name"] for tool in tools} if may_call_tools else set()
        calls = self._calls(done, offered)
        if calls:
            yield from calls
            yield Finished(StopReason.TOOL_CALLS)
            return
        for piece in _PIECE.findall(self._say(done)):
            yield TextPiece(piece)
        yield Finished(StopReason.DONE)

    # What it knows.

    @cached_property
    def _known(self) -> Knowledge:
        """The member's own facts as they were before this turn changed them."""
        return self._look()

    def _look(self) -> Knowledge:
        if self._principal is None:
            return Knowledge((), timezone.now())
        rows = list_memories(self._principal, Kind.SEMANTIC, status=(*CURRENT, Status.SUPERSEDED))
        kept = [
            row
            for row in rows.filter(scope=Scope.USER).defer("embedding", "token_ids")[:MOST_FACTS]
            if isinstance(row, Fact)
        ]
        return Knowledge(kept, timezone.now())

    @cached_property
    def _message(self) -> _Message:
        return _read(corrections.resolved(self._text, " ".join(f"{turn.text} {turn.answer}" for turn in self._turns)))

    @cached_property
    def _turns(self) -> Sequence[TurnView]:
        """The last turns before this one, oldest first."""
        if self._principal is None or self._session_id is None:
            return ()
        return transcript(self._principal, self._session_id, last=EARLIER_TURNS + 1)[:-1]

    @cached_property
    def _last(self) -> TurnView | None:
        """The turn before this one."""
        return self._turns[-1] if self._turns else None

    def _touched(self, *relations: Relation) -> list[Fact]:
        """The facts that the turn before wrote or replaced."""
        seen = self._last.having(*relations) if self._last else ()
        return [mention.memory for mention in seen if isinstance(mention.memory, Fact)]

    def _pointed_at(self) -> list[Fact]:
        """What "that" points to: what the turn before wrote, or else the facts that its answer told."""
        if written := [fact for fact in self._touched(Relation.WROTE) if fact.superseded_at is None]:
            return written
        told = self._last.answer.casefold() if self._last else ""
        return [fact for fact in self._known.current if second_person(fact.text).casefold() in told] if told else []

    def _held(self, *, ended: bool = False) -> list[Held]:
        facts = [*self._known.current, *(self._known.ended if ended else ())]
        held = [
            Held(
                fact.text,
                fact.key,
                fact.category,
                fact.learned_at,
                fact.valid_from,
                id=fact.pk,
                current=fact.superseded_at is None,
            )
            for fact in facts
        ]
        return sorted(held, key=lambda fact: fact.learned_at)

    # What it does.

    def _calls(self, done: Sequence[_Done], offered: set[str]) -> list[ToolCall]:
        """The tools to call next; none once everything is done."""
        if not offered or self._short_answer(self._text):
            return []
        recalled = any(
            each.tool == RECALL and each.arguments.get("query") == self._text[:LONGEST_QUERY] for each in done
        )
        if RECALL in offered and not recalled and self.looks_up(self._text):
            return [_call(RECALL, query=self._text[:LONGEST_QUERY])]
        if self._waiting is None:
            undoes = corrections.UNDO.fullmatch(self._text.strip())
            calls = self._undoing() if undoes else [*self._changing(), *self._forgetting(done)]
            self._waiting = [call for call in calls if not has_label(call.arguments)]
        now, self._waiting = self._waiting[:MAX_TOOL_CALLS_AT_ONCE], self._waiting[MAX_TOOL_CALLS_AT_ONCE:]
        return now

    def _changing(self) -> Iterator[ToolCall]:
        """What the message changes: facts to write with what they replace, and facts that end."""
        message, held = self._message, self._held()
        done: set[str] = set()
        over: set[str] = set()
        if start := corrections.later_start(message.text, self._known.current, self._known.now):
            yield from self._write(start, [fact for fact in held if fact.key == "employer"], over, harsh=True)
            return
        changes = read_changes(message.fixed)
        found = [each for each in changes if isinstance(each, Correction | Shift) and _in_other_words(each, held)]
        if not message.statements and not found and (right := corrections.fragment(message.text)):
            for fact in corrections.same_shape(self._pointed_at(), right)[-1:]:
                told = Statement(corrections.with_value(fact.text, right), fact.key, fact.category)
                yield from self._write(told, [each for each in held if each.id == fact.pk], over, harsh=True)
                return
        if corrections.DENIED.fullmatch(message.text.strip()) and len(facts := self._pointed_at()) == 1:
            yield _call(RETIRE, memory_ids=[str(facts[0].pk)], contradiction="harsh")
            return
        for change in found:
            if put_right := _in_other_words(change, held):
                fact, text = put_right
                key = corrected_key(fact, change) if isinstance(change, Correction) else fact.key
                yield from self._write(
                    Statement(text, key, fact.category), [fact], over, harsh=isinstance(change, Correction)
                )
                done |= {change.quote, fact.key or change.quote}
        ends = [change for change in changes if isinstance(change, End)]
        for statement in message.statements:
            if not done & {statement.quote, statement.key or statement.quote}:
                yield from self._state(statement, held, ends, over)
        for end in ends:
            yield from self._end(end, over)
        if book := message.reading.playbook:
            yield _call(WRITE, kind="procedural", **asdict(book))

    def _state(
        self, statement: Statement, held: Sequence[Held], ends: Sequence[End], over: set[str]
    ) -> Iterator[ToolCall]:
        said = {each.text.casefold() for each in self._message.statements}
        false = [fact for fact in made_false(statement, held) if fact.text.casefold() not in said]
        same = list(corrections.opposites(statement, held))
        keys = self._known.same_person(statement.key, self._message.statements)
        same += [fact for fact in held if fact.key in keys]
        false += [fact for fact in same if fact not in false]
        since = began(statement.quote, self._known.now)
        if (
            since
            and since < self._known.now - LONG_AGO
            and any(since < (fact.valid_from or fact.learned_at) for fact in false)
        ):
            return  # an old story, and what is known of the time since is not over
        if statement.ends:
            ended = [fact for end in ends if end.quote == statement.quote for fact in meant(end, held, "")]
            statement = Statement(statement.text, ended[0].key if ended else statement.key, statement.category)
            false = [*ended, *(fact for fact in false if fact not in ended)]
        yield from self._write(statement, false, over, harsh=statement.corrects and bool(false), since=since)

    def _write(
        self, statement: Statement, false: Iterable[Held], over: set[str], *, harsh: bool, since: datetime | None = None
    ) -> Iterator[ToolCall]:
        ids = [str(fact.id) for fact in false if str(fact.id) not in over]
        over |= {*ids}
        arguments: dict[str, Any] = {"text": statement.text, "key": statement.key, "category": statement.category}
        arguments |= {"supersedes_ids": ids[:MOST_AT_ONCE], "contradiction": "harsh" if harsh else ""}
        arguments["valid_from"] = since.isoformat() if since else ""
        yield _call(WRITE, **{name: value for name, value in arguments.items() if value})

    def _end(self, end: End, over: set[str]) -> Iterator[ToolCall]:
        harsh = end.kind is Contradiction.HARSH
        context = f"{self._last.text} {self._last.answer}" if self._last else ""
        ids = [str(fact.id) for fact in meant(end, self._held(ended=harsh), context) if str(fact.id) not in over]
        over |= {*ids}
        if ids:
            yield _call(RETIRE, memory_ids=ids[:MOST_AT_ONCE], contradiction="harsh" if harsh else "natural")

    def _undoing(self) -> Iterator[ToolCall]:
        """Take back what the turn before wrote, and believe again what it replaced or ended."""
        written = [fact for fact in self._touched(Relation.WROTE) if fact.superseded_at is None]
        replaced = self._touched(Relation.REPLACED)
        for fact in written:
            before = next((old for old in replaced if old.superseded_by_id == fact.pk), None)
            if before is None:
                yield _call(RETIRE, memory_ids=[str(fact.pk)], contradiction="harsh")
            else:
                yield from self._again(before, [str(fact.pk)])
        for fact in replaced:
            if fact.superseded_by_id is None:
                yield from self._again(fact, [])

    def _again(self, fact: Fact, instead_of: list[str]) -> Iterator[ToolCall]:
        told = {"text": fact.text, "key": fact.key, "category": fact.category, "supersedes_ids": instead_of}
        harsh = {"contradiction": "harsh"} if instead_of else {}
        yield _call(WRITE, **{name: value for name, value in told.items() if value}, **harsh)

    def _forgetting(self, done: Sequence[_Done]) -> Iterator[ToolCall]:
        forget = self._message.reading.forget
        if forget is not None and not EVERYTHING.match(forget):
            for memory_id in self._to_forget(forget, _memories(done)):
                yield _call(FORGET, memory_id=memory_id)

    def _to_forget(self, forget: str, recalled: Sequence[Mapping[str, Any]]) -> list[str]:
        """The ids of what is surely meant: facts before the sentences that they were learned from."""
        if points_back(forget):
            said = self._last
            written = (
                [each.memory_id for each in said.having(Relation.WROTE) if each.memory is not None] if said else []
            )
            pointed = written or [fact.pk for fact in self._pointed_at()]
            if len(pointed) == 1:
                return [str(pointed[0])]
            return [str(said.episode_id)] if said and said.episode_id and not QUESTION.search(said.text) else []
        found = self._named(forget, recalled)
        if not _one_subject(found) and (
            asked := questions.read_question(forget) or questions.read_question(f"what is {subject_of(forget)}")
        ):
            slot = self._known.answering(asked)
            found = [
                {"id": str(fact.pk), "kind": "semantic", "who": ""} for fact in slot[:1] if asked.slot != "thing"
            ] or found
        return [item["id"] for item in found] if _one_subject(found) else []

    def _named(self, forget: str, recalled: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        about = subject_of(forget)
        words = content_words(about)
        if not words:
            return []
        who = re.sub(r"^(?:my|our)\s+", "", about, flags=re.IGNORECASE)
        if re.fullmatch(SOMEBODY, who, re.IGNORECASE) or who.casefold() in self._known.names:
            return [
                {"id": str(fact.pk), "kind": "semantic", "text": fact.text, "who": who}
                for fact in self._known.about(who)
            ]
        own: list[Mapping[str, Any]] = [
            {"id": str(fact.pk), "kind": "semantic", "text": fact.text, "key": fact.key} for fact in self._known.current
        ]
        own += [item for item in recalled if item["kind"] in ("episodic", "procedural") and not item.get("shared")]
        share = {item["id"]: len(words & _words(item)) / len(words) for item in own}
        best = max(share.values(), default=0.0)
        found = [item for item in own if share[item["id"]] == best and best >= MEANT_SHARE]
        return [item for item in found if item["kind"] != "episodic"] or [
            item for item in found if not QUESTION.search(item["text"])
        ]

    # What it says.

    def _short_answer(self, text: str) -> str:
        """The answer to what needs no memory: small talk, questions about itself, and what it cannot do."""
        if answer := phrasing.foreign(text) or phrasing.small_talk(text):
            return answer
        return phrasing.of_itself(questions.normalised(text), timezone.now())

    def _say(self, done: Sequence[_Done]) -> str:
        if short := self._short_answer(self._text):
            return short
        changed = [each for each in done if each.tool in (WRITE, RETIRE, FORGET)]
        if corrections.UNDO.fullmatch(self._text.strip()):
            return self._undone(changed)
        parts = [self._report(changed)] if changed else []
        message = self._message
        if message.reading.forget is not None and not any(each.tool == FORGET for each in changed):
            parts.append(self._not_forgotten(message.reading.forget, done))
        if any(each.result.get("closed") for each in done):
            parts.append(CLOSED)
        else:
            known = self._look() if changed and message.questions else self._known
            parts += [self._answer(question, known, _memories(done)) for question in message.questions]
        if phrasing.REMIND.search(message.text) and phrasing.NO_REMINDERS not in "".join(parts):
            parts.append(phrasing.NO_REMINDERS)
        if not parts:
            denied = corrections.DENIED.fullmatch(message.text.strip()) or corrections.fragment(message.text)
            nothing = any(
                isinstance(each, End) and each.kind is Contradiction.HARSH for each in read_changes(message.fixed)
            )
            if nothing and "there" in message.text.casefold():
                return "Which place do you mean? Say that again with its name."
            if nothing:
                return NOTHING_SAYS_THAT
            if denied:
                return "Tell me in a whole sentence what is right, and I will correct it."
            return phrasing.MASKED if has_label(message.text) else phrasing.SAVED
        return "\n\n".join(dict.fromkeys(filter(None, parts)))

    def _answer(self, question: str, known: Knowledge, recalled: Sequence[Mapping[str, Any]]) -> str:
        if short := self._short_answer(question):
            return short
        about = questions.asks_for_all(question)
        if about is not None:
            return _all_known(known) if not about else self._about(about, known, recalled)
        if day := questions.day_asked(question, known.now):
            return self._said_on(day)
        if questions.LAST_SAID.match(questions.normalised(question)) and self._last:
            return f"You said: “{self._last.text}”"
        if name := questions.names_somebody(question):
            facts = known.about(name) or known.naming(name)
            return (
                _facts(facts[:3], known)
                if facts
                else (UNKNOWN if name[0].isupper() and name.casefold() in known.names else phrasing.NOT_TOLD)
            )
        asked = questions.read_question(question)
        if asked is not None:
            facts = known.answering(asked)
            if answer := _answered(asked, facts, known):
                return answer
            if asked.slot != "thing" and (
                asked.slot == "since" or asked.past or asked.slot in ("spouse", "children", "siblings", "pets")
            ):
                return UNKNOWN
        told: list[Mapping[str, Any]] = [
            {"kind": "semantic", "text": fact.text, "key": fact.key} for fact in known.current
        ]
        return _from_recall(question, asked, (*told, *recalled), known) or (
            UNKNOWN if asked or known.concerns(question) else phrasing.NOT_TOLD
        )

    def _about(self, about: str, known: Knowledge, recalled: Sequence[Mapping[str, Any]]) -> str:
        who = re.sub(r"^(?:my|our|the)\s+", "", about, flags=re.IGNORECASE)
        facts = (
            known.answering(Asked("family")) + known.answering(Asked("pets"))
            if who.casefold() == "family"
            else known.about(who)
        )
        words = content_words(who)
        facts += [
            fact
            for fact in known.current
            if fact not in facts and words and words <= content_words(f"{fact.text} {fact.key}")
        ]
        if facts:
            return "\n".join(
                ["Here is what I know:", *(f"- {sentence(second_person(fact.text))}" for fact in facts[:LISTED])]
            )
        said = [
            item for item in recalled if item["kind"] == "episodic" and words and words <= _words(item) and _tells(item)
        ]
        return "\n".join(_told(item, known) for item in said[:3]) or UNKNOWN

    def _said_on(self, day: datetime) -> str:
        """What the member said on a day."""
        assert self._principal is not None
        rows = list_memories(self._principal, Kind.EPISODIC).filter(
            happened_at__gte=day, happened_at__lt=day + timedelta(days=1)
        )
        texts = [
            row.text
            for row in rows.order_by("happened_at", "sequence")[:50]
            if not QUESTION.search(row.text) and row.text != self._text
        ]
        told = [text for text in texts if not phrasing.small_talk(text)]
        when = phrasing.day(day, self._known.now)
        if not told:
            return f"You told me nothing {when}."
        return "\n".join(
            [sentence(f"{when}, you told me").rstrip(".") + ":", *(f"- “{text}”" for text in told[-LISTED:])]
        )

    def _report(self, changed: Sequence[_Done]) -> str:
        """What was written, ended and erased, and what was not."""
        lines: list[str] = []
        noted: list[str] = []
        for each in changed:
            if (
                each.tool == WRITE
                and each.result.get("result") in ("created", "superseded")
                and each.arguments.get("kind") != "procedural"
            ):
                noted.append(_written(each))
            else:
                lines.append(_other_report(each))
        if noted:
            lines.insert(0, sentence(f"got it: {joined(noted)}"))
        if any(each.arguments.get("text", "").startswith("To do: ") for each in changed):
            lines.append(phrasing.NO_REMINDERS)
        if any(each.arguments.get("key") == "answer_style" for each in changed):
            lines.append(phrasing.LIMIT_OF_STYLE)
        return "\n".join(dict.fromkeys(lines))

    def _undone(self, changed: Sequence[_Done]) -> str:
        if not changed:
            erased_before = self._last and self._last.having(Relation.FORGOT)
            return GONE if erased_before else NOTHING_TO_UNDO
        if failed := next((each.result["error"] for each in changed if "error" in each.result), ""):
            return f"I could not undo that: {failed}"
        back = [second_person(str(each.result["text"])) for each in changed if each.tool == WRITE]
        gone = [
            second_person(str(old["text"]))
            for each in changed
            for old in [*each.result.get("ended", ()), *each.result.get("replaced", ())]
        ]
        told = [f"I no longer hold that {joined(gone)}"] if gone else []
        return sentence(f"undone: {'; '.join([*told, *back])}")

    def _not_forgotten(self, forget: str, done: Sequence[_Done]) -> str:
        if EVERYTHING.match(forget):
            return ALL_OF_IT
        found = self._named(forget, _memories(done)) if not points_back(forget) else []
        if not found:
            return NOTHING_TO_FORGET
        which = "\n".join(
            f"- {sentence(second_person(item['text']) if item['kind'] == 'semantic' else item.get('title') or item['text'])}"
            for item in found[:5]
        )
        return f"Which one shall I forget? Say it in its own words, or erase it on the page “What I remember”.\n{which}"


def _read(text: str) -> _Message:
    """A message as the grammar reads it, with its own slips and corrections applied."""
    fixed = corrections.mended(questions.spelled(text), _statements)
    reading = read(fixed)
    statements = () if reading.playbook else _statements(fixed)
    return _Message(text, reading, statements, fixed)


def _statements(text: str) -> tuple[Statement, ...]:
    """The facts that a text states of the owner and of others."""
    of_others = others(text)
    told = [each.text.casefold() for each in of_others]
    keys = {each.key for each in of_others if each.key}
    own = [
        each
        for each in (*read(text).statements, *more(text))
        if each.key not in keys
        and not any(said.startswith(each.text.casefold()) for said in told)
        and not _repeats(each.text, of_others)
    ]
    told_well = [each for each in own if not re.match(r"(?:i|i'm|i've|my|we|our)\b", each.text, re.IGNORECASE)]
    return tuple(dict.fromkeys((*(told_well if told_well or of_others else own), *of_others)))


_NAMING = content_words("is called named name")


def _repeats(text: str, of_others: Sequence[Statement]) -> bool:
    """Whether "Has a dog called Rex" says what "Dog is called Rex" says."""
    words = content_words(text) | _NAMING
    if has := re.match(rf"has an? ({SOMEBODY})$", text, re.IGNORECASE):
        return any(
            each.text.casefold().startswith((f"{has[1].casefold()} is", f"{has[1].casefold()}'s name"))
            for each in of_others
        )
    return any(
        each.text.casefold().split()[0] in text.casefold() and content_words(each.text) <= words for each in of_others
    )


def _in_other_words(change: Correction | Shift, held: list[Held]) -> tuple[Held, str] | None:
    return corrected(change, held) if isinstance(change, Correction) else shifted(change, held)


def _turn(messages: Sequence[ChatMessage]) -> tuple[str, list[_Done]]:
    """The user's latest message, and the tools that were called since."""
    latest = max((place for place, message in enumerate(messages) if message["role"] == "user"), default=-1)
    if latest < 0:
        return "", []
    called: dict[str, tuple[str, Mapping[str, Any]]] = {}
    done: list[_Done] = []
    for message in messages[latest + 1 :]:
        for call in message.get("tool_calls") or ():
            called[call["id"]] = (call["function"]["name"], json.loads(call["function"]["arguments"]))
        if message["role"] == "tool" and message["tool_call_id"] in called:
            done.append(_Done(*called[message["tool_call_id"]], json.loads(message["content"])))
    return str(messages[latest]["content"]), done


def _call(tool: str, **arguments: Any) -> ToolCall:
    return ToolCall(tool, json.dumps(arguments, ensure_ascii=False))


def _memories(done: Sequence[_Done]) -> list[Mapping[str, Any]]:
    """What was recalled in this turn, each once, best first."""
    items = [item for each in done if each.tool == RECALL for item in each.result.get("memories", ())]
    return list({item["id"]: item for item in items}.values())


def _words(item: Mapping[str, Any]) -> frozenset[str]:
    told = [str(item.get(name, "")) for name in ("text", "title", "trigger", "key")]
    return content_words(" ".join((*told, *map(str, item.get("steps", ())))))


def _one_subject(found: Sequence[Mapping[str, Any]]) -> bool:
    """Whether all that was found is about one thing, so that nothing else can be meant."""
    return len(found) == 1 or (bool(found) and all("who" in item for item in found))


_SUPPOSES = re.compile(
    r"\b(?:might|maybe|perhaps|if|would|could|should|wish|think|hope|wonder|dream\w*|imagine|want to|going to|planning)\b",
    re.IGNORECASE,
)


def _tells(item: Mapping[str, Any], *, supposing: bool = True) -> bool:
    """Whether a recalled sentence states something, rather than asks or (unless `supposing`) supposes."""
    text = str(item.get("text", ""))
    if item.get("speaker") != "user" or (not supposing and _SUPPOSES.search(text)):
        return False
    return not any(QUESTION.search(each) for each in sentences(text))


def _all_known(known: Knowledge) -> str:
    facts = sorted(known.current, key=lambda fact: (not fact.pinned, -fact.learned_at.timestamp()))
    if not facts:
        return "I don't know anything about you yet. Tell me something, such as where you live."
    lines = [f"- {sentence(second_person(fact.text))}" for fact in facts[:LISTED]]
    more = f"These are {LISTED} of {len(facts)} facts; the page “What I remember” has them all."
    return "\n".join(["Here is what I know about you:", *lines, *([more] if len(facts) > LISTED else [])])


def _facts(facts: Sequence[Fact], known: Knowledge) -> str:
    """Facts as one answer, with when a single one was told."""
    if len(facts) == 1:
        verb = "you told me" if facts[0].source == Source.USER_STATED else "I learned that"
        return sentence(f"{second_person(facts[0].text)}; {verb} {phrasing.day(facts[0].learned_at, known.now)}")
    return sentence(joined(second_person(fact.text) for fact in facts))


def _answered(asked: Asked, facts: Sequence[Fact], known: Knowledge) -> str:
    """The answer that the facts of a slot give; empty if they give none."""
    if asked.confirms:
        return _confirmed(asked, facts, known)
    if asked.slot == "history":
        return "\n".join(_in_order(facts))
    if not facts:
        return ""
    if asked.slot == "age" and (
        old := next((age for fact in facts if (age := questions.age_from(fact.text, known.now))), "")
    ):
        return sentence(f"{second_person(facts[0].text)}, so {'that makes' if asked.who else 'you are'} {old}")
    if asked.slot == "since":
        since = facts[0].valid_from
        return sentence(f"{phrasing.day(since, known.now)}: {second_person(facts[0].text)}") if since else UNKNOWN
    if asked.past:
        return sentence(f"before: {joined(phrasing.past(second_person(fact.text)) for fact in facts[:3])}")
    one = asked.slot in (
        "home",
        "employer",
        "age",
        "birthday",
        "birthplace",
        "origin",
        "job",
        "address",
    ) and not _distinct(asked, facts)
    answer = _facts(facts[:1] if one else facts[:LISTED], known)
    if one and not facts[0].text.startswith("No longer") and (before := known.before(asked, facts[0])):
        answer += f" Before that: {corrections.value_of(before.text)}."
    return answer


def _in_order(facts: Sequence[Fact]) -> Iterator[str]:
    """What held one after the other, each with its times."""
    for fact in facts:
        since, until = fact.valid_from or fact.learned_at, fact.valid_to or fact.superseded_at
        told = second_person(fact.text) if until is None else phrasing.past(second_person(fact.text))
        yield sentence(f"{told} {'since' if until is None else 'until'} {phrasing.date(until or since)}")


def _distinct(asked: Asked, facts: Sequence[Fact]) -> bool:
    """Whether several facts answer beside each other, such as the homes of two sisters."""
    return len(facts) > 1 and (bool(asked.who) or not facts[0].key or asked.slot == "home")


def _confirmed(asked: Asked, facts: Sequence[Fact], known: Knowledge) -> str:
    """Yes, with the fact that says so; a fact of a slot with one value contradicts another value."""
    words = content_words(asked.value)
    generic = asked.value.casefold().rstrip("s") in (
        "kid",
        "child",
        "children",
        "pet",
        "animal",
        "sibling",
        "married",
        "engaged",
        "car",
        "allergie",
        "allergy",
        "partner",
        "spouse",
    )
    naming = [fact for fact in facts if words & content_words(fact.text)] or (list(facts) if generic else [])
    if asked.slot == "spouse" and not naming:
        ended = known.answering(Asked("spouse", asked.who, past=True))
        return (
            sentence(f"not any more, as far as I know; before: {phrasing.past(second_person(ended[0].text))}")
            if ended and not facts
            else ""
        )
    if naming:
        negative = re.match(
            r"(?:no longer|is not|has no|does not|doesn't|cannot|can't|hates|dislikes|is (?:single|divorced))",
            naming[0].text,
            re.IGNORECASE,
        )
        return sentence(f"{'no' if negative else 'yes'}: {joined(second_person(fact.text) for fact in naming[:3])}")
    one_value = asked.slot in ("home", "employer", "job", "age") or (
        asked.slot == "diet" and questions.MEAT.search(asked.value)
    )
    if facts and one_value:
        return sentence(f"not as far as I know: {second_person(facts[0].text)}")
    return ""


def _from_recall(question: str, asked: Asked | None, recalled: Sequence[Mapping[str, Any]], known: Knowledge) -> str:
    """What was recalled and holds every word of the question; empty if nothing does."""
    named = set(re.findall(rf"\b{SOMEBODY}\b", question, re.IGNORECASE))
    wrong = [content_words(fact.text) for fact in (*known.retracted, *known.ended)]
    for item in recalled:
        text = str(item.get("text", ""))
        if has_label(text) or item.get("never_true") or item.get("status") in ("superseded", "evicted"):
            continue
        if not questions.covers(question, _words(item)) or not all(
            re.search(rf"\b{re.escape(name)}\b", text, re.IGNORECASE) for name in named
        ):
            continue
        if item["kind"] == "episodic" and (
            not _tells(item, supposing=asked is None) or any(words and words <= _words(item) for words in wrong)
        ):
            continue
        open_slot = asked is None or asked.slot in ("thing", "favourite", "verb")
        if not open_slot and (item["kind"] != "episodic" or item.get("shared")):
            continue
        if asked is not None and item["kind"] == "episodic" and not _says_of(asked, text):
            continue
        of_owner = questions.PERSONAL.search(question) and not named and not (asked and asked.who)
        if of_owner and not _of_owner(item, text, strictly=asked is not None):
            continue
        return _told(item, known)
    return ""


def _of_owner(item: Mapping[str, Any], text: str, *, strictly: bool) -> bool:
    """Whether a memory speaks of its owner rather than of somebody else."""
    somebody = rf"\b{SOMEBODY}\b"
    if item["kind"] != "episodic":
        return not re.match(rf"(?:my |our |his |her |their )?{somebody}", text, re.IGNORECASE)
    return bool(questions.PERSONAL.search(text)) and not (strictly and re.search(somebody, text, re.IGNORECASE))


def _says_of(asked: Asked, text: str) -> bool:
    """Whether a sentence may answer a question for a slot: only what the member says of themselves, in so many words."""
    if asked.who:
        return asked.slot == "thing"
    verbs = {"home": "live|living|moved|based", "employer": "work|working|started|joined", "job": "work|working"}
    if asked.slot in verbs:
        return bool(
            re.search(rf"\b(?:i|we|i'm|we're|i've|we've)(?: \w+){{0,2}} (?:{verbs[asked.slot]})\b", text, re.IGNORECASE)
        )
    return asked.slot in ("thing", "favourite", "verb", "tastes", "car", "bike", "allergies", "birthday", "diet")


def _told(item: Mapping[str, Any], known: Knowledge) -> str:
    """One recalled memory as an answer."""
    text = " ".join(str(item.get("text") or item.get("title", "")).split())
    if item["kind"] == "episodic":
        when = phrasing.day(datetime.fromisoformat(item["said_at"]), known.now) if item.get("said_at") else ""
        return f"{sentence(f'you told me {when}'.strip()).rstrip('.')}: “{text}”"
    if item["kind"] == "procedural":
        worked = f" (worked {item['worked']})" if item.get("worked") else ""
        steps = "\n".join(f"{number}. {step}" for number, step in enumerate(item.get("steps", ()), 1)) or text
        return f"{item.get('title', '')}{worked}:\n{steps}"
    if item["kind"] == "catalog":
        return f"From the shared catalogue: {text}"
    return f"Shared with your organisation: {sentence(text)}" if item.get("shared") else sentence(second_person(text))


def _written(done: _Done) -> str:
    """A fact that was stored, and what it replaced."""
    text, replaced = str(done.result.get("text", "")), [str(old["text"]) for old in done.result.get("replaced", ())]
    now = second_person(text)
    if not replaced or corrections.value_of(replaced[0]).casefold() in text.casefold():
        return now
    if done.arguments.get("contradiction") == "harsh":
        return f"{now}, not {phrasing.listed([corrections.value_of(old) for old in replaced])}"
    return f"{now} (before: {phrasing.listed([corrections.value_of(old) for old in replaced])})"


def _other_report(done: _Done) -> str:
    result = done.result
    if "error" in result:
        return f"I could not do that: {result['error']}"
    if done.tool == FORGET:
        return erased([Kind(kind) for kind in result["erased"]])
    if done.tool == RETIRE:
        what = joined(second_person(str(each["text"])) for each in result["ended"])
        if result["result"] == "never_true":
            return sentence(f"I took that back: it was never true that {what}")
        return f"Noted, no longer true: {what}. It stays in your history."
    if result.get("result") == "merged":
        return sentence(f"I knew that already: {second_person(str(result.get('text', '')))}")
    if result.get("result") == "blocked":
        return f"I did not store that. {result.get('reason', '')}".strip()
    if result.get("result") == "queued_for_review":
        return sentence(
            f"noted, and it waits for a review, for it contradicts something else: {second_person(str(result.get('text', '')))}"
        )
    return sentence(f"got it. I will remember how to do this: {done.arguments.get('title', '')}")
