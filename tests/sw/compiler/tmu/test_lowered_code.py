"""Programs of modules that are already lowered: what they store is computed here by hand."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.encoding.execute_isa import Instruction, Opcode
from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.nests.coupled.pipeline import couple
from gnarl.sw.compiler.tmu.text import from_text
from gnarl.sw.execute.values import execute

CONFIG = TmuConfig(lanes=4)
WORDS = 16
FUNCTION = f"""\
func.func @f(%x: memref<{WORDS}xi32>, %out: memref<{WORDS}xi32>) attributes {{names = "x,out"}} {{
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
"""


def code_of(body: str) -> list[Instruction]:
    module = from_text(f"{FUNCTION}{body}  func.return\n}}\n", "a.mlir")
    _, _, code = couple(module, CONFIG, (), {"x": 0, "out": WORDS}, "lower")
    return code


def stored(body: str, given: Sequence[int] | np.ndarray = ()) -> list[int]:
    """Words of ``out``, 0 before, after a run with these in ``x``."""
    code = code_of(body)
    memory = np.zeros(2 * WORDS, np.uint32)
    memory[: len(given)] = np.asarray(given).astype(np.int32).view(np.uint32)
    words = np.array([each.words() for each in code], np.uint32)
    execute.run(words, memory, CONFIG.lanes, limit=10_000)
    return memory[WORDS:].view(np.int32).tolist()


def load(place: int, type: str = "i32", array: str = "x") -> str:
    fields = f'array = "{array}", offset = {place} : i64, operandSegmentSizes = array<i32: 0, 0>'
    return f'"flat.load"() <{{{fields}}}> : () -> {type}\n'


def store(value: str, place: int) -> str:
    fields = f'array = "out", offset = {place} : i64, operandSegmentSizes = array<i32: 0, 0, 1>'
    return f'"flat.store"({value}) <{{{fields}}}> : (i32) -> ()\n'


Order = Callable[[Any, Any], bool]

ORDERS: dict[str, Order] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "slt": operator.lt,
    "sle": operator.le,
    "sgt": operator.gt,
    "sge": operator.ge,
}
FLOAT_ORDERS: dict[str, Order] = {
    "oeq": operator.eq,
    "une": operator.ne,
    "olt": operator.lt,
    "ole": operator.le,
    "ogt": operator.gt,
    "oge": operator.ge,
}

INTEGERS = [(3, 3), (-5, 3), (4, -2), (-(1 << 31), (1 << 31) - 1)]
FLOATS = [(0.5, 0.5), (-1.5, 0.25), (2.0, -3.0), (0.0, -0.0), (np.nan, 1.0), (np.nan, np.nan)]


def compared(operation: str, type: str, order: str, count: int) -> str:
    """Stores, of each two words, whether they are in the order: by a branch, and as a number."""
    made = ""
    for pair in range(count):
        words = f"%a{pair}, %b{pair}"
        made += f"%a{pair} = {load(2 * pair, type)}%b{pair} = {load(2 * pair + 1, type)}"
        made += f"%is{pair} = arith.{operation} {order}, {words} : {type}\n"
        made += f"scf.if %is{pair} {{ {store('%one', 2 * pair)} }}\n"
        made += f"%number{pair} = arith.extui %is{pair} : i1 to i32\n"
        made += store(f"%number{pair}", 2 * pair + 1)
    return made


def check_order(text: str, pairs: Sequence[tuple[float, float]], given: np.ndarray, is_so: Order):
    wanted = [int(is_so(*pair)) for pair in pairs for _ in range(2)]
    assert stored(text, given)[: len(wanted)] == wanted


@pytest.mark.parametrize("order", ORDERS)
def test_orders_of_integers(order: str):
    text = compared("cmpi", "i32", order, len(INTEGERS))
    check_order(text, INTEGERS, np.int32(INTEGERS).ravel(), ORDERS[order])


@pytest.mark.parametrize("order", FLOAT_ORDERS)
def test_orders_of_floats(order: str):
    text = compared("cmpf", "f32", order, len(FLOATS))
    given = np.float32(FLOATS).ravel().view(np.int32)
    check_order(text, FLOATS, given, FLOAT_ORDERS[order])


@pytest.mark.parametrize("lower, upper", [(-3, 2), (-5, -2), (0, 3), (2, -3), (1, 1)])
@pytest.mark.parametrize("depth", [1, 3])
def test_bounds_of_loops_are_signed(lower: int, upper: int, depth: int):
    """Loops that count in hardware have signed bounds, as have those around them."""
    fields = 'array = "out", offset = 8 : i64, operandSegmentSizes = array<i32: 1, 0, 1>'
    body = f'"flat.store"(%i, %one) <{{{fields}}}> : (i32, i32) -> ()\n'
    for number in range(1, depth):
        body = f"scf.for %j{number} = %one to %two step %one : i32 {{\n{body}}}\n"
    bounds = f"%lower = arith.constant {lower} : i32\n%upper = arith.constant {upper} : i32\n"
    found = stored(f"{bounds}scf.for %i = %lower to %upper step %one : i32 {{\n{body}}}\n")
    assert found == [int(place - 8 in range(lower, upper)) for place in range(WORDS)]


def turns(handed: str, given: str) -> str:
    """As many as the third word says; stores what the last one leaves, and what others had.

    ``handed``: from the condition to the body and behind the loop; ``given``: to the next turn.
    """
    values = "".join(f"%start{place} = {load(place)}" for place in range(3))
    return f"""\
{values}
%last0, %last1, %last2 = "scf.while"(%start0, %start1, %start2) ({{
^bb0(%a: i32, %b: i32, %n: i32):
  %goes_on = arith.cmpi sgt, %n, %zero : i32
  %sum = arith.addi %a, %b : i32
  "scf.condition"(%goes_on, {handed}) : (i1, i32, i32, i32) -> ()
}}, {{
^bb1(%a: i32, %b: i32, %n: i32):
  %left = arith.subi %n, %one : i32
  %sum = arith.addi %a, %b : i32
  "scf.yield"({given}, %left) : (i32, i32, i32) -> ()
}}) : (i32, i32, i32) -> (i32, i32, i32)
{store("%last0", 0)}{store("%last1", 1)}{store("%last2", 2)}"""


@pytest.mark.parametrize("count", range(4))
@pytest.mark.parametrize("handed", ["%a, %b", "%b, %a", "%sum, %a"])
@pytest.mark.parametrize("given", ["%a, %b", "%b, %a", "%b, %sum"])
def test_values_change_places_all_at_once(handed: str, given: str, count: int):
    def chosen(names: str, a: int, b: int) -> tuple[int, int]:
        values = {"%a": a, "%b": b, "%sum": a + b}
        one, other = (values[each] for each in names.split(", "))
        return one, other

    a, b = chosen(handed, 5, 7)
    for _ in range(count):
        a, b = chosen(handed, *chosen(given, a, b))
    assert stored(turns(f"{handed}, %n", given), [5, 7, count])[:3] == [a, b, 0]


def test_reductions_that_the_unit_lacks():
    value = "%value = arith.constant dense<1.0> : vector<4xf32>\n"
    vector = f"{value}%all = vector.reduction <minimumf>, %value : vector<4xf32> into f32\n"
    with pytest.raises(WorkloadError) as caught:
        stored(vector)
    assert str(caught.value) == (
        ": vector.reduction other than add: not supported by the execute unit"
    )


@pytest.mark.parametrize("place", range(3))
def test_loads_overtake_stores_to_other_words(place: int):
    """A store that waits for a product."""
    text = f"%a = {load(3)}%product = arith.muli %a, %a : i32\n{store('%product', 1)}"
    text += f"%other = {load(place, array='out')}{store('%other', 4)}"
    is_behind = place == 1
    opcodes = [each.opcode for each in code_of(text)]
    assert (Opcode.LOAD in opcodes[opcodes.index(Opcode.STORE) :]) == is_behind
    assert stored(text, [0, 0, 0, 5])[:5] == [0, 25, 0, 0, 25 * is_behind]
