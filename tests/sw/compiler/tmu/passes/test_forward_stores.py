"""What a callback has just stored it does not load: whatever it does, memory is the same."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.tmu.interpreting.interpret import interpret
from gnarl.sw.compiler.tmu.passes.forward_stores import forward_stores
from gnarl.sw.compiler.tmu.text import from_text, to_text
from gnarl.sw.workloads.loops.operations.embedding_bag import (
    embedding_bag_mean,
    embedding_bag_weighted_mean,
)
from tests.support.tmu.programs import bags, check

COLUMNS = 16
ROWS = 32
ITERATIONS = 3
LANES = 4

GET = """
  {row} = "slc.get"() <{{variable = "row"}}> : () -> i32
"""
PLACE = """
  {row}_by = arith.constant {by} : i32
  {row}_sum = arith.addi {of}, {row}_by : i32
  {row}_at = arith.index_cast {row}_sum : i32 to index
  {row}_column = arith.constant {column} : index
"""
LOADS = {
    4: """
  {row}_x = vector.load %out[{row}_at, {row}_column] : memref<32x16xf32>, vector<4xf32>
""",
    1: """
  {row}_word = memref.load %out[{row}_at, {row}_column] : memref<32x16xf32>
  {row}_x = vector.broadcast {row}_word : f32 to vector<4xf32>
""",
}
LOAD = """
  {row}_seen = "slc.get"() <{{variable = "seen"}}> : () -> vector<4xf32>
  {row}_twice = arith.addf {row}_seen, {row}_seen : vector<4xf32>
  {row}_new = arith.addf {row}_twice, {row}_x : vector<4xf32>
  "slc.set"({row}_new) <{{variable = "seen"}}> : (vector<4xf32>) -> ()
"""
VALUE = """
  {row}_old = "slc.get"() <{{variable = "seen"}}> : () -> vector<4xf32>
  {row}_more = arith.constant dense<{number}.0> : vector<4xf32>
  {row}_value = arith.addf {row}_old, {row}_more : vector<4xf32>
"""
STORES = {
    4: """
  vector.store {row}_value, %out[{row}_at, {row}_column] : memref<32x16xf32>, vector<4xf32>
""",
    1: """
  {row}_element = vector.extract {row}_value[0] : f32 from vector<4xf32>
  memref.store {row}_element, %out[{row}_at, {row}_column] : memref<32x16xf32>
""",
}
MASK = """
  {row}_lanes = arith.constant {lanes} : index
  {row}_mask = vector.create_mask {row}_lanes : vector<4xi1>
"""
STORE_PART = """
  vector.maskedstore %out[{row}_at, {row}_column], {row}_mask, {row}_value
      : memref<32x16xf32>, vector<4xi1>, vector<4xf32>
"""
UPDATE_PART = """
  {row}_rest = arith.constant dense<0.0> : vector<4xf32>
  {row}_v = vector.maskedload %out[{row}_at, {row}_column], {row}_mask, {row}_rest
      : memref<32x16xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  {row}_value = arith.addf {row}_v, {row}_v : vector<4xf32>
"""
IF = """
  {row}_is = arith.cmpi sle, {row}, {row}_by : i32
  scf.if {row}_is {{ {inside} }}
"""
LOOP = """
  {row}_0 = arith.constant 0 : i32
  {row}_8 = arith.constant 8 : i32
  {row}_4 = arith.constant 4 : i32
  scf.for {row}_e = {row}_0 to {row}_8 step {row}_4 : i32 {{
    {row}_i = arith.index_cast {row}_e : i32 to index
    {row}_v = vector.load %out[{row}_at, {row}_i] : memref<32x16xf32>, vector<4xf32>
    {row}_w = arith.addf {row}_v, {row}_v : vector<4xf32>
    {row}_j = arith.addi {row}_e, {row}_4 : i32
    {row}_to = arith.index_cast {row}_j : i32 to index
    vector.store {row}_w, %out[{row}_at, {row}_to] : memref<32x16xf32>, vector<4xf32>
  }}
"""
STEP = """
  {row}_one = arith.constant 1 : i32
  {row}_next = arith.addi {row}, {row}_one : i32
  "slc.set"({row}_next) <{{variable = "row"}}> : (i32) -> ()
"""

Part = tuple[str, bool, int, int, int]
"""What is done, whether by the row of the callback's begin, how many rows on, in which column, with
how many words."""

MASKED = {"store 3": 3, "update 3": 3, "update 2": 2}
"""Lanes of a store, and of a load whose sum with itself is stored."""

PARTS = st.lists(
    st.tuples(
        st.sampled_from(("load", "store", "if load", "if store", "loop", "step", *MASKED)),
        st.booleans(),
        st.integers(0, 1),
        st.sampled_from((0, 0, 2)),
        st.sampled_from((1, 4, 4)),
    ),
    min_size=1,
    max_size=6,
)


def part_of(kind: str, names: dict[str, object]) -> str:
    """One of ``MASKED``."""
    value = VALUE if kind.startswith("store") else UPDATE_PART
    return (MASK + value + STORE_PART).format(lanes=MASKED[kind], **names)


def text(first: Sequence[Part], second: Sequence[Part]) -> str:
    """Two callbacks in each iteration, between which a word is queued."""
    number = 0

    def body(parts: Sequence[Part]) -> str:
        nonlocal number
        number += 1
        begin = f"%begin{number}"
        found = GET.format(row=begin)
        for kind, is_of_begin, by, column, width in parts:
            number += 1
            names = {"row": f"%r{number}", "by": by, "column": column, "number": number}
            load = (LOADS[width] + LOAD).format(**names)
            store = (VALUE + STORES[width]).format(**names)
            found += (GET + PLACE).format(of=begin if is_of_begin else names["row"], **names)
            found += {
                "load": load,
                "store": store,
                "if load": IF.format(inside=load, **names),
                "if store": IF.format(inside=store, **names),
                "loop": LOOP.format(**names),
                "step": STEP.format(**names),
                **{name: part_of(name, names) for name in MASKED},
            }[kind]
        return found

    return f"""
