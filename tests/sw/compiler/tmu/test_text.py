"""MLIR text that is no module of the compiler's levels."""

from __future__ import annotations

import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.tmu.text import from_text


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "builtin.module {\n  %0 = arith.constant 1 : none_such\n}\n",
            "a.mlir:2:27: type expected",
        ),
        (
            'builtin.module {\n  "slc.get"() : () -> i32\n}\n',
            "a.mlir: property 'variable' expected in operation 'slc.get'",
        ),
        (
            "builtin.module {\n  %0 = arith.addi %1, %1 : i32\n  %1 = arith.constant 1 : i32\n}\n",
            "a.mlir: arith.addi: operand 0 is defined behind its use",
        ),
    ],
)
def test_text_that_is_no_module(text: str, message: str):
    with pytest.raises(WorkloadError) as caught:
        from_text(text, "a.mlir")
    assert str(caught.value) == message


LOOP = """\
func.func @f(%x: memref<8xf32>, %z: memref<8xf32>) {{
  %c0 = arith.constant 0 : {type}
  %c8 = arith.constant 8 : {type}
  {step}
  scf.for %i = %c0 to %c8 step %s : {type} {{
    scf.yield
  }}
  func.return
}}
"""
NOT_ABOVE_0 = {
    "negative": ("index", "%s = arith.constant -1 : index", "a step of -1"),
    "zero": ("index", "%s = arith.constant 0 : index", "a step of 0"),
    "zero of i32": ("i32", "%s = arith.constant 0 : i32", "a step of 0"),
    "the least": ("i32", "%s = arith.constant -2147483648 : i32", "a step of -2147483648"),
    "wrapped around": ("i32", "%s = arith.constant 4294967295 : i32", "a step of -1"),
    "computed": ("i32", "%s = arith.subi %c0, %c8 : i32", "a step of -8"),
    "unknown": ("index", "%s = arith.subi %c0, %c8 : index", "its step is no constant"),
}


@pytest.mark.parametrize("name", NOT_ABOVE_0)
def test_steps_that_are_not_above_0(name: str):
    type, step, wrong = NOT_ABOVE_0[name]
    needed = "must be one above 0" if name == "unknown" else "must be above 0"
    with pytest.raises(WorkloadError) as caught:
        from_text(LOOP.format(type=type, step=step), "a.mlir")
    assert str(caught.value) == f"a.mlir:5:3: scf.for: {wrong}: {needed}"


@pytest.mark.parametrize("type", ("i32", "index"))
def test_a_step_above_0(type: str):
    from_text(LOOP.format(type=type, step=f"%s = arith.constant 1 : {type}"))


def test_values_that_iterations_hand_on():
    text = """\
%c0 = arith.constant 0 : i32
%c8 = arith.constant 8 : i32
%s = scf.for %i = %c0 to %c8 step %c8 iter_args(%sum = %c0) -> (i32) : i32 {
  %more = arith.addi %sum, %i : i32
  scf.yield %more : i32
}
"""
    with pytest.raises(WorkloadError) as caught:
        from_text(text, "a.mlir")
    assert str(caught.value) == "a.mlir:3:1: scf.for: its iterations hand on values: must be none"


@pytest.mark.parametrize("step, vector", ((0, 8), (-2, 8), (1, 0)))
def test_steps_of_streams_that_are_not_above_0(step: int, vector: int):
    text = (
        "%c0 = arith.constant 0 : i32\n"
        f'"slc.for"(%c0, %c0) <{{step = {step} : i64, vector = {vector} : i64}}> ({{\n'
        f"^bb0(%i: !slc.stream<vector<8xi32>>):\n}}) : (i32, i32) -> ()\n"
    )
    with pytest.raises(WorkloadError) as caught:
        from_text(text, "a.mlir")
    assert str(caught.value) == (
        f"a.mlir:2:1: slc.for: a step of {min(step, vector)}: must be above 0"
    )


@pytest.mark.parametrize("stride", (0, -1))
def test_strides_that_are_not_above_0(stride: int):
    unit = f"{{stride = #builtin.int<{stride}>}}"
    text = (
        '"dlc.access"() ({\n'
        '  "dlc.layer"() <{mode = "single", slots = #builtin.int<1>, toggle = #builtin.int<0>, '
        f"units = [{unit}], events = {{}}}}> : () -> ()\n}}) : () -> ()\n"
    )
    with pytest.raises(WorkloadError) as caught:
        from_text(text, "a.mlir")
    assert str(caught.value) == f"a.mlir:2:3: dlc.layer: a step of {stride}: must be above 0"


@pytest.mark.parametrize("string", ('"\\Infinity ', '"', '"a\n"', '"\\4'))
def test_strings_that_do_not_end(string: str):
    """With more text before and behind than a search that goes back could bear."""
    long = '"' + "s = x" * 20_000 + '"'
    text = f"builtin.module attributes {{a = {long}, // it's \"\n b = {string}" + "z \\0A" * 20_000
    with pytest.raises(WorkloadError, match=r"^a\.mlir:2:\d+: a string must end in its line"):
        from_text(text, "a.mlir")
