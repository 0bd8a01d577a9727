"""Sizes of all tensors and indices of an Einsum program, from the shapes of its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.einsum.places import located
from gnarl.sw.workloads.einsum.program import AnyStatement, EinsumProgram
from gnarl.sw.workloads.einsum.rearranged_sizes import check_sizes, implied_sizes
from gnarl.sw.workloads.einsum.rearrangement import Rearrangement
from gnarl.sw.workloads.tensor.columns import fail
from gnarl.sw.workloads.tensor.expression import Access


@dataclass(frozen=True)
class ProgramShapes:
    """Sizes of everything in a program.

    tensors
        shape of each tensor, by name.
    indices
        size of each index, by statement.
    """

    tensors: Mapping[str, tuple[int, ...]]
    indices: Mapping[str, Mapping[str, int]]


def program_shapes(program: EinsumProgram, shapes: Mapping[str, Sequence[int]]) -> ProgramShapes:
    """All sizes, from the shapes of the inputs.

    A tensor that is computed needs one only where an index of its statement is in no operand, no
    later statement tells its size, and the program does not, either. Raises ``WorkloadError``
    naming the statement: a tensor that is unknown, missing or of another order, an index of two
    sizes, or of an unknown one.
    """
    names = {*program.inputs, *(statement.name for statement in program.statements)}
    for tensor in shapes:
        if tensor not in names:
            raise WorkloadError(f"program: there is no tensor {tensor}; it has {_listed(program)}")
    return _Sizes(program, shapes).all()


def _listed(program: EinsumProgram) -> str:
    return ", ".join((*program.inputs, *(statement.name for statement in program.statements)))


class _Size(NamedTuple):
    """A size, and the first place that has it."""

    size: int
    place: str


_Place = tuple[str, int | str]
"""A mode of a tensor, or an index of the statement that computes a tensor."""


class _Sizes:
    def __init__(self, program: EinsumProgram, shapes: Mapping[str, Sequence[int]]) -> None:
        self._program = program
        self._shapes = {**program.shapes, **shapes}
        self._parents: dict[_Place, _Place] = {}
        self._known: dict[_Place, _Size] = {}

    def all(self) -> ProgramShapes:
        for statement in self._program.statements:
            for access in (*statement.operands, statement.result):
                for mode, index in enumerate(access.indices):
                    one = self._root((access.tensor, mode))
                    self._parents[one] = self._root((statement.name, index))
        for statement in self._program.statements:
            with located(statement.name, statement.place):
                for access in (*statement.operands, statement.result):
                    self._add(statement, access)
        self._imply()
        indices = {}
        for statement in self._program.statements:
            with located(statement.name, statement.place):
                indices[statement.name] = self._indices(statement)
        tensors = {
            access.tensor: tuple(indices[statement.name][index] for index in access.indices)
            for statement in self._program.statements
            for access in (*statement.operands, statement.result)
        }
        return ProgramShapes(tensors, indices)

    def _root(self, place: _Place) -> _Place:
        """The place that stands for all that have the same size."""
        while (parent := self._parents.get(place, place)) != place:
            place = parent
        return place

    def _add(self, statement: AnyStatement, access: Access) -> None:
        """Adds the sizes of a tensor, if they are given."""
        shape = self._shapes.get(access.tensor)
        if shape is None:
            if access.tensor not in self._program:
                fail(access.column, f"tensor {access.tensor} is not given")
            return
        if len(shape) != len(access.indices):
            fail(
                access.column,
                f"tensor {access.tensor} has {len(shape)} dimensions, but {access} "
                f"{len(access.indices)}; they must be the same",
            )
        for mode, (index, size) in enumerate(zip(access.indices, shape, strict=True)):
            place = f"mode {mode} of {access.tensor}"
            root = self._root((statement.name, index))
            first = self._known.setdefault(root, _Size(int(size), place))
            if first.size != size:
                fail(
                    access.column,
                    f"index {index} has size {size} in {place}, but {first.size} in "
                    f"{first.place}; it must have one size",
                )

    def _imply(self) -> None:
        """Adds the sizes that follow where elements are moved."""
        before = -1
        while before != len(self._known):
            before = len(self._known)
            for statement in self._program.rearrangements:
                roots = {each: self._root((statement.name, each)) for each in statement.indices}
                sizes = {
                    index: self._known[root].size
                    for index, root in roots.items()
                    if root in self._known
                }
                for index, size in implied_sizes(statement, sizes).items():
                    place = f"statement {statement.name}"
                    self._known.setdefault(roots[index], _Size(size, place))

    def _indices(self, statement: AnyStatement) -> dict[str, int]:
        sizes = {}
        for index in statement.indices:
            known = self._known.get(self._root((statement.name, index)))
            if known is None:
                _fail_unknown(statement, index)
            sizes[index] = known.size
        if isinstance(statement, Rearrangement):
            check_sizes(statement, sizes)
        return sizes


def _fail_unknown(statement: AnyStatement, index: str) -> NoReturn:
    result = statement.result
    if isinstance(statement, Rearrangement):
        fail(
            result.column,
            f"the size of index {index} of {result} is not known: write "
            f"{statement.how.kind}[{index}:N] with its size N",
        )
    fail(
        result.column,
        f"index {index} of {result} is in no operand, so its size is not known; give the shape of "
        f"{result.tensor}, in a text by -n={result.tensor}:…",
    )
