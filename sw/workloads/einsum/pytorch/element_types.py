"""Types of elements in PyTorch: what is computed in some of them is other than what real numbers
give, which all elements are here."""

from __future__ import annotations

import math
from typing import Any

from gnarl.sw.workloads.einsum.pytorch.elementwise import ELEMENTWISE
from gnarl.sw.workloads.einsum.pytorch.products import PRODUCTS
from gnarl.sw.workloads.einsum.pytorch.statements import Step
from gnarl.sw.workloads.einsum.rearrangement import COMPARISONS
from gnarl.sw.workloads.pytorch.export import require_torch

COMPARED = tuple(f"aten.{name}.Scalar" for name in COMPARISONS)
"""Operators that compare with a number."""

_FILLING = ("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")

_CHOOSING = ("aten.maximum.default", "aten.minimum.default", "aten.relu.default")
"""Operators that give one of the numbers that they take, or 0."""

_COMPUTING = frozenset(
    (
        *ELEMENTWISE,
        *PRODUCTS,
        *(f"aten.{name}" for name in ("index_add.default", "scatter_add.default")),
        "aten.scatter_reduce.two",
    )
).difference(_CHOOSING)
"""Operators that may give what a type of few bits has not; sums are of 64."""

_CONJUNCTION = "aten.mul.Tensor"
"""What gives truth values of truth values, as it does 0 and 1 of such numbers."""

_EXACT, _EXACT_AS_FLOAT = 2**53, 2**24
"""Below these all whole numbers are elements, and are in float32."""


def require_numbers(step: Step, node: Any) -> None:
    """Refuses what PyTorch computes in truth values or in whole numbers of few bits, which wrap
    around, and numbers that it rounds to whole ones."""
    name, dtype = step.operator, getattr(node.meta["val"], "dtype", None)
    if dtype is None or dtype.is_floating_point or dtype.is_complex:
        return
    is_truth = str(dtype) == "torch.bool"
    if is_truth and name in _COMPUTING and name != _CONJUNCTION:
        step.refuse("of truth values: must be of numbers: convert them by .float()")
    if not is_truth and dtype.itemsize < 4 and name in _COMPUTING:
        step.refuse(f"in {dtype}, which wraps around: must be of numbers: convert them by .float()")
    if name in COMPARED:
        return
    numbers = [each for each in (*node.args, *node.kwargs.values()) if isinstance(each, float)]
    if name in _FILLING:
        value = node.args[2]
        numbers = [value] if isinstance(value, int | float) else []
        if not numbers and value.meta["val"].dtype != dtype:
            step.refuse(f"{value.meta['val'].dtype} in place of {dtype}: must be of one type")
    for number in numbers:
        if not math.isfinite(number) or number != (bool if is_truth else int)(number):
            step.refuse(f"{number} in {dtype}: must be one of its numbers")


def as_compared(step: Step, node: Any, number: float) -> float:
    """The number that elements are compared with: PyTorch rounds it to their type, or, if that is
    of whole numbers and it is not, both to float32."""
    torch = require_torch()
    dtype = node.args[0].meta["val"].dtype
    is_whole = not dtype.is_floating_point
    if is_whole and isinstance(number, int):
        least, most = _whole_numbers(dtype)
        if not least <= number <= most:
            step.refuse(f"{number}, of {dtype}: must be from {least} to {most}")
        return float(number)
    rounded = float(torch.tensor(number, dtype=torch.float32 if is_whole else dtype))
    if is_whole and abs(rounded) >= _EXACT_AS_FLOAT:
        step.refuse(f"{number}, of {dtype}: must be a whole number, or below {_EXACT_AS_FLOAT}")
    if not math.isfinite(rounded):
        step.refuse(f"{number}, of {dtype}: must be one of its numbers")
    return rounded


def _whole_numbers(dtype: Any) -> tuple[int, int]:
    """The least and the greatest whole number that one of a type is compared with as it is."""
    if str(dtype) == "torch.bool":  # as whole numbers of 64 bits
        return 1 - _EXACT, _EXACT - 1
    info = require_torch().iinfo(dtype)
    return max(info.min, 1 - _EXACT), min(info.max, _EXACT - 1)
