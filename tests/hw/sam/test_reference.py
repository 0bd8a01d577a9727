"""The references of blocks, by the examples of the SAM tools."""

from __future__ import annotations

import operator

from tests.support.sam import reference
from tests.support.sam.reference import Lane
from tests.support.sam.tokens import format_stream, parse_stream

p = parse_stream


def texts(streams):
    return tuple(format_stream(tokens) for tokens in streams)


def test_lookups():
    segments, crds = [(0, 2), (2, 3)], [0, 2, 1]
    found = reference.lookup_compressed(p("0 S0 S0 1 S1 D"), segments, crds)
    assert texts(found) == ("0 2 S1 S1 1 S2 D", "0 1 S1 S1 2 S2 D")
    assert texts(reference.lookup_compressed(p("0 N 1 S0 D"), segments, crds))[0] == (
        "0 2 S0 S0 1 S1 D"
    )
    found = reference.lookup_dense(p("0 1 S0 D"), 2)
    assert texts(found) == ("0 1 S0 0 1 S1 D", "0 1 S0 2 3 S1 D")
    rows = [(0b1011, 0), (0b0101, 3), (0, 5), (0b1000, 5)]
    found = reference.lookup_bitvector(p("1 2 S0 3 S1 D"), rows, 1)
    assert texts(found) == ("5 S0 0 S1 8 S2 D", "3 S0 5 S1 5 S2 D")


def test_repeat():
    signals = reference.repeat_signals(p("0 1 S0 N S0 S1 D"))
    assert format_stream(signals) == "0 0 S0 0 S0 S1 D"
    for ref, repsig, expected in (
        ("5 6 7 S0 D", "0 0 S0 S0 0 S1 D", "5 5 S0 S0 7 S1 D"),
        ("5 S0 S0 6 S1 D", "0 0 S1 S1 0 S2 D", "5 5 S1 S1 6 S2 D"),
        ("0 D", "0 0 S0 D", "0 0 S0 D"),
    ):
        assert format_stream(reference.repeat(p(ref), p(repsig))) == expected


def test_joiners():
    lanes = Lane(p("0 2 4 S0 D"), p("0 1 2 S0 D")), Lane(p("2 3 S0 D"), p("0 1 S0 D"))
    assert texts(reference.intersect(*lanes)) == ("2 S0 D", "1 S0 D", "0 S0 D")
    assert texts(reference.union(*lanes)) == (
        "0 2 3 4 S0 D",
        "0 1 N 2 S0 D",
        "N 0 1 N S0 D",
    )
    words = Lane(*reference.expand_bitvector(p("13 S0 D"), p("1 S0 D")))
    others = Lane(*reference.expand_bitvector(p("12 S0 D"), p("3 S0 D")))
    assert texts(reference.intersect(words, others)) == ("2 3 S0 D", "2 3 S0 D", "3 4 S0 D")


def test_values():
    values = [10, 11, 12]
    assert format_stream(reference.array_values(p("0 N 2 S0 S1 D"), values)) == "10 0 12 S0 S1 D"
    summed = reference.reduce(operator.add, p("1 2 S0 S0 3 S1 4 S2 D"))
    assert format_stream(summed) == "3 0 3 S0 4 S1 D"
    # The coordinates tell that the second outer fiber holds nothing.
    summed = reference.reduce(operator.add, p("1 S1 S1 D"), p("0 S0 S0 D"))
    assert format_stream(summed) == "1 S0 S0 D"


def test_accumulators():
    crds = [p("0 2 3 S0 0 2 3 S1 0 2 3 S2 D"), p("0 2 S0 2 S1 D")]
    val = p("50 5 10 S0 40 4 8 S1 40 33 36 S2 D")
    found = reference.accumulate(operator.add, crds, val, [False], [0])
    assert texts(found) == ("0 2 3 S0 0 2 3 S1 D", "90 9 18 S0 40 33 36 S1 D")
    found = reference.accumulate(operator.add, crds, val, [True], [4])
    assert texts(found)[0] == "0 1 2 3 S0 0 1 2 3 S1 D"
    # Points (0,3) (1,1) (0,3) (2,0) with 1, 2, 4 and 8.
    crds = [p("3 S0 1 S1 3 S0 0 S2 D"), p("0 1 S0 0 2 S1 D"), p("0 1 S0 D")]
    val = p("1 S0 2 S1 4 S0 8 S2 D")
    found = reference.accumulate(operator.add, crds, val, [False, False], [0, 0])
    assert texts(found) == ("3 S0 1 S0 0 S1 D", "0 1 2 S0 D", "5 S0 2 S0 8 S1 D")


def test_coordinates():
    found = reference.drop_coordinates(p("0 1 2 3 S0 D"), p("1 S0 1 S0 S0 1 S1 D"))
    assert texts(found) == ("0 1 3 S0 D", "1 S0 1 S0 S0 1 S1 D")
    found = reference.drop_coordinates(p("0 S0 S0 4 5 S1 D"), p("7 S1 S1 S0 8 S2 D"))
    assert texts(found)[0] == "0 S0 S0 5 S1 D"
    found = reference.hold_coordinates(p("0 1 2 S0 D"), p("0 2 S0 S0 2 S1 D"))
    assert texts(found)[0] == "0 0 S0 S0 2 S1 D"
    found = reference.from_points(p("0 0 1 1 2 D"), p("3 4 1 2 0 D"))
    assert texts(found) == ("0 1 2 S0 D", "3 4 S0 1 2 S0 0 S1 D")


def test_writers():
    assert reference.write_compressed(p("0 2 S0 S0 1 S1 D"), False) == ([[0, 2], [2, 3]], [0, 2, 1])
    assert reference.write_compressed(p("0 2 S0 S0 1 S1 D"), True) == (
        [[0, 2], [2, 2], [2, 3]],
        [0, 2, 1],
    )
    rows = [[1, 0], [2, 1], [0, 2], [0, 2], [2, 2], [0, 3]]
    assert reference.write_bitvector(p("0 33 S0 S0 1 S1 D"), 2, True) == rows
    assert reference.write_values(p("5 N S0 6 S1 D")) == [5, 0, 6]
