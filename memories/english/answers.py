"""The responder's sentences: answers from facts and recalled memories, and reports of stored, ended and erased ones."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memories.english import phrasing
from memories.english.grammar import value_of
from memories.english.known import slot_of
from memories.english.phrasing import UNKNOWN, joined, label, reply, second_person, sentence
from memories.english.questions import Knowledge, SlotQuestion, age_from, covers
from memories.english.slots import SLOTS, P, pattern
from memories.english.text import content_words, sentences
from memories.english.vocabulary import QUESTION
from memories.hygiene.sensitivity.findings import has_label
from memories.models import Fact
from memories.types import Kind, Source

Item = Mapping[str, Any]

RECALL, WRITE, RETIRE, FORGET, UNDO = "recall_memory", "write_memory", "retire_memory", "forget_memory", "undo_memory"
LISTED, _A_FEW = 10, 3
# Slots whose question may name any value.
_OPEN = ("thing", "favourite", "verb")
_ANYBODY = pattern(r"\b<SOMEBODY>\b")
_OF_ANOTHER = pattern(r"(?:my |our |his |her |their )?<SOMEBODY>\b|(?P<name><NAME>)'s ")


@dataclass(frozen=True, slots=True)
class CalledTool:
    """A tool call of this turn with its result."""

    tool: str
    arguments: Item
    result: Item


def memories_of(done: Sequence[CalledTool]) -> list[Item]:
    """Return the memories recalled in this turn without duplicates, best first."""
    items = [item for each in done if each.tool == RECALL for item in each.result.get("memories", ())]
    return list({item["id"]: item for item in items}.values())


def as_item(fact: Fact) -> dict[str, Any]:
    """Convert a fact to the form of a recalled memory."""
    return {"id": str(fact.pk), "kind": "semantic", "text": fact.text, "key": fact.key}


def words_of(item: Item) -> frozenset[str]:
    """Return the content words of a memory."""
    told = [str(item.get(name, "")) for name in ("text", "title", "trigger", "key")]
    return content_words(" ".join((*told, *map(str, item.get("steps", ())))))


def listed(lead: str, texts: Sequence[str], last: str = "") -> str:
    """Format texts as a bulleted list between a lead and an optional last line."""
    return "\n".join([lead, *(f"- {text}" for text in texts), *([last] if last else [])])


def all_known(known: Knowledge) -> str:
    """List up to ten facts about the owner, pinned ones first, then the newest."""
    facts = sorted(known.current, key=lambda fact: (not fact.pinned, -fact.learned_at.timestamp()))
    if not facts:
        return reply("nothing_known")
    more = f"These are {LISTED} of {len(facts)} facts; the page {label('What I remember')} has them all."
    known.cite(*facts[:LISTED])
    told = [sentence(second_person(fact.text)) for fact in facts[:LISTED]]
    return listed("Here is what I know about you:", told, more if len(facts) > LISTED else "")


def about(who: str, known: Knowledge, recalled: Sequence[Item]) -> str:
    """Answer what is known about a person or thing: its facts, else the recalled sentences that contain its words."""
    words = content_words(who)
    facts = known.about(who)
    facts += [fact for fact in known.current if fact not in facts and words and words <= words_of(as_item(fact))]
    if facts:
        known.cite(*facts[:LISTED])
        return listed("Here is what I know:", [sentence(second_person(fact.text)) for fact in facts[:LISTED]])
    said = [item for item in recalled if item["kind"] == "episodic" and words and words <= words_of(item)]
    return "\n".join(told(item, known) for item in [each for each in said if _tells(each)][:_A_FEW]) or UNKNOWN


def facts_told(facts: Sequence[Fact], known: Knowledge) -> str:
    """State facts as one answer; a single fact with the date it was learned."""
    known.cite(*facts)
    if len(facts) != 1:
        return sentence(joined(second_person(fact.text) for fact in facts))
    verb = "you told me" if facts[0].source == Source.USER_STATED else "I learned that"
    return sentence(f"{second_person(facts[0].text)}; {verb} {phrasing.day(facts[0].learned_at, known.now)}")


def answered(asked: SlotQuestion, known: Knowledge) -> str:
    """Answer a question from the facts of its slot, or return an empty string."""
    facts = known.answering(asked)
    if asked.confirms:
        return _confirmed(asked, facts, known)
    if not facts:
        return ""
    first = second_person(facts[0].text)
    if asked.slot == "age" and (ages := [age for fact in facts if (age := age_from(fact.text, known.now))]):
        known.cite(facts[0])
        return sentence(f"{first}, so {'that makes' if asked.who else 'you are'} {ages[0]}")
    if asked.slot == "since":
        since = facts[0].valid_from
        known.cite(*(facts[:1] if since else ()))
        return sentence(f"{phrasing.day(since, known.now)}: {first}") if since else UNKNOWN
    if asked.past:
        known.cite(*facts[:_A_FEW])
        return sentence(f"before: {joined(phrasing.past(second_person(fact.text)) for fact in facts[:_A_FEW])}")
    several = len(facts) > 1 and (asked.who or not facts[0].key or asked.slot == "home")
    one = _has_one_value(asked) and not several
    before = known.before(asked, facts[0]) if one else None
    known.cite(*([before] if before else ()))
    answer = facts_told(facts[:1] if one else facts[:LISTED], known)
    return f"{answer} Before that: {value_of(before.text).rstrip('.')}." if before else answer


def _has_one_value(asked: SlotQuestion) -> bool:
    return bool(SLOTS.get(asked.slot, {}).get("single"))


def _confirmed(asked: SlotQuestion, facts: Sequence[Fact], known: Knowledge) -> str:
    """Answer a yes-or-no question.

    Yes comes with the fact that confirms it. In a slot with a single value, another value means no.
    """
    words = content_words(asked.value)
    generic = P["generic"].match(asked.value)
    allergens: list[Fact] = []
    if asked.slot == "diet" and not P["diet"].match(asked.value):  # what somebody is allergic to they do not eat
        allergens = [fact for fact in _allergies(known, asked.who) if words & content_words(fact.text)]
    naming = [fact for fact in facts if words & content_words(fact.text)] or ([*facts] if generic else [])
    naming = list(dict.fromkeys((*allergens, *naming)))
    # "Not allergic to latex" says nothing of other allergies.
    if naming := [fact for fact in naming if not (generic and fact.text.startswith("Not "))]:
        known.cite(*naming[:_A_FEW])
        verdict = "no" if allergens or _denies(naming[0].text, asked.value) else "yes"
        return sentence(f"{verdict}: {joined(second_person(fact.text) for fact in naming[:_A_FEW])}")
    ended = () if facts else known.answering(SlotQuestion(asked.slot, asked.who, past=True))
    if ended := [fact for fact in ended if asked.slot == "spouse" or words & content_words(fact.text)]:
        known.cite(ended[0])
        return sentence(f"not any more, as far as I know; before: {phrasing.past(second_person(ended[0].text))}")
    if facts and (_has_one_value(asked) or generic or (asked.slot == "diet" and P["meat"].search(asked.value))):
        known.cite(facts[0])
        return sentence(f"not as far as I know: {second_person(facts[0].text)}")
    return ""


def avoided(question: str, known: Knowledge) -> list[Fact]:
    """Return the owner's allergies to something that a question names."""
    return [fact for fact in _allergies(known) if content_words(value_of(fact.text)) & content_words(question)]