func.func @f(%n: memref<{ITERATIONS}xi32>, %out: memref<{ROWS}x{COLUMNS}xf32>)
    attributes {{names = "n,out"}} {{
  %zero = arith.constant 0 : i32
  %end = arith.constant {ITERATIONS} : i32
  "slc.for"(%zero, %end) <{{step = 1 : i64}}> ({{
  ^bb0(%b: !slc.stream<i32>):
    %s = "slc.mem_str"(%n, %b)
        : (memref<{ITERATIONS}xi32>, !slc.stream<i32>) -> !slc.stream<i32>
    "slc.callback"() ({{ {body(first)} }}) : () -> ()
    "slc.push"(%s) <{{aligned}}> : (!slc.stream<i32>) -> ()
    "slc.callback"() ({{
      %word = "slc.pop"() : () -> vector<4xi32>
      {body(second)}
    }}) : () -> ()
  }}) : (i32, i32) -> ()
  func.return
}}
"""


def memory_after(module) -> np.ndarray:
    out = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
    interpret(module, {"n": np.zeros(ITERATIONS, np.int32), "out": out}, LANES)
    return out


def part(kind: str, by: int = 0, *, is_of_begin: bool = False, column: int = 0) -> Part:
    return kind, is_of_begin, by, column, 4


@settings(max_examples=20, deadline=None)
@given(PARTS, PARTS)
def test_memory_is_the_same(first: list[Part], second: list[Part]):
    module = from_text(text(first, second), "a.mlir")
    made = forward_stores(module)
    made.verify()
    np.testing.assert_array_equal(memory_after(made), memory_after(module))


@pytest.mark.parametrize(
    "first, second",
    [
        # A store in between to other words of it, to the same words by another row, if a condition
        # holds; what is stored again is loaded in between, or if a condition holds.
        ([part("store")], [part("store", column=2), part("load")]),
        ([part("store", 1), part("step")], [part("store"), part("load")]),
        (
            [],
            [
                part("store", 1, is_of_begin=True),
                part("step"),
                part("store"),
                part("load", 1, is_of_begin=True),
                part("load"),
            ],
        ),
        ([part("store")], [part("load"), part("if store"), part("load")]),
        ([part("store")], [part("load"), part("if load"), part("store")]),
        (
            [part("store"), part("store", 1)],
            [part("load"), part("store", column=2), part("load", 1), part("load"), part("store")],
        ),
    ],
)
def test_what_must_be_stored_and_loaded(first: list[Part], second: list[Part]):
    module = from_text(text(first, second), "a.mlir")
    np.testing.assert_array_equal(memory_after(forward_stores(module)), memory_after(module))


def test_callbacks_stay_apart_where_no_load_takes_anything():
    """What the second one loads lies in another row, or a step further."""
    store, load, step = (part(kind) for kind in ("store", "load", "step"))
    for parts in ([part("load", by=1)], [step, load]):
        module = from_text(text([store], parts), "a.mlir")
        assert to_text(forward_stores(module)) == to_text(module)
    module = from_text(text([store], [load]), "a.mlir")
    assert to_text(forward_stores(module)).count("slc.callback") == 1


def test_parts_of_vectors_are_taken():
    """Where no other lane matters; not by a part of fewer lanes, nor by a whole vector."""
    for first, second, loads in (
        ("store 3", "update 3", 0),
        ("store 3", "update 2", 1),
        ("store", "update 3", 1),
        ("store 3", "load", 1),
    ):
        module = from_text(text([part(first)], [part(second)]), "a.mlir")
        found = to_text(forward_stores(module))
        assert len(re.findall(r"vector\.(?:masked)?load", found)) == loads
    updated = from_text(text([part("store 3")], [part("update 3")]), "a.mlir")
    assert to_text(forward_stores(updated)).count("vector.maskedstore") == 1


def test_a_mean_stores_its_sums_once_and_loads_nothing():
    """Instructions: start and end; a vector's sum, and one a look-up; of a bag three a vector, and
    what finds the divisor and the place."""
    lengths, lanes = [3, 0, 5, 1], 4
    for nest, weights in ((embedding_bag_mean, 0), (embedding_bag_weighted_mean, 1)):
        for dim in (8, 96):
            values = bags(np.random.default_rng(dim), lengths, dim)
            run = check(nest, values, TmuConfig(lanes=lanes), 4)
            vectors = dim // lanes
            look_up = vectors + 1 + weights
            bag = 3 * vectors + 8
            total = 2 + vectors + sum(lengths) * look_up + len(lengths) * bag
            assert run.counters["instructions"] == total
            assert run.counters["tokens_queued"] == sum(lengths) + len(lengths) + 1
