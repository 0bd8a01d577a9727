"""Finds the words of an array that the loads and stores of a callback touch."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from gnarl.sw.compiler.nests.dependences.accesses import linear_of, range_of
from gnarl.sw.compiler.nests.dependences.distances import Words as Place
from gnarl.sw.compiler.nests.dependences.distances import distances
from gnarl.sw.compiler.nests.dependences.linear import UNKNOWN_RANGE, Linear, Range
from gnarl.sw.compiler.nests.dialects.slc import GetOp, SetOp
from gnarl.sw.compiler.nests.operations import LOADS, STORES, array_of, stored_value

Term = SSAValue | tuple[str, int]
"""A value; of a variable its name, and how many sets of it come before."""

Sum = tuple[int, frozenset[tuple[Term, int]]]
"""A number, and terms with their factors."""


@dataclass(frozen=True)
class Words:
    """Words of ``array`` at ``indices``: a scalar, or all lanes of a vector ``type``."""

    array: SSAValue
    indices: tuple[Sum, ...]
    type: Attribute

    @property
    def width(self) -> int:
        return self.type.get_shape()[0] if isinstance(self.type, VectorType) else 1

    def may_meet(self, other: Words) -> bool:
        """Whether both may have a word in common."""
        if self.array is not other.array:
            return False
        return bool(distances(self._place, other._place, None, _range, lambda _: False))

    @property
    def _place(self) -> Place:
        return Place([Linear(number, dict(terms)) for number, terms in self.indices], self.width)


def _range(term: Hashable) -> Range:
    return range_of(term) if isinstance(term, SSAValue) else UNKNOWN_RANGE


def words_of(block: Block) -> dict[Operation, Words]:
    """What each load and store of a callback's body touches at most, but for those inside of its
    operations. O(operations)."""
    sets: dict[str, int] = {}
    variables: dict[SSAValue, Term] = {}
    touched: dict[Operation, Words] = {}
    for operation in block.ops:
        for each in operation.walk():
            if isinstance(each, SetOp):
                sets[each.variable.data] = sets.get(each.variable.data, 0) + 1
        if isinstance(operation, GetOp):
            name = operation.variable.data
            variables[operation.value] = (name, sets.get(name, 0))
        elif isinstance(operation, (*LOADS, *STORES)):
            touched[operation] = _words(operation, variables)
    return touched


def _words(access: Operation, variables: dict[SSAValue, Term]) -> Words:
    indices = [each for each in access.operands if each.type == IndexType()]
    value = access.results[0] if isinstance(access, LOADS) else stored_value(access)
    return Words(array_of(access), tuple(_sum(each, variables) for each in indices), value.type)


def _sum(index: SSAValue, variables: dict[SSAValue, Term]) -> Sum:
    total = linear_of(index)
    factors: dict[Term, int] = {}
    for value, factor in total.terms.items():
        assert isinstance(value, SSAValue)
        term = variables.get(value, value)
        factors[term] = factors.get(term, 0) + factor
    return total.constant, frozenset((term, each) for term, each in factors.items() if each)
