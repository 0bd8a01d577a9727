"""What a result may lose where it leaves its format."""

from __future__ import annotations

LOSSES = ("underflow", "overflow", "nan")
"""Kinds, of sums, differences and products; a bit each in ``gnarl.hw.lib.arithmetic.LossLayout``.

underflow
    0, and the exact result is not. A result that is subnormal is none.
overflow
    infinite, of finite operands; in fixed point, wrapped.
nan
    NaN, and no operand is.
"""
