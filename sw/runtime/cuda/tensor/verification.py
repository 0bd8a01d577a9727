"""What an expression's result must be: the golden model that all targets share.

Products and sums are in float32, as the golden model of statements does them, and are rounded to
the format at last. Kernels add in an order of their own: results must be within the bound of
``gnarl.sw.golden.tensor_bounds``, which leaves only the golden bits where any order gives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from gnarl.sw.compiler.cuda.tensor.kernel_expression import KernelExpression
from gnarl.sw.golden import tensor as golden_model
from gnarl.sw.golden.tensor_bounds import sum_interval
from gnarl.sw.program.program import Program
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.report.verify import Verification, compare, difference, entry_name
from gnarl.sw.workloads.embedding.model import TABLE_TYPES
from gnarl.sw.workloads.tensor.program_tensors import result_array
from gnarl.sw.workloads.tensor.shapes import check_shapes
from gnarl.sw.workloads.tensor.tensor import Tensor

_SUMS = "float32"


def golden(
    program: Program, expression: KernelExpression, operands: Mapping[str, Tensor]
) -> dict[str, Array]:
    """The result by name; operands have values of the expression's format."""
    coordinates, words = golden_model.evaluate(expression.statement, operands, _SUMS)
    sums = _rounded(expression, words.view(_SUMS))
    return _result(program, expression, operands, coordinates, sums)


def reference(
    program: Program, expression: KernelExpression, operands: Mapping[str, Tensor]
) -> dict[str, Array]:
    """The same in float64."""
    entries = golden_model.reference(expression.statement, operands)
    return _result(program, expression, operands, *entries)


def verify(
    program: Program,
    expression: KernelExpression,
    operands: Mapping[str, Tensor],
    outputs: Mapping[str, Array],
) -> Verification:
    """Compares a result, which has the golden model's entries, with it and with float64."""
    arguments = (program, expression, operands)
    wanted = golden(*arguments)
    verification = compare(program.outputs, outputs, wanted, reference(*arguments))
    if verification.bit_exact:
        return verification
    coordinates, *ends = sum_interval(expression.statement, operands)
    low, high = (_result(*arguments, coordinates, _rounded(expression, end)) for end in ends)
    (name,) = outputs
    got, right, least, most = (
        _elements(each[name]).astype(np.float64) for each in (outputs, wanted, low, high)
    )
    same = (got == right) | (np.isnan(got) & np.isnan(right))
    wrong = ~(same | (least <= got) & (got <= most))
    if not wrong.any():
        return replace(verification, difference="")
    at = int(np.argmax(wrong))
    allowed = dict.fromkeys([float(least[at]), float(most[at])])
    first = (
        f"{entry_name(name, _place(outputs[name], at))}: {float(got[at])!r}, "
        f"must be {' to '.join(map(repr, allowed))}"
    )
    text = difference(int(wrong.sum()), len(wrong), first)
    return replace(verification, difference=text)


def _place(array: Array, at: int) -> np.ndarray:
    """Coordinates of an element, by its number among those of ``_elements``."""
    if isinstance(array, np.ndarray):
        return np.array(np.unravel_index(at, array.shape))
    return array.coordinates[at]


def _rounded(expression: KernelExpression, sums: np.ndarray) -> np.ndarray:
    """Sums as results: rounded to float32, then to the format."""
    with np.errstate(over="ignore"):
        return sums.astype(_SUMS).astype(TABLE_TYPES[expression.format])


def _result(
    program: Program,
    expression: KernelExpression,
    operands: Mapping[str, Tensor],
    coordinates: np.ndarray,
    values: np.ndarray,
) -> dict[str, Array]:
    (spec,) = program.outputs
    shapes = {name: tensor.shape for name, tensor in operands.items()}
    sizes = check_shapes(expression.statement, shapes)
    return {spec.name: result_array(spec, sizes, coordinates, values)}


def _elements(array: Array) -> np.ndarray:
    return array.reshape(-1) if isinstance(array, np.ndarray) else array.values
