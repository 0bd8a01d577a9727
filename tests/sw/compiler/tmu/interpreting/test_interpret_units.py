"""What xDSL's interpreter does with merges, and with programs of both units by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region
from xdsl.utils.exceptions import InterpretationError

from gnarl.hw.tmu.access_isa import UNBOUNDED, AluOperation, Event, EventKind, Mode, StreamKind
from gnarl.hw.tmu.access_program import IMMEDIATE, EventStep, Layer, Stream, Unit, own, parent
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.nests.functions import function_of
from gnarl.sw.compiler.tmu.dialects.dlc import AccessOp, layer_op
from gnarl.sw.compiler.tmu.interpreting.interpret import interpret
from gnarl.sw.compiler.tmu.optimise import optimise
from gnarl.sw.compiler.tmu.text import from_text

LANES = 4
UNWRITTEN = -99

INTERSECTION = """\
^bb0(%k: i32, %p: i32, %q: i32, %r: i32):
    %at = arith.index_cast %k : i32 to index
    memref.store %r, %out[%at] : memref<9xi32>
"""
UNION = """\
^bb0(%k: i32, %p: i32, %q: i32, %r: i32, %has_p: i1, %has_q: i1, %has_r: i1):
    %at = arith.index_cast %k : i32 to index
    %chosen = arith.select %has_r, %r, %nine : i32
    memref.store %chosen, %out[%at] : memref<9xi32>
"""


def of_three_fibers(kind: str, body: str) -> str:
    return f"""\
func.func @f(%x: memref<4xi32>, %y: memref<3xi32>, %z: memref<6xi32>, %out: memref<9xi32>)
    attributes {{names = "x,y,z,out"}} {{
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  %four = arith.constant 4 : i32
  %six = arith.constant 6 : i32
  %nine = arith.constant 9 : i32
  "fiber.merge"(%x, %y, %z, %one, %one, %two, %four, %three, %six)
      <{{kind = "{kind}", operandSegmentSizes = array<i32: 3, 3, 3>}}> ({{
  {body}
  }}) : (memref<4xi32>, memref<3xi32>, memref<6xi32>, i32, i32, i32, i32, i32, i32) -> ()
  func.return
}}
"""


@pytest.mark.parametrize("passes", ([], ["decouple"], ["decouple", "lower"]), ids=str)
@pytest.mark.parametrize(
    "kind, body, wanted",
    [
        ("intersect", INTERSECTION, [0, 0, 0, 0, 0, 4, 0, 0, 5]),
        ("union", UNION, [0, 2, 9, 0, 3, 4, 9, 0, 5]),
    ],
)
def test_merges_of_parts_of_three_fibers(
    kind: str, body: str, wanted: list[int], passes: list[str]
) -> None:
    text = optimise(of_three_fibers(kind, body), "f.mlir", passes, TmuConfig(lanes=LANES))
    arrays = {
        "x": np.array([0, 2, 5, 8], np.int32),
        "y": np.array([0, 5, 8], np.int32),
        "z": np.array([0, 0, 1, 4, 5, 8], np.int32),
        "out": np.zeros(9, np.int32),
    }
    if kind == "union":
        arrays["y"][1:] = 5, 6
    interpret(from_text(text), arrays, LANES)
    assert arrays["out"].tolist() == wanted


LACKING = """\
func.func @f(%x: memref<3xi32>, %y: memref<2xi32>, %out: memref<4x9xi32>)
    attributes {names = "x,y,out"} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  "slc.merge"(%x, %y, %zero, %zero, %three, %two)
      <{kind = "disjunctive", operandSegmentSizes = array<i32: 2, 2, 2>}> ({
  ^bb0(%k: !slc.stream<i32>, %p: !slc.stream<i32>, %q: !slc.stream<i32>, %m: !slc.stream<i32>):
    %next = "slc.alu_str"(%q, %one) <{operation = "add"}>
        : (!slc.stream<i32>, i32) -> !slc.stream<i32>
    %value = "slc.mem_str"(%x, %next) : (memref<3xi32>, !slc.stream<i32>) -> !slc.stream<i32>
    "slc.callback"(%k, %q, %next, %value, %m) ({
    ^bb0(%k_value: i32, %q_value: i32, %next_value: i32, %loaded: i32, %mask: i32):
      %rows = arith.constant 0 : index
      %at = arith.index_cast %k_value : i32 to index
      %1 = arith.constant 1 : index
      %2 = arith.constant 2 : index
      %3 = arith.constant 3 : index
      memref.store %q_value, %out[%rows, %at] : memref<4x9xi32>
      memref.store %next_value, %out[%1, %at] : memref<4x9xi32>
      memref.store %loaded, %out[%2, %at] : memref<4x9xi32>
      memref.store %mask, %out[%3, %at] : memref<4x9xi32>
    }) : (!slc.stream<i32>, !slc.stream<i32>, !slc.stream<i32>, !slc.stream<i32>,
        !slc.stream<i32>) -> ()
  }) : (memref<3xi32>, memref<2xi32>, i32, i32, i32, i32) -> ()
  func.return
}
"""


@pytest.mark.parametrize("passes", ([], ["lower"]), ids=str)
def test_streams_of_a_fiber_without_the_coordinate_are_0(passes: list[str]) -> None:
    text = optimise(LACKING, "f.mlir", passes, TmuConfig(lanes=LANES))
    x, y = np.array([1, 5, 8], np.int32), np.array([3, 8], np.int32)
    out = np.zeros((4, 9), np.int32)
    interpret(from_text(text), {"x": x, "y": y, "out": out}, LANES)
    assert out[:, [1, 3, 5, 8]].T.tolist() == [
        [0, 0, 0, 1],
        [0, 1, 5, 2],
        [0, 0, 0, 1],
        [1, 2, 8, 3],
    ]


def by_hand(layers: Sequence[Layer], cases: str, arrays: dict[str, np.ndarray]) -> ModuleOp:
    """Streams read the array ``x``; ``cases`` are the text of the execute unit's."""
    types = [f"memref<{'x'.join(map(str, each.shape))}xi32>" for each in arrays.values()]
    arguments = ", ".join(f"%{name}: {type}" for name, type in zip(arrays, types, strict=True))
    names = ",".join(arrays)
    execute = function_of(
        from_text(
            f'func.func @f({arguments}) attributes {{names = "{names}"}} {{\n'
            f'"dlc.case"() <{{token = "start"}}> ({{\n{cases}func.return\n}}\n'
        )
    )
    reads = {
        (unit, number): "x"
        for layer in layers
        for unit, each in enumerate(layer.units)
        for number, stream in enumerate(each.streams)
        if stream.kind == StreamKind.MEMORY
    }
    tokens = ["case_0", "end"]
    made = [layer_op(each, tokens, reads) for each in layers]
    execute.detach()
    return ModuleOp([AccessOp(Region(Block(made))), execute])


