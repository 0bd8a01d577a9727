"""Which words of an array the loads and stores of a callback touch."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType, MemRefType, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from sw.compiler.nests.dialects.slc import GetOp, SetOp
from sw.compiler.nests.execute.affine import Affine, affine_of
from sw.compiler.nests.operations import LOADS, STORES, array_of, stored_value

Term = SSAValue | tuple[str, int]
"""A value; of a variable its name, and how many sets of it come before."""


@dataclass(frozen=True)
class Words:
    """Of ``array``: from ``offset`` on, behind the sum of ``terms`` times numbers; a scalar, or all
    lanes of a vector ``type``."""

    array: SSAValue
    terms: frozenset[tuple[Term, int]]
    offset: int
    type: Attribute

    @property
    def width(self) -> int:
        return self.type.get_shape()[0] if isinstance(self.type, VectorType) else 1

    def may_meet(self, other: Words) -> bool:
        """Whether both may have a word in common."""
        if self.array is not other.array:
            return False
        if self.terms != other.terms:
            return True
        return self.offset < other.offset + other.width and other.offset < self.offset + self.width


def words_of(block: Block) -> dict[Operation, Words]:
    """What each load and store of a callback's body touches at most, but for those inside of its
    operations. O(operations)."""
    sets: dict[str, int] = {}
    variables: dict[SSAValue, Term] = {}
    found: dict[Operation, Words] = {}
    for operation in block.ops:
        for each in operation.walk():
            if isinstance(each, SetOp):
                sets[each.variable.data] = sets.get(each.variable.data, 0) + 1
        if isinstance(operation, GetOp):
            name = operation.variable.data
            variables[operation.value] = (name, sets.get(name, 0))
        elif isinstance(operation, (*LOADS, *STORES)):
            found[operation] = _words(operation, variables)
    return found


def _words(access: Operation, variables: dict[SSAValue, Term]) -> Words:
    array = array_of(access)
    assert isinstance(array.type, MemRefType)
    indices = [each for each in access.operands if each.type == IndexType()]
    total, stride = Affine(), 1
    for index, size in reversed(list(zip(indices, array.type.shape.data, strict=True))):
        total.add(affine_of(index), stride)
        stride *= size.data
    factors: dict[Term, int] = {}
    for value, factor in total.terms.items():
        term = variables.get(value, value)
        factors[term] = factors.get(term, 0) + factor
    terms = frozenset((term, factor) for term, factor in factors.items() if factor)
    value = access.results[0] if isinstance(access, LOADS) else stored_value(access)
    return Words(array, terms, total.constant, value.type)
