"""Streams that addresses need, and the layers that they are placed in."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.tmu.passes.lower import lower_access
from gnarl.sw.compiler.tmu.text import from_text, to_text
from gnarl.sw.workloads.loops.python.source import read_source
from tests.support.tmu.messages import Messages
from tests.support.tmu.programs import check

CONFIG = TmuConfig(lanes=4)


@pytest.mark.parametrize("opt", range(5))
@pytest.mark.parametrize("between", [False, True])
def test_two_words_of_an_outer_loop_are_one_address(opt: int, between: bool) -> None:
    """Their sum lies in a loop that has neither of them, where there is one between."""
    loops = ["for i in range(n):", "for j in range(m):", "for k in range(w):"]
    loops = loops if between else [loops[0], loops[2]]
    indented = "".join(f"{4 * depth * ' '}{loop}\n" for depth, loop in enumerate(loops, start=1))
    result = "out[i, j, k]" if between else "out[i, k]"
    nest = read_source(
        "n, m, w, a, b = sizes('n', 'm', 'w', 'a', 'b')\n\n\n@nest\n"
        "def f(row: int32[n], column: int32[n], x: float32[a, b, w], "
        f"out: float32[n, {'m, ' * between}w]):\n"
        f"{indented}{4 * (len(loops) + 1) * ' '}{result} = x[row[i], column[i], k]\n",
        "file.py",
    )
    values = {
        "row": np.array([4, 0, 3], np.int32),
        "column": np.array([1, 0, 2], np.int32),
        "x": np.arange(5 * 3 * 6, dtype=np.float32).reshape(5, 3, 6),
    }
    check(nest, values, CONFIG, opt, {"m": 2} if between else {})


def test_as_many_streams_as_there_are_suffice() -> None:
    module = Messages().after("prefetch_rows", CONFIG)
    with pytest.raises(CapacityError) as caught:
        lower_access(module, replace(CONFIG, streams=2))
    found = re.search(r": streams = 2: must be at least (\d+)$", str(caught.value))
    assert found, caught.value
    needed = int(found[1])
    for streams in range(2, needed):
        with pytest.raises(CapacityError, match=f"must be at least {needed}$"):
            lower_access(module, replace(CONFIG, streams=streams))
    lower_access(module, replace(CONFIG, streams=needed))


def queued(lower: int, upper: int, step: int, lanes: int) -> str:
    """What is queued of each row for a callback, word by word, or in vectors."""
    index, value = (
        ("i32", "f32") if lanes == 1 else (f"vector<{lanes}xi32>", f"vector<{lanes}xf32>")
    )
    vector = f", vector = {lanes} : i64" if lanes > 1 else ""
    return f"""
func.func @f(%x: memref<9x99xf32>) attributes {{names = "x"}} {{
  %zero = arith.constant 0 : i32
  %nine = arith.constant 9 : i32
  %lower = arith.constant {lower} : i32
  %upper = arith.constant {upper} : i32
  "slc.for"(%zero, %nine) <{{step = 1 : i64}}> ({{
  ^bb0(%i: !slc.stream<i32>):
    "slc.for"(%lower, %upper) <{{step = {step} : i64{vector}}}> ({{
    ^bb1(%j: !slc.stream<{index}>):
      %row = "slc.mem_str"(%x, %i, %j)
        : (memref<9x99xf32>, !slc.stream<i32>, !slc.stream<{index}>) -> !slc.stream<{value}>
      "slc.push"(%row) : (!slc.stream<{value}>) -> ()
    }}) : (i32, i32) -> ()
    "slc.callback"() ({{
      %first = arith.constant 0 : i32
      %last = arith.constant {len(range(lower, upper, step * lanes))} : i32
      %next = arith.constant 1 : i32
      scf.for %at = %first to %last step %next : i32 {{
        %some = "slc.pop"() : () -> {value}
        "slc.set"(%some) <{{variable = "some"}}> : ({value}) -> ()
      }}
    }}) : () -> ()
  }}) : (i32, i32) -> ()
  func.return
}}"""


@pytest.mark.parametrize(
    "loop, fits",
    [
        ((0, 32, 1, 1), True),
        ((0, 33, 1, 1), False),
        ((2, 66, 2, 1), True),
        ((1, 66, 2, 1), False),
        ((4, 36, 1, 4), True),
        ((4, 37, 1, 4), False),
    ],
)
def test_a_token_comes_behind_words_that_the_queue_holds(
    loop: tuple[int, int, int, int], fits: bool
) -> None:
    """Or else before their loop."""
    made = lower_access(from_text(queued(*loop), "file.mlir"), replace(CONFIG, data_words=32))
    place = "end" if fits else "iteration"
    assert f'{place} = [{{kind = "token", token = "case_0"}}]' in to_text(made)
