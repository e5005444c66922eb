"""Sentences of the responder: facts in the second person, days in words, small talk, and what it says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from memories.english.people import SOMEBODY
from memories.english.text import phrases, word_set

UNKNOWN = "I don't know that yet."
NEEDS_A_MODEL = (
    "I can't do that without a language model. I can only remember what you tell me and tell it back to you."
)
NOT_TOLD = "I can't answer that without a language model: I only know what you have told me."
CAN_DO = (
    "I remember what you tell me and answer from it. Tell me facts (“I live in Leeds”, “my sister's birthday is "
    "12 May”), ask for them (“Where do I live?”, “What do you know about me?”), correct them (“No, it's …”), or say "
    "“forget …”. No language model is configured, so I can't chat freely, calculate, or answer general questions."
)
WHO_IT_IS = (
    "I'm memoryhub, an assistant that remembers what you tell me. No language model is configured, so I answer from "
    "your memory alone."
)
SAVED = "Saved. I found no single fact in that, but I can find your words again when you ask."
MASKED = "I kept your message without the value that was taken out."
NO_REMINDERS = "I can't remind you at a time: I only answer when you write."
NO_SUMMARY = "I can't summarise without a language model. The conversation is kept as it was."
LIMIT_OF_STYLE = "Without a language model I can't change how I write, but the wish is kept."

_YOURS = re.compile(
    rf"(?:(?:favou?rite|home|work|email|e-mail|phone|mobile|postal|street|shoe|blood|star|native|first|last|middle|maiden"
    rf"|full|step|half|best|former|new|old|local|next-door|younger|older|elder|twin)\b.*?|{SOMEBODY}|[\w-]+ (?:number|name|address|size|type|code)"
    r"|name|age|birthday|car|bike|job|boss|employer|rent|address|postcode|commute|kids?|child(?:ren)?|parents?|family|team|diet|hobby"
    r"|email|phone|salary|desk|office|house|flat|doctor|gp|school|hometown|nickname|pronouns|height|weight|anniversary)"
    r"(?:'s\b.*?|\b)\s*(?:is|are|was|were|has|have|lives?|works?|drives?|plays?|loves?|likes?|hates?|studies|speaks|supports|moved)?\b",
    re.IGNORECASE,
)
_BE = re.compile(
    r"(?:allergic|married|engaged|born|based|vegan|vegetarian|pescatarian|diabetic|retired|divorced|single|from|originally)\b",
    re.IGNORECASE,
)
# "Ines lives in Faro" is about Ines.
_THEIRS = re.compile(
    r"(?!(?:Also|Now|Currently|Always|Usually|Often|Still)\b)[A-Z][\w'-]*(?: [A-Z][\w'-]*)* (?:is|are|was|were|has|lives|works|plays|loves|likes|hates|studies|speaks|drives|supports|moved|turned)\b"
)
_AUXILIARY = {
    "is": "are",
    "has": "have",
    "does": "do",
    "was": "were",
    "isn't": "aren't",
    "doesn't": "don't",
    "hasn't": "haven't",
}
_MODAL = word_set("can cannot can't could must mustn't should will won't would had did never")
_SAME_FORM = word_set(
    "lived worked moved used drove had got bought started joined left studied grew came met owned played went did"
)
_ADVERB = word_set("currently now also really no usually always often still sometimes never only")
_NO_VERB = word_set(
    "news this his its address business always boss class bus glass less yes thus status focus series gas"
)
_IRREGULAR = {
    "goes": "go",
    "has": "have",
    "is": "are",
    "does": "do",
    "tries": "try",
    "studies": "study",
    "carries": "carry",
    "flies": "fly",
    "watches": "watch",
    "teaches": "teach",
}


def second_person(text: str) -> str:
    """A fact, which is stored without a subject, as said to its owner: "Lives in Leeds" becomes "you live in Leeds".

    A fact about somebody who goes by a name stays as it is; one in another form is quoted.
    """
    text = text.strip().rstrip(".")
    first, _, rest = text.partition(" ")
    word = first.casefold()
    if word == "no" and rest.casefold().startswith("longer "):
        return f"you {'are ' if _BE.match(rest[7:]) else ''}no longer {_base(rest[7:])}"
    if word == "to" and rest.startswith("do: "):
        return f"you wanted to {rest[4:]}"
    if first.endswith(("'s", "s'")) or _YOURS.match(text):
        named = (
            first[:1].isupper() and first.endswith("'s") and not re.fullmatch(rf"{SOMEBODY}'s", first, re.IGNORECASE)
        )
        return text if named else f"your {_lowered(_own(text))}"
    if _THEIRS.match(text):
        return text
    if _BE.match(text):
        return f"you {'were' if word == 'born' else 'are'} {_lowered(text)}"
    if word in _AUXILIARY or word in _MODAL or word in _SAME_FORM or word in _ADVERB:
        return f"you {_base(text)}"
    if word.endswith("s") and word not in _NO_VERB and rest and not rest.startswith(("is ", "are ", "has ", "was ")):
        return f"you {_base(text)}"
    return f"you told me “{text}”"


def _base(words: str) -> str:
    """A verb phrase of the third person as said to "you", behind its adverbs; both halves of "works and lives"."""
    first, _, rest = words.partition(" ")
    word = first.casefold()
    if word in _ADVERB and rest:
        return f"{word} {_base(rest)}"
    return f"{_plain(word)} {_own(rest)}".strip()


def _plain(verb: str) -> str:
    if verb in _AUXILIARY:
        return _AUXILIARY[verb]
    if verb in _MODAL or verb in _SAME_FORM or not verb.endswith("s"):
        return verb
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("ies") and len(verb) > len("ties"):
        return f"{verb[:-3]}y"
    return verb[:-2] if verb.endswith(("sses", "shes", "ches", "xes", "zes")) else verb[:-1]


def _own(text: str) -> str:
    for mine, yours in (("myself", "yourself"), ("my|our", "your"), ("with us", "with you"), ("me", "you")):
        text = re.sub(rf"\b(?:{mine})\b", yours, text)
    return text


def past(told: str) -> str:
    """What was so: "you live in Leeds" as "you lived in Leeds"."""
    forms = {
        "live": "lived",
        "work": "worked",
        "are": "were",
        "have": "had",
        "drive": "drove",
        "ride": "rode",
        "start": "were to start",
        "do": "did",
        "love": "loved",
        "like": "liked",
    }
    told = re.sub(r"^you (\w+)\b", lambda match: f"you {forms.get(match[1], match[1])}", told)
    return re.sub(r"^(your [\w' -]+?) is\b", r"\1 was", told)


def _lowered(text: str) -> str:
    """Without the capital of a sentence, unless the word is an abbreviation."""
    return text if text[1:2].isupper() else f"{text[:1].lower()}{text[1:]}"


def sentence(text: str) -> str:
    """With a capital and a full stop."""
    text = text.strip()
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?', ':', '”')) else '.'}"


def listed(words: Sequence[str]) -> str:
    """One, two and three as a sentence has them: "A", "A and B", "A, B and C"."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def joined(facts: Iterable[str]) -> str:
    """Several facts of the owner as one sentence: "you live in Leeds; your wife is Ana"."""
    return "; ".join(dict.fromkeys(facts))


