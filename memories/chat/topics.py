"""Topics that members often keep out of memory, each with the words that name it (`services.screening.kept_out`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memories.errors import InvalidInput

# In English, as the pages are. A choice is stored as a whole line, so that it stays what it was when it was made.
TOPICS = {
    "health": (
        "Health: doctor, hospital, medicine, medication, illness, disease, diagnosis, therapy, therapist, surgery,"
        " symptom, pregnant, pregnancy, depression, anxiety, allergy, allergic, pill, pain"
    ),
    "money": (
        "Money: salary, income, wage, debt, loan, mortgage, savings, bank account, tax, pension, invest, earn, owe"
    ),
    "family": (
        "Family: wife, husband, spouse, partner, son, daughter, child, children, kid, baby, mother, father, mum, mom,"
        " dad, parent, brother, sister, uncle, aunt, cousin, grandmother, grandfather"
    ),
    "love": "Love and sex: girlfriend, boyfriend, dating, sex, sexual, affair, divorce, divorced, lesbian, bisexual",
    "beliefs": (
        "Beliefs: religion, religious, church, mosque, synagogue, temple, god, pray, christian, muslim, jewish, hindu,"
        " atheist"
    ),
    "politics": "Politics: election, vote, political, party member, republican, conservative, democrat, trade union",
    "work": "Work: job, employer, boss, colleague, office, career, company",
}


def topics_chosen(lines: Iterable[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    """The names in TOPICS, and the member's own words, of stored lines."""
    names = {line: name for name, line in TOPICS.items()}
    given = list(lines)
    return frozenset(names[line] for line in given if line in names), tuple(line for line in given if line not in names)


def lines_of_choice(names: Sequence[str], words: str) -> list[str]:
    """The lines to store. Raises InvalidInput for a name that the page does not offer."""
    if unknown := set(names) - TOPICS.keys():
        raise InvalidInput("topics", f"must be among {', '.join(TOPICS)}, not {', '.join(sorted(unknown))[:80]}.")
    return [*(TOPICS[name] for name in names), *words.splitlines()]
