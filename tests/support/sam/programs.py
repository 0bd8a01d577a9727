"""Random Einsum programs with operands: chains, trees and diamonds of statements, with corners."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gnarl.sw.workloads.einsum.check import check
from gnarl.sw.workloads.einsum.program import (
    AnyStatement,
    Einsum,
    EinsumExpression,
    EinsumProgram,
    free_indices,
    reductions,
)
from gnarl.sw.workloads.einsum.rearrangement import (
    COMPARISONS,
    How,
    Kept,
    Pattern,
    Rearrangement,
    Stored,
)
from gnarl.sw.workloads.tensor.expression import GREATEST, Access, Call, Constant, Reduction
from gnarl.sw.workloads.tensor.storage import LEVEL_FORMATS, TensorFormat
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.einsums import entries_alone
from tests.support.rearrangements import draw
from tests.support.sam.program_cases import ProgramCase
from tests.support.sam.renamed_statements import with_names

_INDICES = "ijklm"
_AT_ZERO = ("relu", "tanh", "gelu", "sqrt")
_NOT_AT_ZERO = ("exp", "sigmoid")
_SUMS = ("add", "sub", "max", "min")
_ODD = (3e38, -3e38, 1e-45, -1e38, 1.0, -2.5)

TRAITS = (
    "again at other indices",
    "concat",
    "constant",
    "constants only",
    "diamond",
    "empty tensor",
    "index of no operand",
    "input twice",
    "kept",
    "masked",
    "maximum",
    "names of their own",
    "names with numbers",
    "nested sum",
    "not 0 at 0",
    "odd values",
    "pattern",
    "reshape",
    "result that is taken",
    "several indices",
    "size 0",
    "size 1",
    "slice",
    "stored",
    "three indices",
    "transposed",
    "unshared index",
)
"""What programs may have that is hard to get right."""


def make_program(
    seed: int,
    odd: bool = False,
    moving: bool = False,
    disordered: bool = False,
    masked: bool = False,
) -> ProgramCase:
    """A program of one to five statements over at most five indices; ``odd``: with numbers
    that become infinite, and then NaN; ``moving``: with others, which move elements,
    and indices of no operand; ``disordered``: with tensors that no order of loops suits;
    ``masked``: with a softmax of what a sparse input has entries for, behind the others."""
    return _Maker(random.Random(seed), odd, moving, disordered, masked).case()


@dataclass
class _Maker:
    rng: random.Random
    odd: bool
    moving: bool
    disordered: bool = False
    masked: bool = False
    statements: list[AnyStatement] = field(default_factory=list)
    formats: dict[str, TensorFormat] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    indices_of: dict[str, tuple[str, ...]] = field(default_factory=dict)
    masks: list[str] = field(default_factory=list)
    traits: set[str] = field(default_factory=set)

    def case(self) -> ProgramCase:
        rng = self.rng
        self.place = {index: rng.random() for index in _INDICES}
        self.sizes = {index: rng.choice([1, 2, 3, 3, 4, 5, 6]) for index in _INDICES}
        if rng.random() < 0.3:  # tensors at their indices in another order
            self.sizes["j"] = self.sizes["i"]
        if rng.random() < 0.2:
            self.sizes[rng.choice(_INDICES)] = rng.choice([0, 0, 0, 33, 40])
        for _ in range(rng.randint(1, 4)):
            self._statement()
            if self.moving and rng.random() < 0.5:
                self._moved()
        if self.masked:
            self._masked_softmax()
        program = self._program()
        if rng.random() < 0.4:  # one name in two statements says nothing
            self.traits.add("names of their own")
            statements = tuple(with_names(each, rng) for each in program.statements)
            program = check(replace(program, statements=statements))
        if len(program.statements) > 1 and rng.random() < 0.3:  # as copies of another are called
            self.traits.add("names with numbers")
            one, other = rng.sample([each.name for each in program.statements], 2)
            program = check(program.renamed({other: f"{one}_{rng.choice((2, 3))}"}))
        if 0 in (sizes := {n for each in self.tensors.values() for n in each.shape}):
            self.traits.add("size 0")
        if 1 in sizes:
            self.traits.add("size 1")
        if self.odd:
            self.traits.add("odd values")
        return ProgramCase(program, self.tensors, frozenset(self.traits))

    def _program(self) -> EinsumProgram:
        rng = self.rng
        taken = {each.tensor for one in self.statements for each in one.operands}
        results = [each.name for each in self.statements if each.name not in taken]
        if rng.random() < 0.25:
            results.append(rng.choice(self.statements).name)
        for name in dict.fromkeys(results):
            if name in taken:
                self.traits.add("result that is taken")
            self.formats[name] = self._format(self.indices_of[name])
        for each in self.statements:
            if each.name not in results and rng.random() < 0.1:
                self.formats[each.name] = self._format(self.indices_of[each.name])
        for name in {each.tensor for one in self.statements for each in one.operands}:
            uses = [a for one in self.statements for a in one.operands if a.tensor == name]
            if len(uses) > 1 and name in self.indices_of:
                self.traits.add("diamond")
        for name in self.masks:
            if name in self.formats:
                self.formats[name] = entries_alone(self.formats[name])
        kept = dict.fromkeys(results)
        return check(
            EinsumProgram("random", tuple(self.statements), self.formats, tuple(kept), self.shapes)
        )

    # Statements.

    def _moved(self) -> None:
        """A statement that moves elements, of a tensor that is there or several."""
        shapes = {name: tensor.shape for name, tensor in self.tensors.items()}
        for each in self.statements:
            shapes[each.name] = tuple(self.sizes[i] for i in self.indices_of[each.name])
        name = f"t{len(self.statements)}"
        for _ in range(5):
            statement, shape = draw(self.rng, name, shapes)
            if len(shape) <= 3 and math.prod(shape) <= 100:
                self.statements.append(statement)
                self.indices_of[name] = self._named(shape)
                self.traits.add(statement.how.kind)
                return

    def _named(self, shape: Sequence[int]) -> tuple[str, ...]:
        """Indices of these sizes, new ones where there are none."""
        found: list[str] = []
        for size in shape:
            there = [i for i in self.sizes if self.sizes[i] == size and i not in found]
            index = there[0] if there else f"x{len(self.sizes)}"
            self.sizes[index] = size
            self.place.setdefault(index, self.rng.random())
            found.append(index)
        return tuple(found)

    def _statement(self) -> None:
        kinds = [self._product, self._product, self._together, self._function, self._reduced]
        kinds += [self._twice, self._unshared]
        if self.statements:
            kinds += [self._normalised, self._normalised, self._nested, self._nested]
        expression = self.rng.choice(kinds)()
        free = list(free_indices(expression))
        while len(free) > 3:
            drop = free[self.rng.randrange(len(free))]
            expression = Reduction("sum", (drop,), expression)
            free.remove(drop)
        if self.rng.random() < 0.8:
            free.sort(key=self.place.__getitem__)
        elif len(free) > 1:
            self.traits.add("transposed")
            self.rng.shuffle(free)
        if len(free) == 3:
            self.traits.add("three indices")
        for each in reductions(expression):
            if each.op == "max":
                self.traits.add("maximum")
            if len(each.indices) > 1:
                self.traits.add("several indices")
            if any(True for inner in reductions(each.part)):
                self.traits |= {"nested sum", "several indices"}
        name = f"t{len(self.statements)}"
        if self.moving and len(free) < 3 and self.rng.random() < 0.15:
            self.traits.add("index of no operand")
            inside = {i for each in reductions(expression) for i in each.indices}
            free.append(self.rng.choice([i for i in _INDICES if i not in {*free, *inside}]))
            self.shapes[name] = tuple(self.sizes[index] for index in free)
        self.indices_of[name] = tuple(free)
        self.statements.append(Einsum(Access(name, tuple(free)), expression))

    def _product(self) -> EinsumExpression:
        """A product of two or three, summed over indices that two of them share."""
        one = self._taken()
        index = self.rng.choice(one.indices) if one.indices else self.rng.choice(_INDICES)
        other = self._input(self._some_indices(1, 2, index))
        parts = (one, other) if self.rng.random() < 0.7 else (other, one)
        product: EinsumExpression = Call("mul", parts)
        if self.rng.random() < 0.2:
            product = Call("mul", (product, self._input(self._some_indices(0, 2))))
        free = free_indices(product)
        if len(free) > 2 and self.rng.random() < 0.15:
            return Reduction("sum", tuple(self.rng.sample(free, 2)), product)
        if index in free and self.rng.random() < 0.85:
            return Reduction("sum", (index,), product)
        return product

    def _twice(self) -> EinsumExpression:
        """One tensor twice, at equal indices or exchanged ones."""
        one = self._taken()
        pairs = [
            (a, b)
            for a in one.indices
            for b in one.indices
            if a < b and self.sizes[a] == self.sizes[b]
        ]
        other = one
        if pairs and self.rng.random() < 0.8:
            exchanged = dict([pair := self.rng.choice(pairs), pair[::-1]])
            other = Access(one.tensor, tuple(exchanged.get(each, each) for each in one.indices))
            self.traits.add("again at other indices")
        self.traits.add("input twice" if one.tensor in self.tensors else "diamond")
        both: EinsumExpression = Call(self.rng.choice(("mul", "mul", *_SUMS)), (one, other))
        if one.indices and self.rng.random() < 0.4:
            return Reduction("sum", (self.rng.choice(one.indices),), both)
        return both

    def _unshared(self) -> EinsumExpression:
        """A reduction over an index that only one factor has."""
        self.traits.add("unshared index")
        one = self._taken()
        own = next((i for i in _INDICES if i not in one.indices), None)
        if own is None:
            return one
        other = self._input(tuple(sorted((own, *one.indices[:1]), key=self.place.__getitem__)))
        return Reduction(self.rng.choice(("sum", "max")), (own,), Call("mul", (one, other)))

    def _together(self) -> EinsumExpression:
        if self.rng.random() < 0.2:
            self.traits.add("constants only")
            return Call("add", (Constant(0.5), Constant(-1.5)))
        one = self._taken()
        other = self._taken(one.indices) if self.rng.random() < 0.5 else self._part_of(one)
        parts = (one, other) if self.rng.random() < 0.6 else (other, one)
        return Call(self.rng.choice(_SUMS), parts)

    def _function(self) -> EinsumExpression:
        name = self.rng.choice(_AT_ZERO if self.rng.random() < 0.6 else _NOT_AT_ZERO)
        if name in _NOT_AT_ZERO:
            self.traits.add("not 0 at 0")
        part: EinsumExpression = self._taken()
        if self.rng.random() < 0.3:
            self.traits.add("constant")
            part = Call(self.rng.choice(_SUMS), (part, Constant(self.rng.choice([0.5, -1.0, 2.0]))))
        if self.rng.random() < 0.2:
            part = Call("neg", (part,))
        if self.rng.random() < 0.15:  # positive, so that nothing is over 0
            self.traits.add("not 0 at 0")
            return Call("reciprocal", (Call("exp", (part,)),))
        return Call(name, (part,))

    def _reduced(self) -> EinsumExpression:
        one = self._taken()
        if not one.indices:
            return Call("relu", (one,))
        op = self.rng.choice(["sum", "sum", "max"])
        count = 2 if len(one.indices) > 1 and self.rng.random() < 0.2 else 1
        return Reduction(op, tuple(self.rng.sample(one.indices, count)), one)

    def _normalised(self) -> EinsumExpression:
        """A tensor less its rows' maximum, or over their sum, as one statement or two."""
        name = self.rng.choice(self.statements).name
        one = Access(name, self.indices_of[name])
        if not one.indices:
            return Call("exp", (one,))
        # Mostly the innermost.
        index = max(one.indices, key=self.place.__getitem__)
        if self.rng.random() < 0.25:
            index = self.rng.choice(one.indices)
        op, function = self.rng.choice(
            [("max", "sub"), ("sum", "div"), ("sum", "sub"), ("sum", "mul")]
        )
        fresh = next(each for each in (*_INDICES, "n") if each not in one.indices)
        self.sizes.setdefault(fresh, 1)
        self.place.setdefault(fresh, self.rng.random())
        inner = tuple(fresh if each == index else each for each in one.indices)
        rest = tuple(each for each in one.indices if each != index)
        total: EinsumExpression = Reduction(op, (fresh,), Access(name, inner))
        if self.sizes[fresh] != self.sizes[index] or self.rng.random() < 0.6:
            total = Reduction(op, (index,), one)
            row = f"t{len(self.statements)}"
            self.indices_of[row] = rest
            self.statements.append(Einsum(Access(row, rest), total))
            total = Access(row, rest)
        else:
            self.traits.add("again at other indices")
        if function == "div":  # what is missing over 0 looks like 0/0 by everyone
            total = Call("max", (total, Constant(0.125)))
        return Call(function, (one, total))

    def _nested(self) -> EinsumExpression:
        """A function of a sum of products, with another operand beside it, maybe summed again."""
        inner = self._product()
        free = free_indices(inner)
        if not free or self.rng.random() < 0.3:
            return Call("relu", (Call("add", (inner, Constant(0.25))),))
        kept = self.rng.sample(free, self.rng.randint(1, len(free)))
        kept.sort(key=self.place.__getitem__)
        whole = Call(self.rng.choice((*_SUMS, "mul")), (inner, self._input(tuple(kept))))
        if self.rng.random() < 0.5:
            index = self.rng.choice(kept)
            beside = self._input((index,))
            return Reduction("sum", (index,), Call("mul", (Call("relu", (whole,)), beside)))
        return whole

    def _masked_softmax(self) -> None:
        """Powers of what an input has entries for, over their sum, as four statements."""
        self.traits.add("masked")
        name = self.statements[-1].name
        scores = Access(name, self.indices_of[name])
        if not scores.indices:
            return
        kept = self.rng.sample(scores.indices, self.rng.randint(1, len(scores.indices)))
        mask = self._mask(tuple(index for index in scores.indices if index in kept))
        row = max(scores.indices, key=self.place.__getitem__)
        rest = tuple(index for index in scores.indices if index != row)
        within: EinsumExpression = Call("mul", (mask, Call("add", (scores, Constant(0.0)))))
        most = self._added(rest, Reduction(GREATEST, (row,), within))
        shifted = Call("exp", (Call("sub", (scores, most)),))
        powers = self._added(scores.indices, Call("mul", (mask, shifted)))
        total = self._added(rest, Reduction("sum", (row,), powers))
        least = Call("max", (total, Constant(1.0)))  # what is missing over 0 looks like 0/0
        self._added(scores.indices, Call("div", (powers, least)))

    def _mask(self, indices: tuple[str, ...]) -> Access:
        """A tensor that is 1 where it has an entry: an input, or made of one by the host."""
        if self.rng.random() < 0.4:
            mask = self._input(indices)
            self.tensors[mask.tensor] = _ones(self.tensors[mask.tensor])
            self.masks.append(mask.tensor)
            return mask
        given = Access("M", tuple(self.rng.sample(indices, len(indices))))
        shape = tuple(self.sizes[index] for index in given.indices)
        self.tensors["M"] = self._values(shape)
        self.formats["M"] = self._format(given.indices)
        how: How = Pattern(self.rng.choice([*COMPARISONS]), self.rng.choice((0.0, 0.5, -1.0)))
        if (kind := self.rng.random()) < 0.3:
            how = Stored()
        elif kind < 0.6:
            how = Kept()
            self.tensors["M"] = _ones(self.tensors["M"], -np.inf)
        self.traits.add(how.kind)
        made = Access(f"t{len(self.statements)}", tuple(self.rng.sample(indices, len(indices))))
        self.statements.append(Rearrangement(made, how, (given,)))
        self.indices_of[made.tensor] = made.indices
        self.masks.append(made.tensor)
        return Access(made.tensor, made.indices)

    def _added(self, indices: tuple[str, ...], expression: EinsumExpression) -> Access:
        result = Access(f"t{len(self.statements)}", indices)
        self.indices_of[result.tensor] = indices
        self.statements.append(Einsum(result, expression))
        return result

    # Operands.

    def _taken(self, like: tuple[str, ...] | None = None) -> Access:
        """A tensor that is there, or an input, maybe at other indices."""
        if self.statements and self.rng.random() < 0.75:
            name = self.rng.choice(self.statements[-2:]).name
            own = self.indices_of[name]
            if self.rng.random() < 0.8:
                return Access(name, own)
            renamed = self._renamed(own)
            if renamed != own:
                self.traits.add("again at other indices")
            return Access(name, renamed)
        if like is not None and self.rng.random() < 0.7:
            return self._input(like)
        return self._input(self._some_indices(1, 3))

    def _renamed(self, own: tuple[str, ...]) -> tuple[str, ...]:
        """Other indices of the same sizes, if there are some."""
        renamed: list[str] = []
        for index in own:
            same = [i for i in _INDICES if self.sizes[i] == self.sizes[index] and i not in renamed]
            renamed.append(self.rng.choice(same) if same else index)
        return tuple(renamed) if len(set(renamed)) == len(renamed) else own

    def _part_of(self, access: Access) -> EinsumExpression:
        if not access.indices or self.rng.random() < 0.15:
            self.traits.add("constant")
            return Constant(self.rng.choice([0.5, -1.5, 2.0]))
        kept = self.rng.sample(access.indices, self.rng.randint(0, len(access.indices)))
        return self._input(tuple(i for i in access.indices if i in kept))

    def _some_indices(self, least: int, most: int, must: str = "") -> tuple[str, ...]:
        chosen = self.rng.sample(_INDICES, self.rng.randint(least, most))
        if must and must not in chosen:
            chosen[self.rng.randrange(len(chosen))] = must
        if not self.disordered and self.rng.random() < 0.85:
            chosen.sort(key=self.place.__getitem__)
        return tuple(chosen)

    def _input(self, indices: tuple[str, ...]) -> Access:
        known = [
            name
            for name, tensor in self.tensors.items()
            if tensor.shape == tuple(self.sizes[index] for index in indices)
        ]
        if known and self.rng.random() < 0.2:
            self.traits.add("input twice")
            return Access(self.rng.choice(known), indices)
        name = f"{'ABCDEFGH'[len(self.tensors) % 8]}{len(self.tensors)}"
        shape = tuple(self.sizes[index] for index in indices)
        self.tensors[name] = self._values(shape)
        self.formats[name] = self._format(indices)
        if not self.tensors[name].nnz:
            self.traits.add("empty tensor")
        return Access(name, indices)

    def _format(self, indices: Sequence[str]) -> TensorFormat:
        """Levels in the program's order of loops, mostly."""
        letters = self.rng.choices("dsb", [5, 5, 1], k=len(indices))
        modes = list(range(len(indices)))
        modes.sort(key=lambda mode: self.place[indices[mode]])
        if self.disordered or self.rng.random() < 0.05:
            self.rng.shuffle(modes)
        return TensorFormat(tuple(LEVEL_FORMATS[each] for each in letters), tuple(modes))

    def _values(self, shape: Sequence[int]) -> Tensor:
        """Small multiples of 1/8, of which sums and products are exact; many are missing."""
        values = np.random.default_rng(self.rng.getrandbits(32))
        kept = values.random(shape) < self.rng.choice([0.0, 0.3, 0.6, 0.6, 1.0])
        numbers = values.integers(-16, 17, shape) / 8
        if self.odd:
            numbers = np.where(values.random(shape) < 0.2, values.choice(_ODD, shape), numbers)
        return Tensor.from_any(np.where(kept, numbers, 0.0))


def _ones(tensor: Tensor, one: float = 1.0) -> Tensor:
    return replace(tensor, values=np.full(tensor.nnz, one))
