"""Random small talk, facts and how-tos from a large vocabulary, so that most words are rare, as in real conversations.

The same seed gives the same texts in the same order on every machine.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from django.utils.text import capfirst

PEOPLE = """
    Abel Agnes Aisha Alma Amara Anders Anouk Arjun Astrid Aurelio Beata Bilal Bram Brigid Caspian Cecily Chiara
    Clement Corin Dagny Damaris Dario Delphine Dmitri Dunja Edda Elif Emeka Esme Ettore Fabian Farid Felicia Fionn
    Freya Gaspard Gemma Gideon Greta Gunnar Hana Hector Helga Hugo Ibrahim Idris Imogen Ingrid Isolde Ivo Jadwiga
    Jasper Johanna Jonas Jovan Juniper Kalle Kaveh Keiko Kirsten Klara Lazlo Leonie Levent Linnea Lorenzo Ludmila
    Maeve Magnus Malika Marcel Mirela Moritz Nadia Nikolai Noor Odile Olin Oskar Ottilie Paavo Petra Philippa Pilar
    Priya Quentin Rafael Ragna Ramona Rasmus Renske Rosalind Rune Sabine Samir Sanna Selim Signe Sorcha Stellan
    Sunniva Tadeo Tamsin Theodora Thibault Tove Ulrika Umut Valentin Vera Viggo Wendel Willa Ximena Yael Yusuf Zelda
    Zofia
""".split()
PLACES = """
    Aarhus Aberdeen Alicante Antwerp Avignon Bamberg Bergen Bilbao Bologna Bordeaux Braga Brest Bruges Burgos Cadiz
    Cork Coimbra Cologne Dijon Dresden Dundee Eindhoven Esbjerg Exeter Faro Ferrara Freiburg Galway Gdansk Genoa
    Ghent Girona Graz Grenoble Groningen Haarlem Halle Inverness Izmir Jena Joensuu Kalmar Kaunas Kiel Klagenfurt
    Krakow Kuopio Leiden Leuven Lille Limerick Linz Ljubljana Lodz Lucca Lund Maastricht Malmo Mannheim Maribor
    Mostar Nantes Narvik Newport Nijmegen Norwich Odense Olomouc Orleans Oslo Ostrava Oulu Padua Parma Pecs Perugia
    Poitiers Porto Poznan Quimper Ravenna Regensburg Rijeka Rostock Rouen Salzburg Santander Segovia Siena Split
    Tampere Tartu Trento Trieste Trondheim Turku Ulm Uppsala Utrecht Varna Vigo Weimar Winterthur Ystad Zadar
""".split()
NOUNS = """
    accordion anchor aquarium armchair atlas backpack banjo barometer beehive bicycle binoculars blanket blender
    boiler bookcase bracelet brochure bunk cabinet camera candlestick canoe caravan carpet cello chandelier
    chessboard chimney clarinet compass cradle curtain dehumidifier desk dishwasher doorbell drawer dresser drill
    dulcimer duvet easel envelope fence ferry fireplace flute fountain freezer furnace gazebo globe greenhouse
    guitar gutter hammock harp heater hedge helmet hinge hourglass icebox jacket jigsaw kayak kennel kettle keyboard
    kiln kite ladder lantern lathe lawnmower ledger letterbox lighthouse loom magnet mandolin manuscript marimba
    mattress medal metronome microscope mirror mosaic napkin notebook oboe orchard oven paddle parasol passport
    pedal pergola pianola pillow plough pottery projector pulley pump quilt radiator raft recorder refrigerator
    ribbon rowboat rucksack saddle sandpit saucepan saxophone scaffold scooter screwdriver sculpture seesaw sewer
    shed shelf shutter sideboard sieve skylight sledge snorkel sofa spade spectacles stapler stove suitcase sundial
    tandem tapestry teapot telescope tent thermostat toaster toolbox tractor trampoline tricycle tripod trombone
    trumpet turbine turntable typewriter umbrella urn vase veranda viola violin wardrobe wheelbarrow whistle
    windmill workbench wreath xylophone yacht zither
""".split()
QUALITIES = """
    ancient battered black blue borrowed brass broken bronze cheap chipped clumsy copper cracked crimson crooked
    curved delicate dented dusty elegant enamel faded fancy fragile frozen gigantic gilded glossy golden green grey
    handmade heavy hollow inherited iron ivory leaking loud mahogany marble mouldy narrow noisy oak orange oversized
    painted pale pink plain polished portable purple quiet rented restored round rusty scarlet scratched secondhand
    silver slippery squeaky stolen striped sturdy tiny transparent turquoise upright velvet vintage walnut warped
    waterproof white wobbly wooden woollen yellow
""".split()
DEEDS = """
    abandoned adjusted admired assembled auctioned bargained borrowed bought carried cleaned collected compared
    copied decorated delivered described designed dismantled donated drew exchanged explained fetched finished found
    hid hired improved inspected installed insured labelled lent lost measured mended missed moved noticed ordered
    packed painted patched photographed polished postponed praised promised rebuilt refused rented repaired replaced
    rescued returned sanded sold sorted stored swapped tested traded unpacked unwrapped varnished washed weighed
    wrapped
