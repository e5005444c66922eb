"""The vocabulary of contradictions: what people have several of, what excludes what, which words date or limit a fact.

Invariant: a word that is missing here makes the rules stay silent; it never makes two facts contradict each other.
"""

from __future__ import annotations

import re

from memories.consolidation.grammar.text import phrases, word_set
from memories.hygiene.wording import MONTHS, WEEKDAYS
from memoryhub.regexes import lazy_regex

# Of these people have several, so that "brother is Max" and "brother is Paul" may be two brothers.
SEVERAL_PEOPLE = word_set(
    """
    friend brother sister sibling child kid son daughter cousin aunt uncle nephew niece grandson granddaughter
    grandmother grandfather colleague coworker teammate classmate flatmate roommate housemate neighbour student client
    customer patient teacher supplier contact partner member somebody someone people
    """
)
SEVERAL = SEVERAL_PEOPLE | word_set(
    """
    hobby interest pastime language skill goal strength weakness allergy medicine medication tablet subject instrument
    sport game book song film place site tool app project task habit dish recipe snack idol pet room meeting meet
    appointment call exam lesson trip
    """
)
COLOURS = word_set(
    """
    black white grey red blue green yellow orange purple pink brown beige turquoise silver gold violet cream navy
    """
)
TASTES = word_set("like love enjoy adore")
DISTASTES = word_set("hate loathe detest")

# Predicates of which only one can be true of the same thing, where all other words are the same.
EXCLUSIVE = frozenset(
    frozenset(pair.split())
    for pair in (
        "always never",
        "on off",
        "open closed",
        "open shut",
        "enabled disabled",
        "introvert extrovert",
        "left right",
        "early late",
        "dark light",
        "window aisle",
        "allow forbid",
        "public private",
        "full-time part-time",
        "full part",
        "single married",
        "hot cold",
        "sweet savoury",
        "employed unemployed",
    )
)
# Which of those mean it only beside certain words: "the left door" and "the right door" are two doors.
ONLY_BESIDE = {
    frozenset(("left", "right")): word_set("handed hander footed"),
    frozenset(("early", "late")): word_set("riser bird sleeper"),
    frozenset(("dark", "light")): word_set("mode theme"),
    frozenset(("window", "aisle")): word_set("seat"),
    frozenset(("hot", "cold")): word_set("prefer"),
    frozenset(("sweet", "savoury")): word_set("prefer"),
    frozenset(("full", "part")): word_set("time"),
    frozenset(("public", "private")): word_set("profile account calendar"),
}
# Whole phrases that exclude each other.
CAMPS = (
    frozenset(("morning person", "night owl")),
    frozenset(("early bird", "night owl")),
    frozenset(("cat person", "dog person")),
    frozenset(("early riser", "night owl")),
)

MEAT = word_set("meat beef chicken pork lamb bacon ham steak sausage turkey duck veal salami")
FISH = word_set("fish salmon tuna sushi prawn shrimp seafood")
DAIRY = word_set("cheese egg butter yoghurt yogurt dairy honey cream")
ALCOHOL = word_set("alcohol wine beer whisky whiskey gin vodka rum cider champagne spirit cocktail")
SIBLINGS = word_set("brother sister sibling")
CHILDREN = word_set("child son daughter")
PETS = word_set("pet dog cat rabbit hamster parrot")
SPOUSES = word_set("husband wife spouse")
UNITS = word_set(
    """
    cm mm m metre km kg g pound stone euro dollar franc percent year month week day hour minute square foot inch litre
    room floor mg ml
    """
)

