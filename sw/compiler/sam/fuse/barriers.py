"""Barriers: statements that move elements, behind which regions end.

The host makes their tensors of what launches before have written, and stores them as their operands
are, as far as that means something: where these have dense levels, it has. Patterns are
stored in the order of their modes, or of the tensor whose entries they have, the innermost level
compressed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gnarl.hw.sam.block_types import COMPRESSED, DENSE
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.einsum.rearrangement import (
    Concat,
    Coo,
    Kept,
    Pattern,
    Rearrangement,
    Reshape,
    Slice,
    Stored,
)
from gnarl.sw.workloads.tensor.storage import TensorFormat


def with_moved(
    program: EinsumProgram, formats: Mapping[str, TensorFormat]
) -> dict[str, TensorFormat]:
    """Formats by name, with those of what is moved, where those of its operands are known."""
    known = dict(formats)
    for each in program.rearrangements:
        if each.name not in known and all(access.tensor in known for access in each.operands):
            known[each.name] = _format(each, known)
    return known


def needed_before(program: EinsumProgram) -> dict[str, frozenset[str]]:
    """The tensors that must be computed in regions before each statement's, by its name: those from
    which a barrier leads to it."""
    before: dict[str, frozenset[str]] = {}
    made_of: dict[str, frozenset[str]] = {}  # every computed tensor that it depends on, itself too
    for each in program.statements:
        taken = [access.tensor for access in each.operands if access.tensor in program]
        through = frozenset[str]().union(*(made_of[name] for name in taken))
        if isinstance(each, Rearrangement):
            before[each.name] = made_of[each.name] = through
        else:
            before[each.name] = frozenset[str]().union(*(before[name] for name in taken))
            made_of[each.name] = through | {each.name}
    return before


def _format(statement: Rearrangement, formats: Mapping[str, TensorFormat]) -> TensorFormat:
    if isinstance(statement.how, Coo):
        order = len(statement.result.indices)
        return TensorFormat((COMPRESSED,) * order, tuple(range(order)))
    kinds: dict[str, set[str]] = {}
    places: dict[str, int] = {}
    for operand in statement.operands:
        format = formats[operand.tensor]
        for place, (kind, mode) in enumerate(zip(format.levels, format.modes, strict=True)):
            kinds.setdefault(operand.indices[mode], set()).add(kind)
            places.setdefault(operand.indices[mode], place)
    for index in statement.made:
        sources = list(_sources(statement))
        kinds[index] = {kind for each in sources for kind in kinds[each]}
        places[index] = min((places[each] for each in sources), default=-1)
    result = statement.result.indices
    modes = sorted(range(len(result)), key=lambda mode: (places[result[mode]], mode))
    if isinstance(statement.how, Pattern | Kept):
        modes = [*range(len(result))]
    if isinstance(statement.how, Pattern | Kept | Stored):  # where there is no entry there is no 1
        kinds |= {result[mode]: {COMPRESSED} for mode in modes[-1:]}
    return TensorFormat(tuple(_level(kinds[result[mode]]) for mode in modes), tuple(modes))


def _sources(statement: Rearrangement) -> Iterator[str]:
    """Indices of operands that become those that only the result has."""
    match statement.how:
        case Reshape() | Concat():
            for operand in statement.operands:
                yield from statement.own(operand)
        case Slice(index=index):
            yield index
        case Stored() | Coo():
            return


def _level(kinds: set[str]) -> str:
    if len(kinds) > 1:
        return COMPRESSED
    return next(iter(kinds), DENSE)
