"""A processing element of the trees."""

from __future__ import annotations

from hw.lib.arithmetic import ArithmeticUnit
from hw.lib.instanced import Instanced


class Pe(ArithmeticUnit, Instanced):
    """An ``ArithmeticUnit`` for a ``PeOp`` a cycle. Source: DPU-v2, section III.A."""