APPEND = """\
  %zero = arith.constant 0 : i32
  "slc.set"(%zero) <{variable = "count"}> : (i32) -> ()
}) : () -> ()
"dlc.case"() <{token = "case_0"}> ({
  %count = "slc.get"() <{variable = "count"}> : () -> i32
  %value = "slc.pop"() : () -> i32
  %at = arith.index_cast %count : i32 to index
  memref.store %value, %out[%at] : memref<9xi32>
  %one = arith.constant 1 : i32
  %next = arith.addi %count, %one : i32
  "slc.set"(%next) <{variable = "count"}> : (i32) -> ()
}) : () -> ()
"dlc.case"() <{token = "end"}> ({
^bb0:
}) : () -> ()
"""
"""Writes each token's word behind the one before."""

WORD = EventStep(EventKind.WORD, layer=0, stream=1)
VALUE, LAST = EventStep(EventKind.TOKEN, token=0), EventStep(EventKind.TOKEN, token=1)
INDUCTION = Stream(StreamKind.INDUCTION)


def appended(
    layers: Sequence[Layer], x: Sequence[int] = (7, 7, 3, 3, 3, 7), cases: str = APPEND
) -> list[int]:
    arrays = {"x": np.array(x, np.int32), "out": np.full(9, UNWRITTEN, np.int32)}
    interpret(by_hand(layers, cases, arrays), arrays, LANES)
    return [each for each in arrays["out"].tolist() if each != UNWRITTEN]


def loop(stream: Stream, upper: int, event: Event = Event.ITERATION, **more: int) -> Layer:
    """A loop whose second stream's values are queued, each with a token, at an event."""
    unit = Unit(upper_immediate=upper, streams=(INDUCTION, stream))
    return Layer(Mode.SINGLE, (unit,), 1, events={event: (WORD, VALUE), Event.END: (LAST,)}, **more)


