"""Functions of one number, as the ALUs of sparse dataflow graphs have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from amaranth.hdl import Module, Mux, Value
from amaranth.lib import enum
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.cut_points import CutPoints
from gnarl.hw.lib.float.parts import decode
from gnarl.hw.lib.formats import FloatFormat, NumberFormat
from gnarl.hw.lib.functions.exponential import (
    EXP_DEPTHS,
    SIGMOID_DEPTHS,
    compute_exp,
    compute_sigmoid,
)
from gnarl.hw.lib.functions.gelu import GELU_DEPTHS, compute_gelu
from gnarl.hw.lib.functions.logarithm import LOG_DEPTHS, compute_log
from gnarl.hw.lib.functions.numerics import check_format
from gnarl.hw.lib.functions.roots import (
    RECIPROCAL_DEPTHS,
    SQRT_DEPTHS,
    compute_reciprocal,
    compute_sqrt,
)
from gnarl.hw.lib.functions.tanh import TANH_DEPTHS, compute_tanh
from gnarl.hw.lib.instanced import EnableInserter
from gnarl.hw.lib.pipelined import Pipelined


class Function(enum.IntEnum, shape=3):  # type: ignore[call-arg]
    """A function of one number."""

    RELU = 0
    EXP = 1
    RECIPROCAL = 2
    SQRT = 3
    GELU = 4
    SIGMOID = 5
    TANH = 6
    LOG = 7


ERROR_BOUND_ULP: dict[int, float] = {
    Function.RELU: 0.0,
    Function.EXP: 0.6,
    Function.RECIPROCAL: 0.5,
    Function.SQRT: 0.5,
    Function.GELU: 0.6,
    Function.SIGMOID: 0.6,
    Function.TANH: 0.6,
    Function.LOG: 0.6,
}
"""How far a result may be from the exact one, in units in the last place, for all numbers of all
formats.

The unit is the distance between the numbers of the format around the exact result, subnormal ones
included; above the greatest number they are thought to go on, and infinity stands for the first of
these. Half a unit is correct rounding, ties to even.
"""

_Compute = Callable[[Module, Any, int, Value], Value]


def _compute_relu(m: Module, format: NumberFormat, stages: int, bits: Value) -> Value:
    """x where it is above 0, else +0; NaN for NaN."""
    cut = CutPoints(m, stages, _RELU_DEPTHS)
    if isinstance(format, FloatFormat):
        x = decode(m, format, bits, "x")
        return cut(o=Mux(x.is_nan, format.canonical_nan, Mux(x.sign, 0, bits))).o
    return cut(o=Mux(bits[-1], 0, bits)).o


_RELU_DEPTHS = [4]

_DATAPATHS: dict[int, tuple[Sequence[int], _Compute]] = {
    Function.RELU: (_RELU_DEPTHS, _compute_relu),
    Function.EXP: (EXP_DEPTHS, compute_exp),
    Function.RECIPROCAL: (RECIPROCAL_DEPTHS, compute_reciprocal),
    Function.SQRT: (SQRT_DEPTHS, compute_sqrt),
    Function.GELU: (GELU_DEPTHS, compute_gelu),
    Function.SIGMOID: (SIGMOID_DEPTHS, compute_sigmoid),
    Function.TANH: (TANH_DEPTHS, compute_tanh),
    Function.LOG: (LOG_DEPTHS, compute_log),
}


class FunctionUnit(Pipelined):
    """``o`` = ``function`` of ``i``, within ``ERROR_BOUND_ULP``: one value a cycle, no reset.

    Subnormals are numbers like others. NaN, and SQRT and LOG of a number below zero, give the
    canonical NaN. RELU of -0 is +0. Infinities give the limits: EXP +0 and infinity, SIGMOID +0 and
    1, TANH -1 and 1, GELU -0 and infinity, RECIPROCAL a zero of the same sign. RECIPROCAL of a zero
    is the infinity of its sign; SQRT, TANH and GELU of a zero are that zero, LOG of either is minus
    infinity. LOG is the natural logarithm, +0 for 1. GELU is x * (1 + erf(x / sqrt(2))) / 2, not
    one of its approximations.

    Parameters: ``function``; ``format`` of operand and result; ``stages`` >= 0, pipeline registers
    inside, the last one at the output; None for one at every place that there is, for the highest
    clock. Raises ``ValueError`` for fixed point, of which only RELU exists, and for floats that
    don't have 3 to 8 bits of exponent and 1 to 23 of fraction.

    Members: ``i``, ``o``: bits; ``enable``: while 0, all registers keep what they hold. A result
    comes ``latency`` cycles with ``enable`` after its operand.
    """

    def __init__(self, format: NumberFormat, function: Function, stages: int | None = None) -> None:
        check_function(format, function)
        _, self._compute = _DATAPATHS[function]
        self._format = format
        members = {"i": In(format.width), "o": Out(format.width), "enable": In(1)}
        super().__init__(members, most_stages(function) if stages is None else stages)

    def elaborate(self, platform: Any) -> Any:
        m = Module()
        m.d.comb += self.o.eq(self._compute(m, self._format, self._stages, self.i))
        return EnableInserter(self.enable)(m)


def most_stages(function: Function) -> int:
    """Places for pipeline registers in a unit for this function, whatever its format."""
    depths, _ = _DATAPATHS[function]
    return len(depths)


def check_function(format: NumberFormat, function: Function) -> None:
    """``ValueError`` unless there is a unit for this function in this format."""
    if isinstance(format, FloatFormat):
        check_format(format)
    elif function != Function.RELU:
        raise ValueError(
            f"no {function.name} in {format}: fixed point has only RELU; take a float format"
        )