def day(moment: datetime, now: datetime) -> str:
    """The day in words: "today", "yesterday", "on 5 June 2025"."""
    days = (now.date() - moment.date()).days
    return {0: "today", 1: "yesterday"}.get(days, f"on {date(moment)}")


def date(moment: datetime) -> str:
    """A date in words."""
    return f"{moment.day} {moment:%B %Y}"


def _said(listed_phrases: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{phrases(listed_phrases)})", re.IGNORECASE)


_FILLER = r"(?:[\s,.!:;)(👍🙂😊❤️-]|\b(?:there|everyone|again|you|so much|a lot|very much|memoryhub|mate|for (?:that|your help|the help|now|everything)|then|all|today|all good|really|that's|was|it|is|this|that|helpful|great|perfect|good|nice|cool|super|appreciated?|very)\b)*"
# The whole message has to be one of these.
_SMALL_TALK: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"\s*(?:(?:oh|ok|okay|well|ah|great|cool|perfect|and|hi|hey|hello)\s+)?(?:{phrases(said)}){_FILLER}[.!?]*\s*$", re.IGNORECASE), answer)
    for said, answer in (
        ("good night, sleep well, night night", "Good night!"),
        ("bye, goodbye, good bye, bye bye, see you, see you later, see you tomorrow, cya, have a good day, have a nice day, take care, talk to you later, talk later, that's all, i have to go, i'm off, gotta go", "Goodbye!"),
        ("thanks, thank you, thx, ty, many thanks, cheers, i appreciate it, much appreciated, thanks a lot, thank you so much", "You're welcome!"),
        ("how are you, how are you doing, how's it going, how is it going, what's up, how do you do, how are things, are you ok, are you well, hi how are you, hello how are you, hey how are you, hi! how are you, how's your day, how is your day going", "I'm fine, thanks. What would you like me to remember?"),
        ("hi, hello, hey, hiya, howdy, greetings, yo, good morning, good afternoon, good evening, morning, evening, hi there, hello there, hey there, nice to meet you, pleased to meet you, i'm back", "Hello! What would you like me to remember?"),
        ("ok, okay, k, fine, great, perfect, nice, cool, awesome, good, alright, all right, sure, got it, i see, yes, yep, yeah, no, nope, wow, oh, hmm, well done, good job, good bot, sounds good, right, exactly, correct, that's right, that is correct, never mind, nevermind, forget it, no worries, no problem, it's fine, lol, haha, hahaha, that was helpful, that helps, i love you, you're great, you're the best, you are great, i like you, test, testing", "All right."),
        ("sorry, my bad, i'm sorry, apologies, my mistake, oops", "No problem."),
    )
)  # fmt: skip

