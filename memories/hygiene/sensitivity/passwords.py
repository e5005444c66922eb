"""Detects passwords, PINs and keys in prose: "the wifi password is ...", `API_KEY=...`, "senha: ...".

The text after the name decides. After a colon or an equals sign any value counts except code and words common in talk
about passwords. After "is" a value counts if it looks like a password (a digit, sign or inner capital, or quotes), or
if it is one plain word that ends the clause and is not a description. Runs in linear time, with a bounded match at each
name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from memories.hygiene.sensitivity.context import UUID, bits, looks_random
from memories.hygiene.sensitivity.findings import Finding
from memories.types import SensitiveKind

FUNCTION_WORDS = frozenset(
    """
    the in a an is to of for and on at my your our it not with was that this are be has have by from or as so if but
    """.split()
)
DESCRIPTIONS = FUNCTION_WORDS | frozenset(
    """
    required optional none null nil true false string str text int bool password passwords passcode reset change
    changed incorrect wrong invalid valid forgotten forgot missing empty blank hidden yes no ok okay n/a na tbd todo
    see ask same unknown must minimum min max use what how never always please please. their them they there here
    why when who where secret private weak strong stronger safe secure insecure long short longer simple complex
    easy hard difficult tricky case-sensitive sensitive correct right fine good bad great terrible awful old new
    older newer unique different identical similar random obvious public personal shared lost stolen leaked
    compromised expired stored saved kept written encrypted hashed salted masked protected locked disabled enabled
    deactivated turned broken gone ready set due available needed important mandatory ridiculous annoying boring
    funny silly dead crucial vital essential necessary enough temporary permanent default defaults standard usual
    normal something somewhere anything nothing everything someone anyone nobody probably maybe perhaps still
    already also only just really very too quite rather pretty almost now soon later today tomorrow yesterday again
    back ever once between within without about around under over above below inside outside manager managers field
    fields policy rules rule strength length generator hash hashing reuse rotation prompt screen page form box hint
    hints check checks checker input value values attempt attempts change-me username email address name user login
    account vault file files safe drawer notebook keychain bitwarden lastpass keepass onepassword 1password because
    before after since until while though although unless whether which whose stark schwach falsch richtig geheim
    sicher unsicher lang kurz neu alt vergessen abgelaufen gespeichert nicht sehr noch muy fuerte débil segura
    seguro incorrecta correcta larga corta nueva vieja obligatoria obligatorio forte fraca segura correta errada
    longa curta nova antiga obrigatória fort faible sûr correct faux long court nouveau ancien obligatoire expiré
    oublié trop très pas sterk zwak fout goed veilig lang kort nieuw oud vergeten verlopen niet te
    """.split()
)


_WORD = (
    r"pass(?:word|code|phrase|wort|wd|key)s?|pass ?word|pwd|pw|pass|psw|login|mot de passe|mdp|contrase[nñ]a|"
    r"clave|senha|palavra[- ]passe|kennwort|wachtwoord|parola|has[lł]o|heslo|l[oö]senord|adgangskode|passord|salasana|"
    r"jelsz[oó]|[sş]ifre|пароль"
)
_KEY = (
    r"(?:(?:api|access|secret|auth|private|encryption|signing|client|shared|master|account|service|storage|licen[cs]e|"
    r"recovery|backup|bearer|refresh|session|deploy|webhook|bot|app|admin|security|personal access|aws|github|gitlab|"
    r"openai|stripe|slack)[-_ ]?){1,3}(?:keys?|tokens?|secrets?|codes?)|secret|token|api|credentials?|"
    r"apikey|bearer|key|chave|clé|schl[uü]ssel"
)
# Words before "key" or "token" that denote something other than a secret.
_OTHER_KEY = re.compile(
    r"(?:idempotency|primary|foreign|partition|cache|public|sort|hash|lookup|object|routing|row|dict|answer|map|"
    r"translation|issue|project|next|page|cursor)[-_ ]$",
    re.IGNORECASE,
)
_PIN = (
    r"pin[- ]?(?:code|number|nummer)|pin(?: [12])?|cvv2?|cvc2?|security code|geheimzahl|"
    r"c[oó]digo (?:pin|de seguran[cç]a|de seguridad)|code pin|pincode|пин(?:-?код)?"
)
# Codes of locks, mostly numbers.
_LOCK = (
    r"(?:alarm|door|gate|safe|lock|locker|luggage|garage|entry|entrance|keypad|key ?box|lockbox|bike)"
    r"(?: (?:lock|door|gate))?[- ](?:code|combination|combo)|combination|(?:t[uü]r|alarm)-?code|"
    r"c[oó]digo d[aeo]l? (?:porta|puerta|alarma|alarme)|"
    r"code for (?:the|my|our) (?:[a-z]{2,12} )?(?:lock|safe|gate|door)"
)
_WIFI = r"wi-?fi|wlan"
_PHRASE = r"(?:pass|seed|recovery|secret|backup|mnemonic)[- ]?phrase|mnemonic|seed words"
_UNSPACED = r"密码|口令|パスワード|暗証番号|비밀번호"
_NAME = re.compile(
    rf"(?<![^\W_])(?:(?P<phrase>{_PHRASE})|(?P<pin>{_PIN})|(?P<lock>{_LOCK})|(?P<wifi>{_WIFI})|(?P<password>{_WORD})|(?P<key>{_KEY}))(?![^\W_])"
    rf"|(?P<unspaced>{_UNSPACED})",
    re.IGNORECASE,
)
# Cyrillic and Greek letters that look like Latin ones, of Unicode's table of confusables.
_LOOK_ALIKES = str.maketrans(
    "аеорсухівѕјһԁԛԝкнтмАВЕКМНОРСТУХІЅЈαονρτυικΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxivsjhdqwkhtmABEKMHOPCTYXISJaovptuikABEZHIKMNOPTYX",
)
# "password for the wifi", "PIN de mon téléphone", "token we use for the importer": up to six words that qualify the
# name.
_OF = (
    r"(?:\s{1,2}\(?(?:for|to|of|on|at|in|from|with|that|which|we|i|you|de|do|da|del|della|du|f[uü]rs?|zum|"
    r"vom|van|voor|para|"
    r"pour|per|til|till|i|na|la|le|el|d'|l'|case|all|-)(?:\s[\w@.'&/-]{1,24}){1,6}?\)?,?)?"
)
# "password hasn't changed: ...", "wachtwoord router is ...", "my password? It's ...": words in between, or a new
# clause.
_APART = (
    r"(?P<apart>(?:,?\s[\w'-]{1,14}){1,5}(?::|,?\s(?:it'?s|is|ist|es|é|est|=))|(?-i:\s[A-Z][\w'-]{1,14}))\s{1,2}"
    r"|(?P<its>[,.:?]?\s(?:it'?s|it is|c'est|es ist|das ist|é|es)|\?)\s{1,2}"
)
_STRONG = r"[\"'`)*]{0,3}\s{0,2}(?:(?:is|was|now)?\s?(?::=|=>|->|→|:|=)=?)\s{0,2}(?:\*\*)?\s{0,2}"
_IS = (
    r"(?:'s|\s{1,2}(?:is|was|are|ist|lautet|war|es|era|est|é|è|jest|är|er|on|to|будет|это|would be|"
    r"will be|has to be|should be|"
    r"(?:set|changed|reset|updated|switched|back) to|(?:has |have |was |is )?(?:been )?(?:set|changed|"
    r"reset|updated) to))"
    r"(?:\s(?:now|still|set to|changed to|just|simply|currently|called|nu|jetzt|agora|ahora|maintenant|"
    r"also|this|like this|"
    r"the word|the following))?:?\s{1,2}"
)
_JOINED = r"\s?(?:は|是|为|：|은|는)\s{0,2}"
_GAP = r",?\s{1,2}"
_SAID = re.compile(rf"{_OF}(?:(?P<strong>{_STRONG}|{_JOINED})|(?P<is>{_IS}))|(?P<gap>{_GAP})", re.IGNORECASE)
_SAID_LATER = re.compile(_APART, re.IGNORECASE)
_QUOTED = re.compile(r"([\"'`])(?P<value>[^\"'`\n]{3,128})\1")
_BARE = re.compile(r"(?P<value>[^\s\"'`][^\s\"`]{2,127})")
_FOUR_WORDS = re.compile(r"(?:[a-z]{3,12}[ ,-]{1,2}){3,23}[a-z]{3,12}(?=\s*(?:[.;!?)\n]|$))")
# The same words again after at most three others: "..., again: ...". They need not end a clause.
_SAID_TWICE = re.compile(
    r"(?P<words>(?:[a-z]{3,12}[ ,-]{1,2}){3,23}[a-z]{3,12})(?=\W{1,6}(?:\w{1,12}\W{1,6}){0,3}(?P=words)(?!\w))"
)
_BACKWARDS = re.compile(
    r"(?<!\S)[\"'`]?(?P<value>[^\s\"'`]{6,64})[\"'`]?,?\s(?:(?:is|was|ist|es|é|est)|as|for)\s"
    r"(?:my|the|our|a|his|her|their|mein|das|mi|la|a minha)?\s?(?:[\w-]{1,16}\s){0,2}"
    r"(?:password|passcode|passphrase|passwort|contraseña|senha|mot de passe|api key|token)(?!\w)",
    re.IGNORECASE,
)
# Placeholders and references after a name in programs and templates.
_CODE = re.compile(
    r"[(\[{<]|^\$|^%|^&|^(?:self|this|os|process|env|config|settings|request|req|user|ctx|data|form|params|options)\.|"
    r"^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$|^https?:|^[*•.x-]+$|^[a-z]+(?:\.[a-zA-Z]+)+$|^[a-z]+(?:_[a-z]+)+$|::|^/\w"
)
_HYPHENATED = re.compile(
    r"[^\W\d_]+(?:[-'/][^\W\d_]+)+|\d+(?:-[^\W\d_]+)+|\d+(?:st|nd|rd|th|[a-z]{1,2})|v?\d+(?:\.\d+)+\w*"
)
_CODES = re.compile(r"(?:2fa|recovery|backup)[-_ ]?(?:\w+[-_ ])?(?:keys?|codes?)", re.IGNORECASE)
_CODE_OF_LIST = re.compile(
    r"(?:,|;| and| und| y| e| et| or)?\s{0,3}(?P<value>[a-z0-9]{4,8}(?:-[a-z0-9]{4,8})+|\d{6,10})(?![\w-])"
)
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_NUMBER = re.compile(r"\d+")
# The PIN may be repeated: "4821/4821".
_PIN_VALUE = re.compile(r"(?P<pin>\d{3,8})(?:[^\w\s](?P=pin))*")
_LOCK_CODE = re.compile(r"[#*]?\d{1,8}(?:[- #*]\d{1,4}){0,4}[#*]?")
# Digits, or letters and digits.
_ANY_CODE = re.compile(rf"{_LOCK_CODE.pattern}|(?=\D*\d)(?=[^a-zA-Z]*[a-zA-Z])[\w#*!.-]{{6,64}}")
_CLAUSE_END = re.compile(r"['\"]?\s*(?:[.!?;)\n]|$|,(?! (?:and|or|und|et|y) [A-Z]))")
_LOGINS = frozenset({"login", "credentials", "credential"})
# A user name and its password: "login: anna / ...".
_PAIR = re.compile(r"[\w.@+-]{2,64}\s?[/|]\s?(?P<value>[^\s\"'`]{5,64})")
_LOGIN_PAIR = re.compile(
    r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}(?:\s[/|]\s|:)(?P<value>[^\s\"'`/]{6,64})"
)
_TRAILING = ".,;:)]}>?…*'"


def passwords(text: str) -> Iterator[Finding]:
    """Yield named passwords, PINs, keys and tokens in a folded text."""
    for name in _names(text):
        if name["key"] and _OTHER_KEY.search(text, max(0, name.start() - 16), name.start()):
            continue
        for pattern in (_SAID, _SAID_LATER):
            said = pattern.match(text, name.end())
            if values := tuple(_value(text, name, said)) if said else ():
                yield from values
                break
    for found in _BACKWARDS.finditer(text):
        if _chosen(found["value"]) and not _CODE.search(found["value"]):
            yield Finding(SensitiveKind.SECRET, *found.span("value"), "password, said before its name")
    yield from _after_login(text)


def _names(text: str) -> Iterator[re.Match[str]]:
    """Yield the names in a text, then those that are written in letters of other scripts that look alike."""
    yield from _NAME.finditer(text)
    if not text.isascii() and (latin := text.translate(_LOOK_ALIKES)) != text:
        yield from (name for name in _NAME.finditer(latin) if name[0] != text[name.start() : name.end()])


@dataclass(frozen=True, slots=True)
class _Value:
    """A possible value after a name: its text, position, and whether it is quoted. Its repr hides the text."""

    text: str = field(repr=False)
    start: int
    quoted: bool

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def _after_login(text: str) -> Iterator[Finding]:
    """Yield passwords after an e-mail address: "Hulu: amy@example.com / ..."."""
    if "@" in text:
        for found in _LOGIN_PAIR.finditer(text):
            if _chosen(found["value"]) and not _CODE.search(found["value"]):
                yield Finding(SensitiveKind.SECRET, *found.span("value"), "password beside its login")


def _value(text: str, name: re.Match[str], said: re.Match[str]) -> Iterator[Finding]:
    """Yield the secret values that follow a name."""
    place = said.end()
    if name["phrase"] and said.lastgroup != "gap" and (words := _words(text, place)):
        if not FUNCTION_WORDS & set(re.findall(r"[a-z]+", words.group())):
            yield Finding(SensitiveKind.SECRET, *words.span(), "phrase of words")
        return
    if name["key"] and _CODES.fullmatch(name["key"]):
        yield from _codes(text, place)
    if name[0].lower() in _LOGINS and (pair := _PAIR.match(text, place)):
        if _chosen(pair["value"]):
            yield Finding(SensitiveKind.SECRET, *pair.span("value"), "password beside its login")
        return
    value = _read(text, place)
    if value and (rule := _rule(text, name, said, value)):
        if name["pin"]:  # separate findings, so that each PIN is found wherever else it occurs
            for number in _NUMBER.finditer(text, value.start, value.end):
                yield Finding(SensitiveKind.SECRET, *number.span(), rule)
            return
        yield Finding(SensitiveKind.SECRET, value.start, value.end, rule)


def _words(text: str, place: int) -> re.Match[str] | None:
    """Match the words of a phrase at `place`: repeated ones, or up to the end of a clause."""
    return _SAID_TWICE.match(text, place) or _FOUR_WORDS.match(text, place)


def _read(text: str, place: int) -> _Value | None:
    """Return the value at `place`: inside quotes, or up to a space, without closing punctuation."""
    if quoted := _QUOTED.match(text, place):
        return _Value(quoted["value"], quoted.start("value"), quoted=True)
    bare = _BARE.match(text, place)
    value = bare["value"].rstrip(_TRAILING) if bare else ""
    return _Value(value, place, quoted=False) if len(value) >= 3 else None


def _rule(text: str, name: re.Match[str], said: re.Match[str], value: _Value) -> str:
    """Return the rule by which `value` is the secret that `name` names, or ""."""
    if name["lock"]:
        form = _LOCK_CODE if name[0].lower().endswith("combination") else _ANY_CODE
        return "code of a lock" if said.lastgroup != "gap" and form.fullmatch(value.text) else ""
    if name["wifi"]:
        own = said.lastgroup == "strong" and len(value.text) >= 8 and re.fullmatch(r"[a-z]+\d+[a-z\d]*", value.text)
        return "password by name" if own else ""
    if name["pin"]:
        if said.lastgroup == "gap" and len(value.text) > 4:
            return ""
        alone = _PIN_VALUE.fullmatch(value.text) and not re.match(r"[-/.:]\d", text[value.end : value.end + 2])
        return "PIN" if alone else ""
    if name[0].lower() in _LOGINS and _ADDRESS.fullmatch(value.text):
        return ""
    if _CODE.search(value.text) or value.text.lower().strip("!") in DESCRIPTIONS:
        return ""
    if name["key"]:
        return "key or token by name" if _is_key(value.text, weak=said.lastgroup != "strong", name=name["key"]) else ""
    return "password by name" if _is_password(text, name[0], value, said) else ""


def _codes(text: str, place: int) -> Iterator[Finding]:
    """Yield the codes of a list: "recovery codes: 4821-9930, 1177-2040"."""
    while code := _CODE_OF_LIST.match(text, place):
        yield Finding(SensitiveKind.SECRET, *code.span("value"), "recovery code")
        place = code.end()


def _is_key(value: str, *, weak: bool, name: str) -> bool:
    """True if `value` looks like a key; after only "key" or "token" it must look random."""
    one_word = name.lower() in {"key", "token", "api", "chave", "clé", "credential", "credentials"}
    if re.fullmatch(r"[\d.,:/-]+", value) or (one_word and UUID.fullmatch(value)):
        return False
    if len(value) >= 16 and looks_random(value):
        return True
    return not one_word and not weak and len(value) >= 8 and bool(re.search(r"\d", value)) and bits(value) > 2.5


def _is_password(text: str, name: str, value: _Value, said: re.Match[str]) -> bool:
    if said.lastgroup == "its":
        return value.quoted or (_chosen(value.text) and not _ADDRESS.fullmatch(value.text))
    if said.lastgroup in {"gap", "apart"}:
        if value.quoted:
            return "," not in said[0] and name.lower() not in {"pass", "pw", "login"}
        return len(value.text) >= 6 and _chosen(value.text) and bool(re.search(r"\d", value.text))
    if value.quoted or _chosen(value.text):
        return len(value.text) >= 4
    if not _CLAUSE_END.match(text, value.end) or _describes(value.text.lower()):
        return False
    if value.text.isdigit():
        return 4 <= len(value.text) <= 12
    return value.text.isalpha() and len(value.text) >= (4 if said.lastgroup == "strong" else 6)


def _chosen(value: str) -> bool:
    """True if `value` looks like a password rather than a word: it has a digit, a sign or an inner capital."""
    inside = value.strip("!-'")
    return (
        len(value) >= 4
        and not re.fullmatch(r"[\d.,:/%€$£-]+", value)
        and not _HYPHENATED.fullmatch(inside)
        and (
            bool(re.search(r"[^\W\d_]", value) and re.search(r"\d", value))
            or bool(re.search(r"[a-z][A-Z]|[!#$%^&*+=@~?_]\S|\S[#$%^&*+=@~_]", value))
        )
    )


def _describes(word: str) -> bool:
    return word in DESCRIPTIONS or bool(
        re.search(r"(?:ed|ing|able|ible|ful|less|ly|ent|ant|ous|ive|ich|ig|bar|ado|ido|ada|ida)$", word)
    )
