from benchmarks.contradictions import read_pairs
from memories.consolidation.contradiction.aspects import Look, aspects, cues, pairs
from memories.consolidation.judging import Read, Statement, Verdict, judge, read

WIDE = 50


def found_pairs() -> list[tuple[Read, Read]]:
    both = [(read(Statement(pair.older)), read(Statement(pair.newer))) for pair in read_pairs("contradicting")]
    return [(older, newer) for older, newer in both if judge(older, newer).verdict is not Verdict.NEITHER]


def test_whatever_the_rules_find_shares_an_aspect() -> None:
    for older, newer in found_pairs():
        assert aspects(older) & aspects(newer), (older.statement.text, newer.statement.text)


def test_whatever_the_rules_find_holds_a_cue_of_the_other() -> None:
    for older, newer in found_pairs():
        for one, other in ((older, newer), (newer, older)):
            text = other.statement.text.casefold()
            assert any(cue in text for cue in cues(one)), (cues(one), text)
            assert Look(one).worth(other.statement.text, other.statement.key), text


def test_facts_that_share_nothing_are_not_paired() -> None:
    facts = [read(Statement(text)) for text in ("Lives in Turin", "Likes coffee", "Lives in Genoa", "Cat is called Mo")]

    assert list(pairs({n: aspects(each) for n, each in enumerate(facts)}, widest=WIDE)) == [(0, 2)]


def test_a_crowd_is_paired_only_with_its_neighbours() -> None:
    crowd: dict[int, set[str]] = {number: {"the same"} for number in range(1_000)}

    found = list(pairs(crowd, widest=3))

    assert len(found) == len(set(found)) == 3 * 1_000 - 6
    assert (0, 3) in found
    assert (0, 4) not in found
