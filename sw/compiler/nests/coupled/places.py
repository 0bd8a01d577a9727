"""Words of arrays that operations access, and whether they are the same, or apart."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import vector
from xdsl.ir import Operation, SSAValue

from gnarl.sw.compiler.nests.dependences.accesses import Access, access_of, may_meet


@dataclass
class AccessedWords:
    """Words of an array, in lanes of a mask if there is one, and what accesses them: ``access`` is
    the first."""

    access: Access
    mask: SSAValue | None
    accesses: list[Operation] = field(default_factory=list)

    def is_same(self, other: AccessedWords) -> bool:
        return (self.access.words, self.mask) == (other.access.words, other.mask)

    def is_apart(self, other: AccessedWords) -> bool:
        """Whether they are sure to have no word in common, where values are the same."""
        return not may_meet(self.access, other.access)


def accessed_words(operation: Operation) -> AccessedWords:
    """The place that one of ``LOADS`` or ``STORES`` accesses."""
    masked = vector.MaskedLoadOp | vector.MaskedStoreOp
    mask = operation.mask if isinstance(operation, masked) else None
    return AccessedWords(access_of(operation), mask)