_LANGUAGES: tuple[tuple[str, frozenset[str]], ...] = (
    ("Ohne Sprachmodell lese ich nur Englisch; was du gesagt hast, ist gespeichert.",
     word_set("ich und nicht ist wo wie wohne bin mein meine meinen meiner heiße heisse der das ein eine einen mit für auf auch wer warum wann kannst du sie wir habe hast hat arbeite jetzt nach aus zu den dem wird sehr gerne guten tag hallo danke bitte kein keine von über mag lebe was weißt mir mich")),
    ("Sin un modelo de lenguaje solo leo inglés; lo que has dicho queda guardado.",
     word_set("yo el los las una que qué donde dónde vivo trabajo mi mis me gusta llamo llama soy estoy tengo tiene y con sin para por cómo como cuál cuándo está en hola gracias buenos días buenas tardes muy pero también del es años hermana hermano perro gato")),
    ("Sans modèle de langage, je ne lis que l'anglais ; ce que vous avez dit est conservé.",
     word_set("je j'ai j'habite j'aime suis est les une des mon ma mes où habite travaille dans avec et pas ne que qui quel quelle comment pourquoi quand bonjour merci salut au aux du le la moi toi tu vous nous c'est m'appelle appelle s'appelle à bonsoir très chien chat ans")),
    ("Senza un modello linguistico leggo solo l'inglese; quello che hai detto è conservato.",
     word_set("io sono il gli una che dove abito vivo lavoro mio mia miei con per non mi chiamo piace ho e è come quando perché cosa ciao grazie buongiorno buonasera di della del nella si sto anni sorella fratello cane gatto questo molto a")),
    ("Sem um modelo de linguagem, só leio inglês; o que você disse fica guardado.",
     word_set("eu sou estou moro trabalho meu minha meus minhas o os uma um que onde com para não nao me chamo gosto de da do em e é como quando quem olá ola obrigado obrigada bom dia boa tarde tenho anos irmã irmão cachorro gato você muito na no")),
    ("Zonder taalmodel lees ik alleen Engels; wat je zei, is bewaard.",
     word_set("ik ben en het een niet mijn waar woon werk met van voor hoe wie wanneer waarom je jij wij heb heeft is de op bij goedemorgen hallo dank bedankt naam heet jaar zus broer hond kat wat leuk vind dat ook")),
)  # fmt: skip
_OTHER_SCRIPT = "I can't read that language without a language model; what you said is kept."
_ENGLISH = word_set(
    "the i my is are am was do does did what where who when why how you your to and of a in it that this have has for not no "
    "me we our i'm can live work like love with on at an or but so there be will please remember forget tell name as"
)
_WORDS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_CERTAIN = re.compile(
    r"[¿¡ßãõ]|\b(?:hola|bonjour|ciao|buongiorno|obrigad[oa]|gracias|merci|danke|hallo|grazie|guten|bonsoir|olá|goedemorgen|bedankt)\b",
    re.IGNORECASE,
)


def foreign(message: str) -> str:
    """A sentence in the language of `message` that says that it cannot be read; empty if it is English."""
    letters = [each for each in message if each.isalpha()]
    if letters and sum(each > "\u024f" for each in letters) * 2 > len(letters):
        return _OTHER_SCRIPT
    words = [word.casefold().replace("’", "'") for word in _WORDS.findall(message)]
    english = sum(word in _ENGLISH for word in words)
    others = [word for word in words if word not in _ENGLISH]
    hits, answer = max(
        ((sum(word in known for word in others), answer) for answer, known in _LANGUAGES), key=lambda each: each[0]
    )
    certain = bool(_CERTAIN.search(message))
    enough = hits > english and (hits >= 2 or certain) and hits * (4 if certain else 3) >= len(words)
    return answer if enough else ""


