"""Passwords, PINs and keys that somebody says: "the wifi password is ...", `API_KEY=...`, "senha: ...".

Told from talk about passwords by what follows the name. After a colon or an equals sign it is anything but code and the
usual words of such talk; after "is" it is what looks chosen as a password (a digit, a sign or capitals inside, quotes) or
one plain word that ends the clause and describes nothing. Invariant: linear in the text, a bounded look at each name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memories.hygiene.sensitivity.entropy import bits, looks_random
from memories.hygiene.sensitivity.findings import Finding
from memories.hygiene.sensitivity.password_talk import DESCRIPTIONS, FUNCTION_WORDS
from memories.types import SensitiveKind

_PASSWORD = (
    r"pass(?:word|code|phrase|wort|wd|key)s?|pass ?word|pwd|pw|pass|psw|login|mot de passe|mdp|contrase[nñ]a|clave|senha|"
    r"palavra[- ]passe|kennwort|wachtwoord|parola|has[lł]o|heslo|l[oö]senord|adgangskode|passord|salasana|jelsz[oó]|"
    r"[sş]ifre|пароль|密码|口令|パスワード|비밀번호"
)
_KEY = (
    r"(?:(?:api|access|secret|auth|private|encryption|signing|client|shared|master|account|service|storage|license|recovery|"
    r"backup|bearer|refresh|session|deploy|webhook|bot|app|admin|security|personal access|aws|github|gitlab|openai|stripe|slack)"
    r"[-_ ]?){1,3}(?:keys?|tokens?|secrets?|codes?)|secret|token|api|credentials?|apikey|bearer|key|chave|clé|schl[uü]ssel"
)
_PIN = r"pin|pin[- ]?(?:code|number|nummer)|cvv2?|cvc2?|security code|geheimzahl|c[oó]digo pin|tan"
_PHRASE = r"(?:pass|seed|recovery|secret|backup|mnemonic)[- ]?phrase|mnemonic|seed words"
_NAME = re.compile(
    rf"(?<![^\W_])(?:(?P<phrase>{_PHRASE})|(?P<pin>{_PIN})|(?P<password>{_PASSWORD})|(?P<key>{_KEY}))(?![^\W_])",
    re.IGNORECASE,
)
# "password for the wifi", "PIN de mon téléphone": up to six words that say of what.
_OF = (
    r"(?:\s{1,2}\(?(?:for|to|of|on|at|in|de|do|da|del|della|du|f[uü]rs?|zum|vom|van|voor|para|pour|per|til|till|i|na|la|le|el)"
    r"(?:\s[\w@.'&/-]{1,24}){1,5}?\)?)?"
)
_STRONG = r"[\"'`)]?\s{0,2}(?:(?:is|was)?\s?(?::=|=>|->|→|:|=)=?)\s{0,2}"
_IS = (
    r"\s{1,2}(?:is|was|are|ist|lautet|war|es|era|est|é|è|jest|är|er|on|to|(?:set|changed|reset|updated) to|будет|это)"
    r"(?:\s(?:now|still|set to|changed to|just|simply|currently|called|nu|jetzt|agora|ahora|maintenant|also|this|like this))?\s{1,2}"
)
_JOINED = r"(?:は|是|为|：)\s{0,2}"
_GAP = r"\s{1,2}"
_SAID = re.compile(rf"{_OF}(?:(?P<strong>{_STRONG}|{_JOINED})|(?P<is>{_IS})|(?P<gap>{_GAP}))", re.IGNORECASE)
_QUOTED = re.compile(r"([\"'`])(?P<value>[^\"'`\n]{3,128})\1")
_BARE = re.compile(r"(?P<value>[^\s\"`]{3,128})")
_WORDS = re.compile(r"(?:[a-z]{3,12}[ ,-]{1,2}){3,23}[a-z]{3,12}(?=\s*(?:[.;!?)\n]|$))")
_BACKWARDS = re.compile(
    r"(?<!\S)[\"'`]?(?P<value>[^\s\"'`]{6,64})[\"'`]?,?\s(?:(?:is|was|ist|es|é|est)|as|for)\s(?:my|the|our|a|his|her|their|mein|das|mi|la|a minha)?\s?"
    r"(?:[\w-]{1,16}\s){0,2}(?:password|passcode|passphrase|passwort|contraseña|senha|mot de passe|api key|token)(?!\w)",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"[(\[{<]|^\$|^%|^&|^(?:self|this|os|process|env|config|settings|request|req|user|ctx|data|form|params|options)\.|^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$|^https?:|^[*•.x-]+$|^\w+(?:\.\w+)+$|^\w+_\w+$|::|^/\w"
)
_TRAILING = ".,;:)]}>?…"


def passwords(text: str) -> Iterator[Finding]:
    """What is said to be a password, PIN, key or token in a folded text."""
    for name in _NAME.finditer(text):
        said = _SAID.match(text, name.end())
        if said:
            yield from _value(text, name, said)
    for found in _BACKWARDS.finditer(text):
        if _chosen(found["value"]) and not _CODE.search(found["value"]):
            yield Finding(SensitiveKind.SECRET, *found.span("value"), "password, said before its name")


def _value(text: str, name: re.Match[str], said: re.Match[str]) -> Iterator[Finding]:
    """The value after a name, if it is one."""
    if name["phrase"] and not said["gap"]:
        words = _WORDS.match(text, said.end())
        if words and not FUNCTION_WORDS & set(re.findall(r"[a-z]+", words.group())):
            yield Finding(SensitiveKind.SECRET, *words.span(), "phrase of words")
            return
    quoted = _QUOTED.match(text, said.end())
    found = quoted or _BARE.match(text, said.end())
    if found is None:
        return
    start, value = (
        found.start("value"),
        found["value"] if quoted else found["value"].lstrip("'").rstrip(_TRAILING + "'"),
    )
    start += 0 if quoted else len(found["value"]) - len(found["value"].lstrip("'"))
    end = start + len(value)
    if len(value) < 3:
        return
    if name["pin"]:
        if re.fullmatch(r"\d{3,8}", value) and not re.match(r"[-/.:]\d", text[end : end + 2]):
            yield Finding(SensitiveKind.SECRET, start, end, "PIN")
        return
    if _CODE.search(value) or value.lower().strip("!") in DESCRIPTIONS:
        return
    if name["key"]:
        if _is_key(value, weak=not said["strong"], name=name["key"]):
            yield Finding(SensitiveKind.SECRET, start, end, "key or token by name")
    elif _is_password(text, value, end, said, quoted=quoted is not None):
        yield Finding(SensitiveKind.SECRET, start, end, "password by name")


def _is_key(value: str, *, weak: bool, name: str) -> bool:
    """Whether `value` is what a key looks like; after the bare word "key" or "token" it has to look drawn."""
    if re.fullmatch(r"[\d.,:/-]+", value):
        return False
    one_word = name.lower() in {"key", "token", "api", "chave", "clé", "credential", "credentials"}
    if len(value) >= 16 and looks_random(value):
        return True
    return not one_word and not weak and len(value) >= 8 and bool(re.search(r"\d", value)) and bits(value) > 2.5


def _is_password(text: str, value: str, end: int, said: re.Match[str], *, quoted: bool) -> bool:
    if said["gap"]:
        return quoted or (len(value) >= 6 and _chosen(value) and bool(re.search(r"\d", value)))
    if quoted or _chosen(value):
        return len(value) >= 4 or not quoted
    if not value.isalpha() or len(value) < 4:
        return bool(re.fullmatch(r"\d{4,12}", value))
    ends = bool(re.match(r"['\"]?\s*(?:[.!?;\n]|$|,(?! (?:and|or|und|et|y) [A-Z]))", text[end : end + 12]))
    return ends and (bool(said["strong"]) or len(value) >= 6) and not _describes(value.lower())


def _chosen(value: str) -> bool:
    """Whether it looks like a password rather than a word: a digit, a sign or capitals inside."""
    inside = value.strip("!-'")
    return (
        len(value) >= 4
        and not re.fullmatch(r"[\d.,:/%€$£-]+", value)
        and not re.fullmatch(r"\w+(?:[-'/]\w+)+|\d+(?:st|nd|rd|th|[a-z]{1,2})|v?\d+(?:\.\d+)+\w*", inside)
        and (
            bool(re.search(r"[^\W\d_]", value) and re.search(r"\d", value))
            or bool(re.search(r"[a-z][A-Z]|[!#$%^&*+=@~?_]\S|\S[#$%^&*+=@~_]", value))
        )
    )


def _describes(word: str) -> bool:
    return word in DESCRIPTIONS or bool(
        re.search(r"(?:ed|ing|able|ible|ful|less|ly|ent|ant|ous|ive|ich|ig|bar|ado|ido|ada|ida)$", word)
    )
