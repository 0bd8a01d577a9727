"""Toggles: which are refused, and when they happen, in SLC and DLC."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.tmu.interpreting.interpret import interpret
from gnarl.sw.compiler.tmu.pipeline import pipeline
from gnarl.sw.compiler.tmu.text import from_text

CONFIG = TmuConfig(lanes=4)
LOOP = """\
func.func @f(%x: memref<8xi32>) attributes {{names = "x"}} {{
  %zero = arith.constant 0 : i32
  %eight = arith.constant 8 : i32
  "slc.for"(%zero, %eight) <{{step = 1 : i64}}> ({{
  ^bb0(%i: !slc.stream<i32>):
    %s = "slc.mem_str"(%x, %i) : (memref<8xi32>, !slc.stream<i32>) -> !slc.stream<i32>
    {outer}
    "slc.for"(%zero, %eight) <{{step = 1 : i64{vector}}}> ({{
    ^bb0(%j: !slc.stream<{element}>):
      {inner}
    }}) : (i32, i32) -> ()
  }}) : (i32, i32) -> ()
  func.return
}}
"""


def toggle(stream: str = "%s", aligned: bool = False, argument: str = "%v: i32") -> str:
    flag = "<{aligned}>" if aligned else ""
    return f'"slc.toggle"({stream}) {flag} ({{ ^bb0({argument}): }}) : (!slc.stream<i32>) -> ()'


PUSH = '"slc.push"(%s) : (!slc.stream<i32>) -> ()'
WORD = "the body must have one argument, of i32"
ROW = "the body must have one argument, a vector of i32"
ONE_AT_ONCE = "must be in a slc.for that steps over one iteration at once"


@pytest.mark.parametrize(
    "outer, inner, is_vector, message",
    [
        (toggle(argument="%v: f32"), "", False, WORD),
        (toggle(argument="%v: vector<4xi32>"), "", False, WORD),
        (toggle(aligned=True), "", False, ROW),
        (toggle(aligned=True, argument="%v: vector<4xf32>"), "", False, ROW),
        (toggle(aligned=True, argument="%v: memref<4xi32>"), "", False, ROW),
        (toggle(aligned=True, argument="%v: vector<4xi32>, %w: i32"), "", False, ROW),
        ("", toggle(), True, ONE_AT_ONCE),
        ("", toggle(), False, "must be of a stream of the loop around it"),
        (PUSH + toggle(), "", False, "must come before slc.push in its loop"),
        (toggle() + toggle("%i"), "", False, "must come before slc.toggle in its loop"),
    ],
)
def test_what_is_refused(outer: str, inner: str, is_vector: bool, message: str):
    element = "vector<4xi32>" if is_vector else "i32"
    vector = ", vector = 4 : i64" if is_vector else ""
    text = LOOP.format(outer=outer, inner=inner, vector=vector, element=element)
    with pytest.raises(WorkloadError) as caught:
        from_text(text, "a.mlir")
    assert str(caught.value) == f"a.mlir: {message}"


SEGMENTS = 3
MOST = 12
TOGGLES = """\
func.func @f(%x: memref<{n}xi32>, %ends: memref<4xi32>, %log: memref<{size}xi32>)
    attributes {{names = "x,ends,log"}} {{
  %zero = arith.constant 0 : i32
  %three = arith.constant 3 : i32
  %one = arith.constant 1 : i32
  "slc.for"(%zero, %three) <{{step = 1 : i64}}> ({{
  ^bb0(%i: !slc.stream<i32>):
    %first = "slc.mem_str"(%ends, %i) : (memref<4xi32>, !slc.stream<i32>) -> !slc.stream<i32>
    %next = "slc.alu_str"(%i, %one) <{{operation = "add"}}>
        : (!slc.stream<i32>, i32) -> !slc.stream<i32>
    %last = "slc.mem_str"(%ends, %next) : (memref<4xi32>, !slc.stream<i32>) -> !slc.stream<i32>
    "slc.for"(%first, %last) <{{step = 1 : i64}}> ({{
    ^bb0(%p: !slc.stream<i32>):
      %s = "slc.mem_str"(%x, %p) : (memref<{n}xi32>, !slc.stream<i32>) -> !slc.stream<i32>
      "slc.toggle"(%s) {aligned} ({{
      ^bb0(%v: {type}):
        {value}
        %count = "slc.get"() <{{variable = "count"}}> : () -> i32
        %at = arith.index_cast %count : i32 to index
        memref.store %value, %log[%at] : memref<{size}xi32>
        %by = arith.constant 1 : i32
        %more = arith.addi %count, %by : i32
        "slc.set"(%more) <{{variable = "count"}}> : (i32) -> ()
      }}) : (!slc.stream<i32>) -> ()
      "slc.callback"(%p) ({{
      ^bb0(%place: i32):
        %count = "slc.get"() <{{variable = "count"}}> : () -> i32
        %at = arith.index_cast %count : i32 to index
        memref.store %place, %log[%at] : memref<{size}xi32>
        %by = arith.constant 1 : i32
        %more = arith.addi %count, %by : i32
        "slc.set"(%more) <{{variable = "count"}}> : (i32) -> ()
      }}) : (!slc.stream<i32>) -> ()
    }}) : (!slc.stream<i32>, !slc.stream<i32>) -> ()
  }}) : (i32, i32) -> ()
  func.return
}}
"""


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.integers(-1, 2), min_size=1, max_size=MOST),
    st.lists(st.integers(0, MOST), min_size=SEGMENTS - 1, max_size=SEGMENTS - 1).map(sorted),
    st.booleans(),
)
def test_a_toggle_comes_before_what_it_is_of(x: list[int], cuts: list[int], aligned: bool):
    """In the first iteration of each segment, and where the word is another one."""
    ends = [0, *(min(cut, len(x)) for cut in cuts), len(x)]
    wanted: list[int] = []
    for first, last in pairwise(ends):
        for place in range(first, last):
            if place == first or x[place] != x[place - 1]:
                wanted.append(x[place] if aligned else 2 * x[place])
            wanted.append(place)
    first_word = "%value = vector.extract %v[0] : i32 from vector<4xi32>"
    text = TOGGLES.format(
        n=len(x),
        size=2 * MOST,
        aligned="<{aligned}>" if aligned else "",
        type="vector<4xi32>" if aligned else "i32",
        value=first_word if aligned else "%value = arith.addi %v, %v : i32",
    )
    module = from_text(text, "a.mlir")
    for each in (module, pipeline(CONFIG, (), 4)["lower"](module)):
        log = np.zeros(2 * MOST, np.int32)
        arrays = {"x": np.array(x, np.int32), "ends": np.array(ends, np.int32), "log": log}
        interpret(each, arrays, CONFIG.lanes)
        assert log[: len(wanted)].tolist() == wanted
        assert not log[len(wanted) :].any()