_PERIODS = "|".join(sorted(WEEKDAYS)) + "|" + "|".join(MONTHS)
# What was, and what holds no longer or for a time only.
PAST = lazy_regex(
    r"\b(?:"
    + phrases(
        """
        used to, formerly, former, previous, previously, ex, once, was, were, had, until, till, went, ran, ago, back in,
        back then, at school, in school, last week, last month, last year, last summer, last winter, as a child,
        as a kid, as a student, in those days, in the past, originally, at first, at the time, for a while, this week,
        this month, today, tonight, tomorrow, yesterday, the last, the next, so far, temporarily, for now, died
        """
    )
    + r")\b|\b(?:in|from|between|before)\s+(?:19|20)\d\d\b|^old\b",
    re.IGNORECASE,
)
BORN = lazy_regex(r"^(?:was |is |am |were )?born\b", re.IGNORECASE)
# Somebody else's words, and what is only supposed.
UNSURE = lazy_regex(
    r"\b(?:"
    + phrases(
        """
        might, will, would, could, should, likely, perhaps, maybe, probably, possibly, hopefully, apparently,
        seems, seem, considers, considering, thinks, thinking, believes, believe, says, say, said, asks, asked, claims,
        heard, told, reckons, if, whether, unless, supposed, supposedly, dreams, imagines, interview, applied,
        applies, offer, unsure, doubts, wonders, guesses, expects, according to, joked, jokes
        """
    )
    + r")\b|\?|(?<!\d\s)(?<!\b(?:in|of|on)\s)(?<!\bsince\s)(?<!\bevery\s)\bmay\b(?!\s+\d)",
    re.IGNORECASE,
)
WISH = lazy_regex(
    r"\b(?:wants?|hopes?|plans?|intends?|wishes|wish|aims?|tries|try|trying|looking for|saving for|goal)\b",
    re.IGNORECASE,
)
# Said beside what is known, not in its place.
BESIDE = lazy_regex(
    r"\b(?:also|too|as well|another|second|other|others|both|either|sometimes|occasionally|partly|half|one of|part-time"
    r"|besides|in addition|additionally|mostly|mainly|including|among)\b",
    re.IGNORECASE,
)
# When, where or for what: a fact that is limited so says nothing of the rest.
LIMITED = lazy_regex(
    rf"\b(?:{_PERIODS})s?\b|\b(?:on|in|at|over)\s+(?:the\s+)?(?:weekdays?|weekends?|mornings?|evenings?|afternoons?"
    r"|nights?|summers?|winters?|springs?|autumns?|holidays?|home|work|school|term|office|day|breakfast|lunch|dinner"
    r"|restaurants?|trains?|planes?|server|servers|car)\b|\b(?:on|at)\s+the\b"
    r"|\b(?:when|while|during|if|until|between|within|for|by day"
    r"|by night|except|unless|especially|from\s+\w+\s+to|with\s+the|without)\b",
    re.IGNORECASE,
)
# Words by which a statement says of itself that something is another now.
CHANGED = lazy_regex(
    r"\b(?:"
    + phrases(
        """
        now, no longer, any more, anymore, these days, nowadays, currently, again, instead, from now on, recently,
        lately, moved, relocated, switched, changed, became, sold, stopped, quit, gave up, given up, started, joined,
        has become, has left, not any longer, retired
        """
    )
    + r")\b",
    re.IGNORECASE,
)

