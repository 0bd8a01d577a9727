"""Random Einsum programs with tensors for them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from gnarl.hw.sam.block_types import COMPRESSED, DENSE
from gnarl.sw.workloads.einsum.check import check
from gnarl.sw.workloads.einsum.program import (
    AnyStatement,
    Einsum,
    EinsumExpression,
    EinsumProgram,
    free_indices,
)
from gnarl.sw.workloads.einsum.rearrangement import Rearrangement
from gnarl.sw.workloads.tensor.expression import GREATEST, Access, Call, Constant, Reduction
from gnarl.sw.workloads.tensor.storage import LEVEL_FORMATS, TensorFormat
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.rearrangements import draw

_INDICES = "ijkl"
_SIZES = (0, 1, 1, 2, 2, 3, 3, 4)
FINITE = ("relu", "exp", "gelu", "sigmoid", "tanh")
"""Functions that are finite for all numbers of a few units."""
ANY = (*FINITE, "reciprocal", "sqrt", "log", "div")
"""With those that are infinite or NaN for some."""
_WHOLE = (-3.0, -2.0, -1.0, 1.0, 2.0, 3.0)
_ODD = (0.0, -0.0, 1e-45, -1e38, 3e38, np.inf, -np.inf, np.nan, 1.0, -2.5)


@dataclass(frozen=True)
class Case:
    """A program, the tensors that it takes, and those that have the size of a result's index, where
    the program does not tell it."""

    program: EinsumProgram
    tensors: dict[str, Tensor]


def cases(
    statements: int = 4,
    functions: Sequence[str] = ANY,
    odd: bool = True,
    moving: bool = False,
    stored: bool = False,
) -> st.SearchStrategy[Case]:
    """Programs of at most so many statements; ``odd``: some with infinities and NaN; ``moving``:
    some in which elements are moved; ``stored``: some with maxima of what is stored alone."""
    return st.builds(
        lambda seed, is_odd, is_moving: make(
            seed, statements, functions, is_odd and odd, is_moving and moving, stored
        ),
        st.integers(0, 2**32 - 1),
        st.booleans(),
        st.booleans(),
    )


def make(
    seed: int,
    statements: int = 4,
    functions: Sequence[str] = ANY,
    odd: bool = False,
    moving: bool = False,
    stored: bool = False,
) -> Case:
    """A program of at most so many statements."""
    values = _ODD if odd else _WHOLE
    return _Maker(random.Random(seed), functions, values, moving, stored).case(statements)


def entries_alone(format: TensorFormat) -> TensorFormat:
    """A format like this one in which there is no number where a tensor has no entry."""
    if format.levels[-1:] != (DENSE,):
        return format
    return replace(format, levels=(*format.levels[:-1], COMPRESSED))


class _Maker:
    def __init__(
        self,
        rng: random.Random,
        functions: Sequence[str],
        values: Sequence[float],
        moving: bool,
        stored: bool,
    ) -> None:
        self._rng = rng
        self._moving = moving
        self._stored = stored
        self._functions = functions
        self._values = values
        self._sizes = {index: rng.choice(_SIZES) for index in _INDICES}
        if rng.random() < 0.4:  # tensors at their indices in another order
            self._sizes["j"] = self._sizes["i"]
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._tensors: dict[str, Tensor] = {}
        self._entries_alone = set[str]()

    def case(self, most: int) -> Case:
        rng = self._rng
        count = rng.randint(1, most)
        statements: list[AnyStatement] = []
        shapes: dict[str, tuple[int, ...]] = {}
        for number in range(count):
            name = f"t{number}"
            if self._moving and self._shapes and rng.random() < 0.4:
                moved, self._shapes[name] = self._rearrangement(name)
                statements.append(moved)
                continue
            statement = self._statement(name)
            statements.append(statement)
            self._shapes[name] = tuple(self._sizes[i] for i in statements[-1].result.indices)
            if not {*statement.result.indices} <= {*free_indices(statement.expression)}:
                order = len(self._shapes[name])
                if rng.random() < 0.5:
                    shapes[name] = self._shapes[name]
                    continue
                self._tensors[name] = Tensor(
                    self._shapes[name], np.zeros((0, order), np.int64), np.zeros(0)
                )
        draft = EinsumProgram(f"program{rng.randrange(9)}", tuple(statements), {}, ())
        names = [each.name for each in statements]
        results = tuple(name for name in names if name not in draft.consumers)
        if rng.random() < 0.3:
            results = tuple(rng.sample(names, rng.randint(1, count)))
        stored = {*draft.inputs, *results, *(name for name in names if rng.random() < 0.2)}
        formats = {name: self._format(len(self._shapes[name])) for name in sorted(stored)}
        formats |= {name: entries_alone(formats[name]) for name in self._entries_alone & {*formats}}
        program = check(EinsumProgram(draft.name, draft.statements, formats, results, shapes))
        tensors = {
            name: each
            for name, each in self._tensors.items()
            if name in program or name in program.inputs
        }
        return Case(program, tensors)

    def _rearrangement(self, name: str) -> tuple[Rearrangement, tuple[int, ...]]:
        """One whose result fits the program's indices, if that is easy."""
        for _ in range(5):
            found = draw(self._rng, name, self._shapes)
            if self._at(found[1], _INDICES) is not None:
                break
        return found

    def _statement(self, name: str) -> Einsum:
        rng = self._rng
        kept = tuple(rng.sample(_INDICES, rng.choice((0, 1, 1, 2, 2, 3))))
        expression = self._expression(kept, rng.randint(1, 6))
        if rng.random() < 0.85:
            used = free_indices(expression)
            kept = tuple(index for index in kept if index in used)
        statement = Einsum(Access(name, kept), expression)
        if rng.random() < 0.5:
            order = tuple(rng.sample(statement.indices, len(statement.indices)))
            statement = Einsum(statement.result, expression, order)
        return statement

    def _expression(self, scope: Sequence[str], operands: int) -> EinsumExpression:
        rng = self._rng
        kind = rng.random()
        others = [index for index in _INDICES if index not in scope]
        if kind < 0.35 and others:
            added = rng.sample(others, min(len(others), rng.choice((1, 1, 2))))
            part = self._expression((*scope, *added), operands)
            op = rng.choice(("sum", "sum", "max"))
            if self._stored and rng.random() < 0.3:
                op, part = GREATEST, self._within_input((*scope, *added), part)
            indices = tuple(index for index in added if index in free_indices(part))
            return Reduction(op, indices, part) if indices else part
        if kind < 0.46:
            function = rng.choice([*self._functions, "neg"])
            part = self._expression(scope, operands)
            if function == "div":
                return Call("div", (part, self._expression(scope, 1)))
            if function == "neg" and isinstance(part, Constant):
                return part
            return Call(function, (part,))
        if operands == 1:
            return self._operand(scope)
        left = rng.randint(1, operands - 1)
        function = rng.choice(("mul", "mul", "mul", "add", "add", "sub", "max", "min"))
        return Call(
            function, (self._expression(scope, left), self._expression(scope, operands - left))
        )

    def _operand(self, scope: Sequence[str]) -> EinsumExpression:
        rng = self._rng
        if rng.random() < 0.1:
            return Constant(rng.choice((-1.0, 0.5, 2.0, -0.25)))
        if self._shapes and rng.random() < 0.5:
            name = rng.choice(sorted(self._shapes))
            indices = self._at(self._shapes[name], scope)
            if indices is not None:
                return Access(name, indices)
        return self._input(scope)

    def _within_input(self, scope: Sequence[str], part: EinsumExpression) -> EinsumExpression:
        """A part where an input is, as maxima of what is stored alone may be of."""
        within = self._input(scope)
        self._entries_alone.add(within.tensor)
        return Call("mul", (within, Call("add", (part, Constant(0.0)))))

    def _input(self, scope: Sequence[str]) -> Access:
        rng = self._rng
        indices = tuple(rng.sample(scope, min(len(scope), rng.choice((0, 1, 2, 2, 3)))))
        name = f"A{len(self._shapes)}"
        self._shapes[name] = tuple(self._sizes[index] for index in indices)
        self._tensors[name] = self._tensor(self._shapes[name])
        return Access(name, indices)

    def _at(self, shape: tuple[int, ...], scope: Sequence[str]) -> tuple[str, ...] | None:
        """Different indices of the scope with these sizes."""
        indices: list[str] = []
        for size in shape:
            fitting = [i for i in scope if self._sizes[i] == size and i not in indices]
            if not fitting:
                return None
            indices.append(self._rng.choice(fitting))
        return tuple(indices)

    def _tensor(self, shape: tuple[int, ...]) -> Tensor:
        rng = self._rng
        noise = np.random.default_rng(rng.getrandbits(32))
        density = rng.choice((0.0, 0.3, 0.6, 1.0)) if shape else 1.0
        places = np.argwhere(noise.random(shape) < density)
        return Tensor(shape, places, noise.choice(self._values, len(places)))

    def _format(self, order: int) -> TensorFormat:
        rng = self._rng
        levels = tuple(rng.choice(list(LEVEL_FORMATS.values())) for _ in range(order))
        return TensorFormat(levels, tuple(rng.sample(range(order), order)))
