"""Loops over what lengths bound, one fiber behind the other. Source: Ember, appendix D."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from gnarl.sw.compiler.nests.dialects.slc import GetOp, SetOp
from gnarl.sw.compiler.nests.values import constant_of, source_of


@dataclass(frozen=True)
class Accumulation:
    """A loop from a variable to the variable + ``length``, which it then becomes; it begins as 0.

    ``replaced``: operations that exist for this alone.
    """

    length: SSAValue
    replaced: frozenset[Operation]


def accumulations(module: ModuleOp) -> dict[scf.ForOp, Accumulation]:
    """Accumulations of a module whose locals are variables, by loop. O(operations x loops)."""
    by_loop = {}
    for loop in [each for each in module.walk() if isinstance(each, scf.ForOp)]:
        accumulation = _accumulation(module, loop)
        if accumulation is not None:
            by_loop[loop] = accumulation
    return by_loop


def _accumulation(module: ModuleOp, loop: scf.ForOp) -> Accumulation | None:
    lower, upper = source_of(loop.lb).owner, source_of(loop.ub).owner
    if not isinstance(lower, GetOp) or not isinstance(upper, arith.AddiOp):
        return None
    name = lower.variable.data
    length = _added_to(name, upper)
    named = [
        each
        for each in module.walk()
        if isinstance(each, GetOp | SetOp) and each.variable.data == name
    ]
    sets = [each for each in named if isinstance(each, SetOp)]
    if length is None or not _is_carried(loop, upper, sets):
        return None
    replaced: set[Operation] = {*named, upper}
    users = {use.operation for each in replaced for value in each.results for use in value.uses}
    return Accumulation(length, frozenset(replaced)) if users <= {*replaced, loop} else None


def _added_to(name: str, total: arith.AddiOp) -> SSAValue | None:
    """What is added to the variable of a name, if just that is."""
    terms = [source_of(each) for each in total.operands]
    others = [each for each in terms if not _reads(each, name)]
    return others[0] if len(others) == 1 else None


def _is_carried(loop: scf.ForOp, upper: arith.AddiOp, sets: list[SetOp]) -> bool:
    """Whether a variable is 0 before the loop around, and a loop's upper bound behind each."""
    behind = [each for each in sets if source_of(each.value) is upper.result]
    first = [each for each in sets if each not in behind]
    if len(behind) != 1 or len(first) != 1 or constant_of(first[0].value) != 0:
        return False
    around = loop.parent_op()
    if behind[0].parent_op() is not around or not isinstance(around, scf.ForOp):
        return False
    return first[0].parent_block() is around.parent_block()


def _reads(value: SSAValue, name: str) -> bool:
    return isinstance(value.owner, GetOp) and value.owner.variable.data == name
