from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.formats import parse_format
from gnarl.hw.lib.verilog import to_verilog
from gnarl.hw.sam.blocks.writers.value_writer import ValueWriter
from gnarl.hw.sam.token import EMPTY, Kind
from gnarl.sw.runtime.machine.verilate import lint
from tests.support.sam.nested import depths, stalls, stream, trees, words
from tests.support.sam.tokens import kind_of, parse_stream, payload_of
from tests.support.sam.writers import run_writer


def writer(format: str = "fixed16.0", width: int = 8, rows: int = 300) -> ValueWriter:
    return ValueWriter(parse_format(format), width, rows)


@pytest.mark.parametrize(
    "text, values",
    [
        ("1 2 S0 S0 3 S1 D", [1, 2, 3]),
        ("S2 D", []),
        ("7 D", [7]),
        ("N S0 0 N 65535 S1 D", [0, 0, 0, 65535]),
    ],
)
def test_examples(text, values):
    tokens = parse_stream(text)
    got = run_writer(writer(), tokens, ["vals"], ["entries"])
    assert got == {
        "vals": [[value] for value in values],
        "entries": len(values),
        "cycles": len(tokens),
    }


@settings(max_examples=10)
@given(st.data(), depths(0), stalls())
def test_random_streams(data, depth, pauses):
    tokens = stream(data.draw(trees(depth, words(32))), depth)
    values = [payload_of(token) for token in tokens if kind_of(token) in (Kind.DATA, Kind.EMPTY)]
    assert EMPTY not in values
    got = run_writer(writer("float32"), tokens, ["vals"], ["entries"], **pauses)
    assert got["vals"] == [[value] for value in values]
    assert got["entries"] == len(values)


@pytest.mark.parametrize("width, rows, room", [(8, 5, 5), (4, 16, 15)])
def test_a_fault_when_the_array_is_full(width, rows, room):
    tokens = [1] * room + parse_stream("S0 D")
    assert len(run_writer(writer(width=width, rows=rows), tokens, ["vals"])["vals"]) == room
    with pytest.raises(AssertionError, match=f"fault in cycle {room}"):
        run_writer(writer(width=width, rows=rows), [1, *tokens], ["vals"])


def test_verilog_is_clean():
    assert lint(to_verilog(writer("float32", 32, 1 << 18), "writer"), "writer") == []