def _allergies(known: Knowledge, who: str = "") -> list[Fact]:
    return [fact for fact in known.answering(SlotQuestion("allergies", who)) if P["avoided"].match(fact.text)]


def _denies(text: str, value: str) -> bool:
    """True if a fact says no as a whole, or of `value`: "Likes coffee but not tea" of tea."""
    but_not = rf"\b(?:but|and|,) (?:not|never) (?!only\b)[^,;.]*?\b{re.escape(value)}\b"
    return bool(P["negative"].match(text) or re.search(but_not, text, re.IGNORECASE))


def from_memories(question: str, asked: SlotQuestion | None, recalled: Sequence[Item], known: Knowledge) -> str:
    """Answer with the first memory that contains the question's words and concerns the same person, or return ""."""
    over = [content_words(fact.text) for fact in (*known.retracted, *known.ended)]
    items = [*map(as_item, known.current), *recalled]
    return next((told(item, known) for item in items if _answers(item, question, asked, over)), "")


def _answers(item: Item, question: str, asked: SlotQuestion | None, over: Sequence[frozenset[str]]) -> bool:
    text, said, words = str(item.get("text", "")), item["kind"] == "episodic", words_of(item)
    if has_label(text) or item.get("never_true") or item.get("status") in ("superseded", "evicted"):
        return False
    named = {name.casefold() for name in _ANYBODY.findall(question)}
    if not covers(question, text, words) or not named <= {name.casefold() for name in _ANYBODY.findall(text)}:
        return False
    if said and (not _tells(item, supposing=asked is None) or any(each and each <= words for each in over)):
        return False
    if asked is not None and asked.slot not in _OPEN and (not said or item.get("shared")):
        return False
    if asked is not None and said and (not _says_of(asked, text) or (P["used_to"].search(text) and not asked.past)):
        return False
    if named or (asked and asked.who) or not P["personal"].search(question):
        return True
    if not said:
        another = _OF_ANOTHER.match(text)
        return not another or bool(another["name"] and another["name"].casefold() in question.casefold())
    return bool(P["personal"].search(text)) and not (asked is not None and _ANYBODY.search(text))


def _tells(item: Item, *, supposing: bool = True) -> bool:
    """True if a recalled sentence of the user states something; suppositions count only if `supposing`."""
    text = str(item.get("text", ""))
    supposes = not supposing and P["supposes"].search(text)
    return item.get("speaker") == "user" and not supposes and not any(map(QUESTION.search, sentences(text)))


