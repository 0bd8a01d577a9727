"""MLIR text that is no module of the compiler's levels."""

from __future__ import annotations

import pytest

from hw.lib.errors import WorkloadError
from sw.compiler.tmu.text import from_text


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


@pytest.mark.parametrize("string", ('"\\Infinity ', '"', '"a\n"', '"\\4'))
def test_strings_that_do_not_end(string: str):
    """With more text before and behind than a search that goes back could bear."""
    long = '"' + "s = x" * 20_000 + '"'
    text = f"builtin.module attributes {{a = {long}, // it's \"\n b = {string}" + "z \\0A" * 20_000
    with pytest.raises(WorkloadError, match=r"^a\.mlir:2:\d+: a string must end in its line"):
        from_text(text, "a.mlir")