def small_talk(message: str) -> str:
    """The answer to a greeting, thanks and the like; empty if the message says more."""
    parts = [part for part in re.split(r"[.,!?;]+|\s-\s", " ".join(message.replace("’", "'").split())) if part.strip()]
    meant = [next((place for place, (said, _) in enumerate(_SMALL_TALK) if said.match(part)), None) for part in parts]
    known = [place for place in meant if place is not None]
    return _SMALL_TALK[min(known)][1] if known and len(known) == len(parts) else ""


REMIND = _said("remind me, set a reminder, set an alarm, set a timer, wake me up, notify me, send me a reminder")
_CAPABILITIES = _said(
    "what can you do, what do you do, what are you able to do, what can i do here, what can i ask, help, how do you work, how does this work, what is this, how do i use you, how can you help, what are you for, can you help me, i need help"
)
_IDENTITY = _said(
    "who are you, what are you, what is your name, are you a human, are you human, are you a bot, are you real, are you an ai, are you chatgpt, are you a robot, do you have a name, how old are you, where do you live, where are you from, who made you, what do you like, do you have feelings, do you sleep, do you love me, do you like me"
)
_DATE_ASKED = _said(
    "what day is it, what day is today, what is the date, what is today's date, what date is it, what is the day today"
)
_SUMMARY = re.compile(
    r"(?:(?:can|could) you )?(?:please )?(?:summari[sz]e|recap|give me a (?:summary|recap))\b", re.IGNORECASE
)
_SUMS = re.compile(
    r"(?:what is |what's |calculate |compute |how much is |solve )?\(*[\d£$€][\d\s.,()%]*(?:\s*(?:[-+*/x×÷^]|plus|minus|times|divided by|percent of|% of|to the power of)\s*\(*[\d£$€][\d\s.,()%]*)+=?\s*$|what is the (?:square root|sum|product)\b",
    re.IGNORECASE,
)
_BEYOND = re.compile(
    r"(?:(?:can|could|would|will) you )?(?:please )?(?:"
    r"(?:tell|give|sing|make|write|draw|create|generate|draft|compose|paint|show)(?: me| us)? (?:an?|some|another|the) (?!.*\b(?:note|know)\b).*"
    r"|(?:translate|proofread|rewrite|explain|define|calculate|convert|google|search the|book|order|play|call|email|text|code|program|recommend|suggest)\b.*"
    r"|set (?:an?|the) (?:timer|alarm)\b.*|turn (?:on|off)\b.*)"
    r"|.*\b(?:weather|forecast|temperature (?:outside|today|tomorrow))\b.*|(?:will|is) it (?:going to )?(?:rain|snow|be sunny|raining|snowing|cold|warm|hot)\b.*"
    r"|what time is it.*|what is the time\b.*|what is (?:the )?(?:latest )?news\b.*|what is in the news.*|how do (?:you|i) say .* in \w+|what should (?:i|we) (?:cook|eat|watch|read|wear|do|buy)\b.*|(?:sing|dance|joke)\b.*",
    re.IGNORECASE,
)


_FEELING = r"(?:i(?:'m| am| feel| am feeling|'m feeling| was)) (?:(?:so|very|really|a bit|a little|quite|pretty|just|feeling|too|rather) )*"
_UNWELL = re.compile(
    _FEELING
    + r"(?:sad|tired|ill|sick|stressed|lonely|depressed|anxious|exhausted|unhappy|upset|down|bored|angry|worried|unwell|not well|not feeling well|heartbroken|awful|terrible)\b[^,.;]{0,25}$",
    re.IGNORECASE,
)
_GLAD = re.compile(
    _FEELING
    + r"(?:happy|glad|excited|great|good|fine|relieved|proud|well)\b[^,.;]{0,25}$|(?:i (?:just )?(?:got|won|passed) (?:an?|the|my) (?:promotion|prize|exam|award|raise|test|driving test))\b[^,.;]{0,20}$",
    re.IGNORECASE,
)


def of_itself(question: str, now: datetime) -> str:
    """The answer to a question about the assistant, or to what it cannot do without a model; empty for other questions."""
    text = question.strip().rstrip("?.! ")
    if _IDENTITY.fullmatch(text):
        return WHO_IT_IS
    if _CAPABILITIES.fullmatch(text):
        return CAN_DO
    if _DATE_ASKED.match(text):
        return f"Today is {now:%A}, {date(now)} (UTC)."
    if _SUMMARY.match(text):
        return NO_SUMMARY
    if _UNWELL.match(text):
        return "I'm sorry to hear that. What you said is kept."
    if _GLAD.match(text):
        return "That's good to hear. What you said is kept."
    return NEEDS_A_MODEL if _SUMS.fullmatch(text) or _BEYOND.fullmatch(text) else ""
