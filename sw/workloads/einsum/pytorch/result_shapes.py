"""Results in the shapes that PyTorch gives them, with their dimensions of size 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gnarl.hw.sam.block_types import DENSE
from gnarl.sw.workloads.einsum.check import check
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.einsum.pytorch.model import Model
from gnarl.sw.workloads.einsum.pytorch.names import Names, index_names
from gnarl.sw.workloads.einsum.rearrangement import Rearrangement, Reshape
from gnarl.sw.workloads.tensor.expression import Access
from gnarl.sw.workloads.tensor.storage import TensorFormat


def with_result_shapes(model: Model) -> Model:
    """The model, whose program reshapes results that have dimensions of size 1 in PyTorch alone.

    What they are made of keeps its name; they have users' names, as far as these can be names.
    """
    program = model.program
    shapes, names, results = dict(model.shapes), dict(model.names), dict(model.result_shapes)
    for name, shape in model.result_shapes.items():
        if shapes[name] != shape:
            user = names.pop(name)
            given = Names()
            for each in (*program.inputs, *(each.name for each in program.statements)):
                given.claim(each)
            result = given.claim(user)
            program = _with_reshape(program, name, result, shapes[name], shape)
            shapes[result], names[result], results[result] = shape, user, results.pop(name)
    ordered = {name: results[name] for name in program.results}
    return replace(model, program=check(program), shapes=shapes, names=names, result_shapes=ordered)


def _with_reshape(
    program: EinsumProgram, name: str, result: str, before: Sequence[int], after: Sequence[int]
) -> EinsumProgram:
    """The program with a result in place of one of another shape."""
    taken = {*program.inputs, *(each.name for each in program.statements), result}
    indices = index_names(taken)
    modes = [next(indices) for _ in before]
    long = iter([index for index, size in zip(modes, before, strict=True) if size != 1])
    there = [next(indices) if size == 1 else next(long) for size in after]
    how = Reshape(tuple((index, 1) for index in there if index not in modes))
    reshape = Rearrangement(
        Access(result, tuple(there)), how, (Access(name, tuple(modes)),), program[name].place
    )
    format = _reshaped(program.formats[name], before, after)
    return replace(
        program,
        statements=(*program.statements, reshape),
        formats={**program.formats, result: format},
        results=tuple(result if each == name else each for each in program.results),
    )


def _reshaped(format: TensorFormat, before: Sequence[int], after: Sequence[int]) -> TensorFormat:
    """The format, with other dimensions of size 1, which are dense and outermost."""
    here = [mode for mode, size in enumerate(before) if size != 1]
    there = [mode for mode, size in enumerate(after) if size != 1]
    kept = [
        (level, there[here.index(mode)])
        for level, mode in zip(format.levels, format.modes, strict=True)
        if mode in here
    ]
    levels = [(DENSE, mode) for mode, size in enumerate(after) if size == 1] + kept
    return TensorFormat(tuple(each for each, _ in levels), tuple(mode for _, mode in levels))
