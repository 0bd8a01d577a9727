"""Sums of several iterations at a time, where one alone waits for its own additions."""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dependences.orders import may_load_sooner
from gnarl.sw.compiler.nests.dialects.slc import SetOp
from gnarl.sw.compiler.nests.execute.unroll import split
from gnarl.sw.compiler.nests.operations import LOADS, STORES
from gnarl.sw.compiler.nests.values import body_like, integer, is_innermost
from gnarl.sw.compiler.nests.variables import are_private, copy_apart

TOGETHER = 2
"""Sums: as many as hide the latency of an addition behind what else each element needs."""


def jam(module: ModuleOp) -> ModuleOp:
    """Joins ``TOGETHER`` iterations of a loop around one that adds up in a variable: what precedes
    the inner loop, for each; one inner loop for all; what follows it, for each.

    ``for i: a(i); for j: t += x(i, j); b(i)`` becomes ``for i by 2: a(i); a(i + 1); for j: t0 +=
    x(i, j); t1 += x(i + 1, j); b(i); b(i + 1)``, where a and x store nothing and read no word that
    b of the iteration before writes, nor a variable that an iteration leaves to the next one.
    O(operations + loads x stores).
    """
    module = copied(module)
    for loop in [each for each in module.walk() if isinstance(each, scf.ForOp)]:
        inner = _inner(loop)
        if inner is not None:
            _jam(loop, inner)
    return module


def _inner(loop: scf.ForOp) -> scf.ForOp | None:
    """The first loop of the body, if it is such a sum."""
    operations = list(loop.body.block.ops)
    inner = next((each for each in operations if each.regions), None)
    if not isinstance(inner, scf.ForOp) or not _is_sum(inner):
        return None
    early = [*operations[: operations.index(inner)], *inner.body.block.ops]
    if any(isinstance(each, STORES) for each in early):
        return None
    if not may_load_sooner(loop, [each for each in early if isinstance(each, LOADS)], TOGETHER):
        return None
    induction = loop.body.block.args[0]
    if any(induction is bound for bound in inner.operands):
        return None
    inside = {result for each in operations for result in each.results} | {induction}
    if not inside.isdisjoint(inner.operands[:2]) and not _are_constants(inner):
        return None
    return inner if are_private(loop) else None


def _is_sum(loop: scf.ForOp) -> bool:
    return is_innermost(loop) and any(isinstance(each, SetOp) for each in loop.body.block.ops)


def _are_constants(inner: scf.ForOp) -> bool:
    return all(isinstance(each.owner, arith.ConstantOp) for each in inner.operands)


def _jam(loop: scf.ForOp, inner: scf.ForOp) -> None:
    main = split(loop, TOGETHER)
    if main is None:
        return
    body = main.body.block
    operations = [each for each in loop.body.block.ops if not isinstance(each, scf.YieldOp)]
    place = operations.index(inner)
    copies: list[dict[SSAValue, SSAValue]] = []
    for number in range(TOGETHER):
        induction = _later(body, body.args[0], number)
        values: dict[SSAValue, SSAValue] = {loop.body.block.args[0]: induction}
        copies.append(values)
        for each in operations[:place]:
            body.add_op(copy_apart(each, values, number))
    around = body_like(inner)
    for number, values in enumerate(copies):
        values[inner.body.block.args[0]] = around.args[0]
        for each in inner.body.block.ops:
            if not isinstance(each, scf.YieldOp):
                around.add_op(copy_apart(each, values, number))
    around.add_op(scf.YieldOp())
    bounds = [copies[0].get(each, each) for each in inner.operands[:3]]
    body.add_op(scf.ForOp(bounds[0], bounds[1], bounds[2], [], around))
    for number, values in enumerate(copies):
        for each in operations[place + 1 :]:
            body.add_op(copy_apart(each, values, number))
    body.add_op(scf.YieldOp())


def _later(block: Block, induction: SSAValue, number: int) -> SSAValue:
    off = integer(number)
    later = arith.AddiOp(induction, off.result)
    block.add_ops([off, later])
    return later.result
