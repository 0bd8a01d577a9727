"""Sums in registers: memory is the same as before the pass, whatever the rows and dimensions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from gnarl.hw.tmu.access_isa import Event
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.tmu.interpreting.interpret import interpret
from gnarl.sw.compiler.tmu.meaning import Meaning
from gnarl.sw.compiler.tmu.passes.keep_sums import keep_sums
from gnarl.sw.compiler.tmu.sections import access_of
from gnarl.sw.compiler.tmu.step_passes import steps
from gnarl.sw.compiler.tmu.steps import Manner, first_step
from gnarl.sw.compiler.tmu.text import from_text, to_text
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.operations.embedding_bag import embedding_bag_mean, embedding_bag_sum
from gnarl.sw.workloads.loops.operations.spmm import spmm_coo
from gnarl.sw.workloads.loops.python.source import read_source
from tests.support.tmu.programs import Run, bags, check

CONFIG = TmuConfig(lanes=4)
ROWS = 5

HEAD = """\
n, k, rows, dim = sizes('n', 'k', 'rows', 'dim')


@nest
def f(
    x: float32[k, dim], at: int32[k], of: int32[n], ends: int32[n + 1],
    out: float32[rows, dim],{more}
):
"""
ENTRIES = "    for p in range(k):\n        for e in range(dim):\n            "
SEGMENTS = """\
    for i in range(n):
        for p in range(ends[i], ends[i + 1]):
            for e in range(dim):
                """
NESTS = {
    "entries": f"{ENTRIES}out[at[p], e] += x[p, e]\n",
    "entries of segments": f"{SEGMENTS}out[at[p], e] += x[p, e]\n",
    "segments' rows": f"{SEGMENTS}out[of[i], e] += x[p, e]\n",
    "segments": f"{SEGMENTS}out[i, e] += x[p, e]\n",
    "a store before": "    for p in range(k):\n        count[0] += x[p, 0]\n"
    "        for e in range(dim):\n            out[at[p], e] += x[p, e]\n",
    "a store of the row before": "    for p in range(k):\n        count[at[p]] += x[p, 0]\n"
    "        for e in range(dim):\n            out[at[p], e] += x[p, e]\n",
    "a store behind": "    for p in range(k):\n        for e in range(dim):\n"
    "            out[at[p], e] += x[p, e]\n        count[at[p]] += x[p, 0]\n",
    "the row before": f"{ENTRIES}out[at[p] - 1, e] += x[p, e]\n",
    "the row counts": f"{ENTRIES}out[at[p], e] += float32(at[p]) * x[p, e]\n",
    "by rows": f"{ENTRIES}out[at[p], e] += float32(p) * abs(x[at[p], e])\n",
    "the row is a sum": f"{ENTRIES}out[at[p] + at[p] - at[p], e] += x[p, e]\n",
    "maxima": f"{ENTRIES}out[at[p], e] = max(out[at[p], e], x[p, e])\n",
    "quotients": f"{SEGMENTS}out[i, e] += x[p, e]\n"
    "        for e in range(dim):\n            out[i, e] /= float32(ends[i + 1] + 1)\n",
}
TOGGLED = (
    "entries",
    "entries of segments",
    "segments' rows",
    "the row counts",
    "by rows",
    "a store before",
    "a store of the row before",
    "a store behind",
    "maxima",
)


def nest(name: str) -> Nest:
    body = NESTS[name]
    more = " count: float32[rows]," if "count" in body else ""
    return read_source(HEAD.format(more=more) + body, "file.py")


def values(rows: Sequence[int], dim: int, seed: int = 0) -> dict[str, np.ndarray]:
    """``rows`` of so many entries, from 1 on, in segments."""
    rng = np.random.default_rng(seed)
    return {
        "x": rng.standard_normal((len(rows), dim)).astype(np.float32),
        "at": np.array(rows, np.int32),
        "of": rng.integers(0, ROWS, ROWS).astype(np.int32),
        "ends": np.sort(rng.integers(0, len(rows) + 1, ROWS + 1)).astype(np.int32),
    }


def made(name: str, given: dict[str, np.ndarray]) -> dict[str, ModuleOp]:
    """Modules of level 4 by their passes."""
    meaning = Meaning(nest(name), bind(nest(name), given, {"rows": ROWS}).sizes)
    first = first_step("f", meaning, list(given), Manner(4))
    return {step.name: step.module for step in steps(first, CONFIG)}


def memory_after(module: ModuleOp, given: dict[str, np.ndarray]) -> bytes:
    """Memory of the results, which begin as zeros."""
    arrays = {name: array.copy() for name, array in given.items()}
    arrays["out"] = np.zeros((ROWS, given["x"].shape[-1]), np.float32)
    arrays["count"] = np.zeros(ROWS, np.float32)
    interpret(module, arrays, CONFIG.lanes)
    return arrays["out"].tobytes() + arrays["count"].tobytes()


ORDERS = st.lists(st.integers(1, ROWS - 1), min_size=5, max_size=9)


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from(sorted(NESTS)),
    ORDERS | ORDERS.map(sorted),
    st.sampled_from((1, 3, 4, 5, 8, 11)),
    st.integers(0, 99),
)
def test_memory_is_the_same(name: str, rows: list[int], dim: int, seed: int):
    given = values(rows, dim, seed)
    modules = made(name, given)
    wanted = memory_after(modules["align_queues"], given)
    for each in ("keep_sums", "fetch_rows", "forward_stores", "lower"):
        modules[each].verify()
        assert memory_after(modules[each], given) == wanted, each


@pytest.mark.parametrize(
    "rows, dim", [([], 8), ([0], 1), ([3, 3, 0, 3, 1, 1], 8), ([4, 3, 2, 1, 0], 11)], ids=str
)
def test_programs_of_rows_that_come_again(rows: list[int], dim: int):
    given = values(rows, dim)
    more = {
        "row": given["at"],
        "column": np.array(rows, np.int32),
        "values": np.arange(1, len(rows) + 1, dtype=np.float32),
        "dense": values(range(ROWS), dim, 1)["x"],
    }
    run = check(spmm_coo, more, CONFIG, 4, {"rows": ROWS})
    assert Event.TOGGLE in access_of(run.program.launches[0]).layers[0].events


@pytest.mark.parametrize("dim", (4, 6))
def test_rows_that_are_computed(dim: int):
    given = values([1, 2, 2, 4, 1], dim)
    check(nest("the row before"), given, CONFIG, 4, {"rows": ROWS})


@pytest.mark.parametrize("name", NESTS)
def test_what_toggles(name: str):
    text = to_text(made(name, values([1, 2, 2, 4, 1], 6))["keep_sums"])
    assert ("slc.toggle" in text) == (name in TOGGLED)
    assert 'variable = "out_1"' in text


def entries(dim: int) -> Run:
    """Three rows, of nine entries."""
    given = values([1, 1, 1, 1, 3, 3, 3, 2, 2], dim)
    return check(nest("entries"), given, CONFIG, 4, {"rows": ROWS})


def test_entries_of_a_row_take_an_instruction_a_vector():
    """A jump beside. A row has its number, two places, a copy, a fetch and a jump beside stores and
    loads; with a part of a vector, which may lie in two lines, another fetch. Its mask is made
    once."""
    vectors = 2
    for dim, parts in ((8, 0), (6, 1)):
        run = entries(dim)
        row = 2 * vectors + 6 + parts
        end = vectors + 2 + parts
        assert run.counters["instructions"] == 10 * (vectors + 1) + 3 * row + end
        assert run.counters["words_queued"] == (9 * vectors + 3) * CONFIG.lanes


def test_parts_of_vectors_stay_in_registers():
    """As many instructions as whole ones, a mask of each case that stores, and no word more."""
    for nest_ in (embedding_bag_sum, embedding_bag_mean):
        whole, part = (
            check(nest_, bags(np.random.default_rng(0), [3, 0, 2], dim), CONFIG, 4).counters
            for dim in (8, 7)
        )
        assert part["words_queued"] == whole["words_queued"]
        assert part["instructions"] <= whole["instructions"] + 2 * 3 + 3


MASKED = """
func.func @f(%x: memref<3x6xf32>, %out: memref<5x6xf32>) attributes {{names = "x,out"}} {{
  %zero = arith.constant 0 : i32
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  %four = arith.constant 4 : i32
  "slc.for"(%zero, %two) <{{step = 1 : i64}}> ({{
  ^bb0(%i: !slc.stream<i32>):
    "slc.for"(%zero, %three) <{{step = 1 : i64}}> ({{
    ^bb0(%p: !slc.stream<i32>):
      "slc.callback"() ({{
        %row = "slc.get"() <{{variable = "row"}}> : () -> i32
        %r = arith.index_cast %row : i32 to index
        %part = arith.constant {loaded} : index
        %mask = vector.create_mask %part : vector<4xi1>
        %other = arith.constant {stored} : index
        %mask2 = vector.create_mask %other : vector<4xi1>
        %rest = arith.constant dense<0.0> : vector<4xf32>
        %one = arith.constant dense<1.0> : vector<4xf32>
        scf.for %e = %zero to %two step %four : i32 {{
          %c = arith.index_cast %e : i32 to index
          %old = vector.maskedload %out[%r, %c], %mask, %rest
              : memref<5x6xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
          %new = arith.addf %old, %one : vector<4xf32>
          {more}
          vector.maskedstore %out[%r, %c], %mask2, %new
              : memref<5x6xf32>, vector<4xi1>, vector<4xf32>
        }}
        {second}
      }}) : () -> ()
    }}) : (i32, i32) -> ()
    "slc.callback"() ({{
      %row = "slc.get"() <{{variable = "row"}}> : () -> i32
      %step = arith.constant 1 : i32
      %next = arith.addi %row, %step : i32
      "slc.set"(%next) <{{variable = "row"}}> : (i32) -> ()
    }}) : () -> ()
  }}) : (i32, i32) -> ()
  func.return
}}
"""
SECOND = """
        %from = arith.constant {start} : i32
        %to = arith.constant {end} : i32
        scf.for %e = %from to %to step %four : i32 {{
          %c = arith.index_cast %e : i32 to index
          %old = vector.maskedload %out[%r, %c], %mask, %rest
              : memref<5x6xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
          %new = arith.addf %old, %one : vector<4xf32>
          vector.maskedstore %out[%r, %c], %mask, %new
              : memref<5x6xf32>, vector<4xi1>, vector<4xf32>
        }}
"""
LEAVES = """
          "slc.set"(%old) <{variable = "seen"}> : (vector<4xf32>) -> ()
"""


@pytest.mark.parametrize(
    "loaded, stored, more, second, keeps",
    [
        (2, 2, "", "", True),
        (2, 2, "", SECOND.format(start=2, end=3), True),
        (2, 3, "", "", False),  # other lanes are stored
        (2, 2, LEAVES, "", False),  # other lanes are seen
        (2, 2, "", SECOND.format(start=1, end=2), False),  # a word of two vectors
    ],
)
def test_masks_that_are_kept(loaded: int, stored: int, more: str, second: str, keeps: bool):
    text = MASKED.format(loaded=loaded, stored=stored, more=more, second=second)
    module = from_text(text, "a.mlir")
    found = keep_sums(module, ["out"])
    assert ('variable = "out_0"' in to_text(found)) == keeps
    arrays = {"x": np.zeros((3, 6), np.float32)}
    assert memory_after(found, arrays) == memory_after(module, arrays)