def _says_of(asked: SlotQuestion, text: str) -> bool:
    """True if a sentence may answer a question for a slot, which takes the owner's explicit words about themselves."""
    if asked.who or asked.slot in _OPEN:
        return asked.slot == "thing" or not asked.who
    verbs = SLOTS.get(asked.slot, {}).get("quoted")
    mine = rf"\b(?:i|we|i'm|we're|i've|we've)(?: \w+){{0,2}} (?:{verbs})\b"
    return verbs == "" or bool(verbs and re.search(mine, text, re.IGNORECASE))


def told(item: Item, known: Knowledge) -> str:
    """State one recalled memory as an answer."""
    known.cited.append((Kind(item["kind"]), UUID(item["id"])))
    text = " ".join(str(item.get("text") or item.get("title", "")).split())
    match item["kind"]:
        case "episodic":
            when = phrasing.day(datetime.fromisoformat(item["said_at"]), known.now)
            return f"You told me {when}: “{text}”"
        case "procedural":
            worked = f" (worked {item['worked']})" if item.get("worked") else ""
            steps = "\n".join(f"{number}. {step}" for number, step in enumerate(item.get("steps", ()), 1)) or text
            return f"{item.get('title', '')}{worked}:\n{steps}"
        case "catalog":
            return f"From the shared catalogue: {text}"
    return f"Shared with your organisation: {sentence(text)}" if item.get("shared") else sentence(second_person(text))


def named(item: Item) -> str:
    """Name one memory in a list of choices: a playbook by its title."""
    return second_person(item["text"]) if item["kind"] == "semantic" else str(item.get("title") or item["text"])


def report(changed: Sequence[CalledTool]) -> str:
    """Report what was written, ended and erased, and what was refused."""
    written = [each for each in changed if each.result.get("result") in ("created", "superseded")]
    facts = [each for each in written if each.tool == WRITE and each.arguments.get("kind") != "procedural"]
    lines = [sentence(f"got it: {joined(map(_written, facts))}")] if facts else []
    lines += [_reported(each) for each in changed if each not in facts]
    if any(str(each.arguments.get("text", "")).startswith("To do: ") for each in changed):
        lines.append(reply("no_reminders"))
    if any(each.arguments.get("key") == "answer_style" for each in changed):
        lines.append(reply("no_style"))
    return "\n".join(dict.fromkeys(lines))


def _written(done: CalledTool) -> str:
    """State a stored fact and the value it replaced."""
    text, replaced = str(done.result["text"]), [str(old["text"]) for old in done.result.get("replaced", ())]
    slot = slot_of(text, "")
    ended = [old for old in replaced if slot and slot_of(old, "") != slot]
    values = list(dict.fromkeys(value_of(old).rstrip(".") for old in replaced if old not in ended))
    after = f"; no longer true: {joined(map(second_person, ended))}" if ended else ""
    return f"{_with_values(done, text, values)}{after}"


def _with_values(done: CalledTool, text: str, values: Sequence[str]) -> str:
    if not values or values[0].casefold() in text.casefold():
        return second_person(text)
    if done.arguments.get("contradiction") == "harsh":
        return f"{second_person(text)}, not {phrasing.listed(values)}"
    return f"{second_person(text)} (before: {phrasing.listed(values)})"


def _reported(done: CalledTool) -> str:
    result, text = done.result, second_person(str(done.result.get("text", "")))
    if "error" in result:
        return f"I could not do that: {result['error']}"
    if done.tool == FORGET:
        return reply("proposed")
    ended = joined(second_person(str(each["text"])) for each in result.get("ended", ()))
    match result.get("result"):
        case "never_true":
            return sentence(f"I took that back: it was never true that {ended}")
        case "no_longer_true":
            return f"Noted, no longer true: {ended}. It stays in your history."
        case "merged":
            return sentence(f"I knew that already: {text}")
        case "blocked":
            return f"I did not store that. {result.get('reason', '')}".strip()
        case "queued_for_review":
            noted = sentence(f"noted: {text}").rstrip(".") if text else "Noted"
            return f"{noted}. {reply('to_settle')}"
    return sentence(f"got it. I will remember how to do this: {done.arguments.get('title', '')}")


def undone(changed: Sequence[CalledTool], *, proposed_before: bool) -> str:
    """Report the facts removed and restored by an undo."""
    if not changed:
        return reply("gone" if proposed_before else "nothing_to_undo")
    if failed := next((each.result["error"] for each in changed if "error" in each.result), ""):
        return f"I could not undo that: {failed}"
    gone, back = (
        [second_person(str(row["text"])) for each in changed for row in each.result[name]]
        for name in ("ended", "restored")
    )
    return sentence(f"undone: {'; '.join([*([f'I no longer hold that {joined(gone)}'] if gone else []), *back])}")