# What somebody or something is beside having a name: "wife is Anna" and "wife is Portuguese" are both true.
DESCRIBING = word_set(
    """
    african american arab argentinian asian australian austrian bavarian belgian brazilian british bulgarian canadian
    catalan chilean chinese colombian croatian cuban czech danish dutch egyptian english estonian european filipino
    finnish french german greek hungarian icelandic indian indonesian iranian iraqi irish israeli italian jamaican
    japanese kenyan korean latvian lebanese lithuanian malaysian maltese mexican moroccan nepalese nigerian norwegian
    pakistani persian peruvian polish portuguese romanian russian scottish serbian slovak slovenian spanish swedish
    swiss syrian taiwanese thai tunisian turkish ukrainian venezuelan vietnamese welsh
    anglican buddhist catholic christian hindu jewish lutheran mormon muslim orthodox protestant quaker sikh
    """
)
# "Car is a Ford" and "car is a Fiesta", "phone is a Samsung" and "phone is a Galaxy": a maker is no other model.
MAKERS = word_set(
    """
    alfa audi bmw chevrolet chrysler citroen citroën cupra dacia fiat ford honda hyundai jaguar jeep kia lexus mazda
    mercedes mini mitsubishi nissan opel peugeot porsche renault rover saab seat skoda škoda smart subaru suzuki tesla
    toyota vauxhall volkswagen volvo vw android apple asus dell fairphone google hp huawei lenovo motorola oneplus
    samsung sony xiaomi
    """
)
# People have such a work beside another: "works as a teacher" and "is a writer" are both true.
SIDE_WORK = word_set(
    """
    actor actress artist author coach composer contractor dancer entrepreneur filmmaker freelancer illustrator musician
    painter photographer podcaster poet singer student trainer translator writer
    """
)

# What holds many towns: "lives in Lisbon" and "lives in Portugal" are both true.
REGIONS = frozenset(
    name.strip()
    for name in """
    afghanistan, albania, algeria, andorra, angola, argentina, armenia, australia, austria, azerbaijan, bahrain,
    bangladesh, belarus, belgium, bolivia, bosnia, botswana, brazil, bulgaria, cambodia, cameroon, canada, chile, china,
    colombia, costa rica, croatia, cuba, cyprus, czechia, czech republic, denmark, dominican republic, ecuador, egypt,
    el salvador, england, eritrea, estonia, ethiopia, europe, asia, africa, america, north america, south america,
    fiji, finland, france, georgia, germany, ghana, great britain, britain, greece, guatemala, haiti, honduras, hungary,
    iceland, india, indonesia, iran, iraq, ireland, northern ireland, israel, italy, ivory coast, jamaica, japan,
    jordan, kazakhstan, kenya, korea, south korea, north korea, kosovo, kuwait, latvia, lebanon, libya, liechtenstein,
    lithuania, luxembourg, macedonia, madagascar, malaysia, malta, mexico, moldova, monaco, mongolia, montenegro,
    morocco, mozambique, myanmar, namibia, nepal, netherlands, the netherlands, holland, new zealand, nicaragua,
    nigeria, norway, oman, pakistan, panama, paraguay, peru, philippines, the philippines, poland, portugal, qatar,
    romania, russia, rwanda, saudi arabia, scotland, senegal, serbia, singapore, slovakia, slovenia, somalia,
    south africa, spain, sri lanka, sudan, sweden, switzerland, syria, taiwan, tanzania, thailand, tunisia, turkey,
    uganda, ukraine, united arab emirates, uk, the uk, united kingdom, the united kingdom, usa, the usa, us, the us,
    united states, the united states, uruguay, uzbekistan, venezuela, vietnam, wales, yemen, zambia, zimbabwe,
    alabama, alaska, arizona, arkansas, california, colorado, connecticut, delaware, florida, hawaii, idaho, illinois,
    indiana, iowa, kansas, kentucky, louisiana, maine, maryland, massachusetts, michigan, minnesota, mississippi,
    missouri, montana, nebraska, nevada, new hampshire, new jersey, new mexico, new york, north carolina, north dakota,
    ohio, oklahoma, oregon, pennsylvania, rhode island, south carolina, south dakota, tennessee, texas, utah, vermont,
    virginia, washington, west virginia, wisconsin, wyoming, ontario, quebec, british columbia, alberta, bavaria,
    saxony, hesse, tyrol, catalonia, andalusia, galicia, brittany, normandy, provence, tuscany, sicily, sardinia,
    lombardy, piedmont, yorkshire, kent, cornwall, devon, sussex, essex, the midlands, the north, the south, the west,
    the east, the country, the countryside, the city, the mountains, the suburbs, the alps, scandinavia, the balkans
    """.split(",")
)
