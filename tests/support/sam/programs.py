"""Random Einsum programs with operands: chains, trees and diamonds of statements."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gnarl.sw.workloads.einsum.program import Einsum, EinsumExpression, EinsumProgram, accesses
from gnarl.sw.workloads.tensor.expression import Access, Call, Constant, Reduction
from gnarl.sw.workloads.tensor.storage import LEVEL_FORMATS, TensorFormat
from gnarl.sw.workloads.tensor.tensor import Tensor

_INDICES = "ijklm"
_AT_ZERO = ("relu", "tanh", "gelu", "sqrt")
_NOT_AT_ZERO = ("exp", "sigmoid")
_SUMS = ("add", "sub", "max", "min")


@dataclass
class ProgramCase:
    """A program, values of its inputs, and statements that may be the last of a region."""

    program: EinsumProgram
    tensors: dict[str, Tensor]

    def groups(self, rng: random.Random) -> list[tuple[str, ...]]:
        """Statements one after the other, cut at random."""
        groups: list[list[str]] = [[]]
        for each in self.program.statements:
            groups[-1].append(each.name)
            if rng.random() < 0.25:
                groups.append([])
        return [tuple(group) for group in groups if group]


def make_program(seed: int) -> ProgramCase:
    """A program of two to five statements over at most five indices."""
    return _Maker(random.Random(seed)).case()


@dataclass
class _Maker:
    rng: random.Random
    statements: list[Einsum] = field(default_factory=list)
    formats: dict[str, TensorFormat] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    indices_of: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def case(self) -> ProgramCase:
        rng = self.rng
        self.sizes = {index: rng.choice([1, 2, 3, 4, 5, 6]) for index in _INDICES}
        if rng.random() < 0.15:
            self.sizes[rng.choice(_INDICES)] = rng.choice([33, 40])
        for _ in range(rng.randint(2, 5)):
            self._statement()
        taken = {each.tensor for one in self.statements for each in one.operands}
        results = [each.name for each in self.statements if each.name not in taken]
        if rng.random() < 0.2:
            results.append(rng.choice(self.statements).name)
        for name in results:
            if rng.random() < 0.7:
                self.formats[name] = self._format(len(self.indices_of[name]))
        kept = dict.fromkeys(results)
        program = EinsumProgram("random", tuple(self.statements), self.formats, tuple(kept))
        return ProgramCase(program, self.tensors)

    # Statements.

    def _statement(self) -> None:
        kinds = [self._product, self._product, self._together, self._function, self._reduced]
        if self.statements:
            kinds += [self._normalised, self._normalised, self._nested]
        expression = self.rng.choice(kinds)()
        free = list(dict.fromkeys(i for i in _free(expression)))
        if len(free) > 3:
            drop = free[self.rng.randrange(len(free))]
            expression = Reduction("sum", (drop,), expression)
            free.remove(drop)
        if self.rng.random() < 0.3:
            self.rng.shuffle(free)
        name = f"t{len(self.statements)}"
        self.indices_of[name] = tuple(free)
        self.statements.append(Einsum(Access(name, tuple(free)), expression))

    def _product(self) -> EinsumExpression:
        """A product of two or three, summed over an index that two of them share."""
        one = self._taken()
        index = self.rng.choice(one.indices) if one.indices else self.rng.choice(_INDICES)
        other = self._input(self._some_indices(1, 2, index))
        product: EinsumExpression = Call("mul", (one, other))
        if self.rng.random() < 0.2:
            product = Call("mul", (product, self._input(self._some_indices(0, 2))))
        if index in _free(product) and self.rng.random() < 0.85:
            return Reduction("sum", (index,), product)
        return product

    def _together(self) -> EinsumExpression:
        one = self._taken()
        other = self._taken(one.indices) if self.rng.random() < 0.5 else self._part_of(one)
        parts = (one, other) if self.rng.random() < 0.6 else (other, one)
        return Call(self.rng.choice(_SUMS), parts)

    def _function(self) -> EinsumExpression:
        name = self.rng.choice(_AT_ZERO if self.rng.random() < 0.7 else _NOT_AT_ZERO)
        part: EinsumExpression = self._taken()
        if self.rng.random() < 0.3:
            part = Call(self.rng.choice(_SUMS), (part, Constant(self.rng.choice([0.5, -1.0, 2.0]))))
        if self.rng.random() < 0.2:
            part = Call("neg", (part,))
        return Call(name, (part,))

    def _reduced(self) -> EinsumExpression:
        one = self._taken()
        if not one.indices:
            return Call("relu", (one,))
        return Reduction(
            self.rng.choice(["sum", "sum", "max"]), (self.rng.choice(one.indices),), one
        )

    def _normalised(self) -> EinsumExpression:
        """A tensor less its rows' maximum, or over their sum, as one statement or two."""
        name = self.rng.choice(self.statements).name
        one = Access(name, self.indices_of[name])
        if not one.indices:
            return Call("exp", (one,))
        index = self.rng.choice(one.indices)
        op, function = self.rng.choice(
            [("max", "sub"), ("sum", "div"), ("sum", "sub"), ("sum", "mul")]
        )
        fresh = next(each for each in (*_INDICES, "n") if each not in one.indices)
        self.sizes[fresh] = self.sizes[fresh] if fresh in self.sizes else 1
        inner = tuple(fresh if each == index else each for each in one.indices)
        rest = tuple(each for each in one.indices if each != index)
        total: EinsumExpression = Reduction(op, (fresh,), Access(name, inner))
        if self.sizes[fresh] != self.sizes[index] or self.rng.random() < 0.6:
            total = Reduction(op, (index,), one)
            row = f"t{len(self.statements)}"
            self.indices_of[row] = rest
            self.statements.append(Einsum(Access(row, rest), total))
            total = Access(row, rest)
        if function == "div":  # what is missing over 0 looks like 0/0 by everyone
            total = Call("max", (total, Constant(0.125)))
        return Call(function, (one, total))

    def _nested(self) -> EinsumExpression:
        """A function of a sum of products, with another operand beside it."""
        inner = self._product()
        free = tuple(_free(inner))
        if not free or self.rng.random() < 0.5:
            return Call("relu", (Call("add", (inner, Constant(0.25))),))
        kept = self.rng.sample(free, self.rng.randint(1, len(free)))
        return Call(self.rng.choice((*_SUMS, "mul")), (inner, self._input(tuple(kept))))

    # Operands.

    def _taken(self, like: tuple[str, ...] | None = None) -> Access:
        """A tensor that is there, or an input, maybe at other indices."""
        if self.statements and self.rng.random() < 0.75:
            name = self.rng.choice(self.statements[-2:]).name
            own = self.indices_of[name]
            if self.rng.random() < 0.8:
                return Access(name, own)
            # At others of the same sizes.
            renamed: list[str] = []
            for index in own:
                same = [
                    i for i in _INDICES if self.sizes[i] == self.sizes[index] and i not in renamed
                ]
                renamed.append(self.rng.choice(same) if same else index)
            if len(set(renamed)) == len(renamed):
                return Access(name, tuple(renamed))
            return Access(name, own)
        if like is not None and self.rng.random() < 0.7:
            return self._input(like)
        return self._input(self._some_indices(1, 3))

    def _part_of(self, access: Access) -> EinsumExpression:
        if not access.indices or self.rng.random() < 0.15:
            return Constant(self.rng.choice([0.5, -1.5, 2.0]))
        kept = self.rng.sample(access.indices, self.rng.randint(0, len(access.indices)))
        return self._input(tuple(i for i in access.indices if i in kept))

    def _some_indices(self, least: int, most: int, must: str = "") -> tuple[str, ...]:
        chosen = self.rng.sample(_INDICES, self.rng.randint(least, most))
        if must and must not in chosen:
            chosen[self.rng.randrange(len(chosen))] = must
        return tuple(chosen)

    def _input(self, indices: tuple[str, ...]) -> Access:
        known = [
            name
            for name, tensor in self.tensors.items()
            if tensor.shape == tuple(self.sizes[index] for index in indices)
        ]
        if known and self.rng.random() < 0.25:
            return Access(self.rng.choice(known), indices)
        name = f"{'ABCDEFGH'[len(self.tensors) % 8]}{len(self.tensors)}"
        shape = tuple(self.sizes[index] for index in indices)
        self.tensors[name] = _values(self.rng, shape)
        self.formats[name] = self._format(len(indices))
        return Access(name, indices)

    def _format(self, order: int) -> TensorFormat:
        letters = self.rng.choices("dsb", [5, 5, 1], k=order)
        modes = list(range(order))
        if self.rng.random() < 0.25:
            self.rng.shuffle(modes)
        return TensorFormat(tuple(LEVEL_FORMATS[each] for each in letters), tuple(modes))


def _values(rng: random.Random, shape: Sequence[int]) -> Tensor:
    """Small multiples of 1/8, of which sums and products are exact; many are missing."""
    values = np.random.default_rng(rng.getrandbits(32))
    kept = values.random(shape) < rng.choice([0.0, 0.3, 0.6, 1.0])
    return Tensor.from_any(np.where(kept, values.integers(-16, 17, shape) / 8, 0.0))


def _free(expression: EinsumExpression) -> list[str]:
    match expression:
        case Reduction(_, indices, part):
            return [index for index in _free(part) if index not in indices]
        case Call(_, arguments):
            return [index for each in arguments for index in _free(each)]
    return [index for access in accesses(expression) for index in access.indices]
