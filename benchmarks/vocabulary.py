"""The words that made-up texts draw from: enough of them that, as in real talk, most content words are rare."""

from __future__ import annotations

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
