"""What ends an iteration is done while the next one begins."""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.operations import ADDRESSES
from gnarl.sw.compiler.nests.values import copy, integer, iterations_of

FEWEST = 3
"""Iterations of a loop that is worth it."""


def rotate_loops(module: ModuleOp) -> ModuleOp:
    """Rotates a loop around an innermost one, both of constant bounds: what follows the inner loop
    is done at the beginning of the next iteration.

        for i < n: (for j < m: A); B(i)
        →   (for j < m: A); for 1 <= i < n: (B(i - 1); for j < m: A); B(n - 1)

    Everything happens in the order in which it did; but steps of B stand with those of A now, which
    go on while B's wait. Left alone: loops of less than ``FEWEST`` iterations, and of which B needs
    more of A than constants and sums of them. O(operations).
    """
    module = copied(module)
    for loop in [each for each in module.walk() if isinstance(each, scf.ForOp)]:
        inner = [each for each in loop.body.walk() if isinstance(each, scf.ForOp | scf.WhileOp)]
        is_near = len(inner) == 1 and inner[0].parent_op() is loop
        if is_near and isinstance(inner[0], scf.ForOp) and iterations_of(inner[0]) is not None:
            _rotate(loop, inner[0])
    return module


def _rotate(loop: scf.ForOp, inner: scf.ForOp) -> None:
    counts = iterations_of(loop)
    operations = [each for each in loop.body.block.ops if not isinstance(each, scf.YieldOp)]
    place = operations.index(inner) + 1
    before, behind = operations[:place], operations[place:]
    if counts is None or len(counts) < FEWEST or not behind:
        return
    needed = _needed(before, behind)
    if needed is None:
        return
    behind = [*needed, *behind]
    block = loop.parent_block()
    assert block is not None
    first, second, last, step = (
        integer(each) for each in (counts[0], counts[1], counts[-1], counts.step)
    )
    body = Block(arg_types=[loop.body.block.args[0].type])
    body.args[0].name_hint = loop.body.block.args[0].name_hint
    previous = arith.SubiOp(body.args[0], step.result)
    body.add_ops([previous, *_copies(loop, behind, previous.result)])
    body.add_ops([*_copies(loop, before, body.args[0]), scf.YieldOp()])
    new_loop = scf.ForOp(second.result, loop.ub, loop.step, [], Region(body))
    new_loop.attributes |= loop.attributes
    block.insert_ops_before([first, second, last, step], loop)
    block.insert_ops_before(_copies(loop, before, first.result), loop)
    block.insert_op_before(new_loop, loop)
    block.insert_ops_before(_copies(loop, behind, last.result), loop)
    loop.detach()
    loop.erase()


def _needed(before: list[Operation], behind: list[Operation]) -> list[Operation] | None:
    """What of ``before`` gives values to ``behind``; ``None`` where it cannot be done again."""
    needed: list[Operation] = []
    wanted = [operand for each in behind for one in each.walk() for operand in one.operands]
    for operation in reversed(before):
        if not any(result in wanted for result in operation.results):
            continue
        if not isinstance(operation, ADDRESSES):
            return None
        needed.insert(0, operation)
        wanted += operation.operands
    return needed


def _copies(loop: scf.ForOp, operations: list[Operation], induction: SSAValue) -> list[Operation]:
    values: dict[SSAValue, SSAValue] = {loop.body.block.args[0]: induction}
    copies = []
    for each in operations:
        made = copy(each, values)
        values |= dict(zip(each.results, made.results, strict=True))
        copies.append(made)
    return copies