def test_a_toggle_is_the_first_iteration_and_each_change():
    elements = Stream(StreamKind.MEMORY, a=own(0), length=6)
    assert appended([loop(elements, 6, Event.TOGGLE, toggle=1)]) == [7, 3, 7]


@pytest.mark.parametrize(
    "operation, number, wanted",
    [
        (AluOperation.SUB, 1, [-1, 0, 1]),
        (AluOperation.DIV, 2, [0, 0, 1]),
        (AluOperation.DIV, 0, [-1, -1, -1]),
        (AluOperation.MOD, 2, [0, 1, 0]),
        (AluOperation.MOD, 0, [0, 1, 2]),
        (AluOperation.SHIFT_LEFT, 33, [0, 2, 4]),
        (AluOperation.SHIFT_RIGHT, 1, [0, 0, 1]),
    ],
)
def test_integer_operations(operation: AluOperation, number: int, wanted: list[int]):
    made = Stream(StreamKind.ALU, operation, own(0), IMMEDIATE, immediate=number)
    assert appended([loop(made, 3)]) == wanted


def test_lengths_become_bounds_anew_in_each_run_of_the_loop_around():
    outermost = Layer(
        Mode.SINGLE,
        (Unit(upper_immediate=2, streams=(INDUCTION,)),),
        1,
        events={Event.END: (LAST,)},
    )
    elements = Stream(StreamKind.MEMORY, a=own(0), length=3)
    lengths = Layer(Mode.SINGLE, (Unit(upper_immediate=3, streams=(INDUCTION, elements)),), 1)
    unit = Unit(upper=parent(1), accumulates=True, ordered=True, streams=(INDUCTION,))
    word = EventStep(EventKind.WORD, layer=2)
    inner = Layer(Mode.SINGLE, (unit,), 1, events={Event.ITERATION: (word, VALUE)})
    layers = [outermost, lengths, inner]
    assert appended(layers, [2, 0, 1]) == [0, 1, 2, 0, 1, 2]
    with pytest.raises(InterpretationError, match="layer 2, unit 0: from 0 to -1: must not decr"):
        appended(layers, [2, -1, 3])


def test_a_loop_whose_bounds_may_decrease_has_no_iterations_then():
    assert appended([loop(Stream(StreamKind.FORWARD), -2)]) == []


def test_an_index_beyond_its_array():
    elements = Stream(StreamKind.MEMORY, a=own(0), length=6)
    with pytest.raises(InterpretationError, match="layer 0, stream 1: index 6: must be below 6"):
        appended([loop(elements, 7)])


def test_only_addresses_may_be_without_a_bound():
    streams = [
        Stream(kind, a=own(0), immediate=UNBOUNDED, length=UNBOUNDED)
        for kind in (StreamKind.ADDRESS, StreamKind.MEMORY)
    ]
    assert appended([loop(streams[0], 1)]) == [-1]
    with pytest.raises(InterpretationError, match=f"{UNBOUNDED}: must be below {UNBOUNDED}"):
        appended([loop(streams[1], 1)])


def test_a_store_of_lanes_beyond_their_array():
    address = Stream(StreamKind.ADDRESS, length=3)
    unit = Unit(upper_immediate=4, streams=(INDUCTION, address))
    store = EventStep(EventKind.STORE, layer=0, stream=0, address=1)
    layer = Layer(Mode.LOCKSTEP, (unit,), 1, events={Event.ITERATION: (store,)})
    with pytest.raises(InterpretationError, match="layer 0, stream 1: index 3: must be below 3"):
        appended([layer])


def test_queues_that_do_not_end_up_empty():
    layer = loop(Stream(StreamKind.FORWARD), 2)
    with pytest.raises(InterpretationError, match="2 words and 0 tokens behind the end: must be"):
        appended([layer], cases=APPEND.replace('"slc.pop"() : () -> i32', "arith.constant 1 : i32"))


@pytest.mark.parametrize(
    "events, message",
    [
        ({Event.END: (VALUE, LAST)}, "0 words in the data queue: must be at least 1"),
        ({Event.ITERATION: (WORD, VALUE)}, "no token in the control queue"),
    ],
)
def test_queues_that_are_empty(events: dict[Event, tuple[EventStep, ...]], message: str):
    unit = Unit(upper_immediate=2, streams=(INDUCTION, Stream(StreamKind.FORWARD)))
    with pytest.raises(InterpretationError, match=message):
        appended([Layer(Mode.SINGLE, (unit,), 1, events=events)])