""".split()
OCCASIONS = """
    anniversary audit banquet baptism barbecue carnival ceremony christening concert conference contest exam
    exhibition expedition fair festival funeral gala graduation harvest hike holiday housewarming inspection
    inventory jubilee marathon market meeting merger migration moving parade performance picnic pilgrimage premiere
    regatta rehearsal renovation retreat reunion safari seminar strike symposium tournament trial vacation
    vernissage wedding workshop
""".split()
JOBS = """
    accountant actuary archivist baker barber beekeeper botanist butcher carpenter cartographer chemist
    choreographer conductor cooper curator dentist diver editor electrician engraver falconer farmer florist
    gardener geologist glazier goldsmith historian illustrator jeweller joiner journalist judge librarian locksmith
    luthier mason mechanic midwife miller notary nurse optician painter pharmacist pilot plumber potter printer
    ranger roofer sailor saddler sculptor surveyor tailor tanner teacher translator typesetter upholsterer vet
    weaver welder zookeeper
""".split()
TASTES = """
    almonds anchovies apricots artichokes aubergines basil blackberries camembert capers caramel cardamom chamomile
    chestnuts chicory cinnamon coriander cranberries dates dill dumplings elderflower espresso fennel figs ginger
    gnocchi gooseberries halloumi hazelnuts hibiscus horseradish kimchi kiwis lavender lentils liquorice mackerel
    mangoes marzipan miso molasses mustard nectarines nougat oatmeal olives oysters papaya paprika parsnips pesto
    pistachios plums polenta pomegranates pumpkin quinces radishes raspberries rhubarb rosemary saffron sage
    sardines sauerkraut sesame shallots sorbet spinach tahini tarragon thyme truffles turmeric vanilla walnuts
    watercress
""".split()
WHEN = [
    "last Tuesday",
    "on the way to work",
    "over breakfast",
    "in early March",
    "two weeks ago",
    "during the storm",
    "just before the holidays",
    "yesterday evening",
    "on my birthday",
    "at the end of August",
    "this morning",
    "the day after the match",
]
REMARKS = [
    "it took the whole afternoon",
    "I am still a bit proud of it",
    "honestly it was a relief",
    "nobody believed me",
    "it cost {n} euros in the end",
    "we laughed about it for days",
    "I would not do it again",
    "the weather did not help",
    "we need another {n} days for the rest",
    "that was number {n} on my list",
]


@dataclass(frozen=True, slots=True)
class HowTo:
    """The texts of a playbook."""

    title: str
    trigger: str
    steps: tuple[str, ...]


class Writer:
    """Generates random texts, reproducible by `seed`."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - texts, not secrets
        self._count = 0

    def episode(self) -> str:
        """A user's message: one to three sentences."""
        pick, chance = self._random.choice, self._random.random
        first = f"{capfirst(pick(WHEN))} I {pick(DEEDS)} {self._thing()}"
        if chance() < 0.4:
            first += f" with {pick(PEOPLE)} in {pick(PLACES)}"
        elif chance() < 0.4:
            first += f" for the {pick(OCCASIONS)}"
        sentences = [f"{first}, {pick(REMARKS).format(n=self._random.randint(2, 900))}."]
        if chance() < 0.5:
            sentences.append(
                f"{pick(PEOPLE)} the {pick(JOBS)} {pick(DEEDS)} {self._thing()} before the {pick(OCCASIONS)}."
            )
        if chance() < 0.25:
            sentences.append(f"Can you remind me what {pick(PEOPLE)} said about {self._thing()}?")
        return " ".join(sentences)

    def fact(self) -> str:
        """One stable assertion; no two are equal."""
        pick = self._random.choice
        self._count += 1
        return pick(
            [
                f"{pick(PEOPLE)} from {pick(PLACES)} likes {pick(TASTES)} and {pick(TASTES)}, says file {self._count}",
                f"{pick(PEOPLE)} works as a {pick(JOBS)} in {pick(PLACES)}, room {self._count}",
                f"Keeps {self._thing()} in locker {self._count} in {pick(PLACES)}",
                f"Ordered {self._thing()} from {pick(PEOPLE)} in {pick(PLACES)} under number {self._count}",
                f"Pays {pick(PEOPLE)} {self._count} euros a year for {self._thing()}",
            ]
        )

    def how_to(self) -> HowTo:
        """A title, a trigger and steps; no two titles are equal."""
        pick = self._random.choice
        self._count += 1
        steps = tuple(f"Ask {pick(PEOPLE)} the {pick(JOBS)} about {self._thing()}" for _ in range(3))
        return HowTo(
            f"How to mend {self._thing()}, case {self._count}", f"{self._thing()} fails at the {pick(OCCASIONS)}", steps
        )

    def question(self) -> str:
        """A question in other words than the texts."""
        pick = self._random.choice
        return pick(
            [
                f"When did I have trouble with {self._thing()} in {pick(PLACES)}?",
                f"What did {pick(PEOPLE)} say about {self._thing()}?",
                f"How much did {self._thing()} cost me?",
                f"Does {pick(PEOPLE)} like {pick(TASTES)} or {pick(TASTES)} better?",
                f"Who helped me with {self._thing()} {pick(WHEN)}?",
                f"Where does the {pick(JOBS)} who {pick(DEEDS)} something live these days?",
                f"What should I do when {self._thing()} breaks before the {pick(OCCASIONS)}?",
            ]
        )

    def _thing(self) -> str:
        article = self._random.choice(["the", "my", "our", "that"])
        return f"{article} {self._random.choice(QUALITIES)} {self._random.choice(NOUNS)}"
