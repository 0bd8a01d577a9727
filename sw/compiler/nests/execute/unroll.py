"""Writes out iterations of innermost loops."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import arith, func, scf, vector
from xdsl.dialects.builtin import ModuleOp, VectorType
from xdsl.ir import Block, Operation, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects.slc import GetOp, SetOp
from gnarl.sw.compiler.nests.values import body_like, constant_of, integer, iterations_of

_FREE = (
    arith.ConstantOp,
    arith.IndexCastOp,
    scf.YieldOp,
    GetOp,
    SetOp,
    vector.BroadcastOp,
    vector.CreateMaskOp,
    func.ReturnOp,
)
"""Operations that are no instruction of their own."""

SHARES = (4, 8, 16, 32, 0)
"""Loops are unrolled to so many parts of the program's memory, or not at all (0): the first that
registers and that memory suffice for."""

MOST_ITERATIONS = 8
"""Iterations of a loop whose bounds are not constants that become one."""

BLOCK = "block"
"""The attribute of a loop of which an iteration has enough to do while it waits."""

_INTEGERS = (arith.AddiOp, arith.MuliOp, arith.ShLIOp, arith.SubiOp)


def cost(operations: Iterable[Operation]) -> int:
    """Estimates how many instructions operations take, loops written out once."""
    instructions = 0
    for operation in operations:
        for region in operation.regions:
            for block in region.blocks:
                instructions += 2 + cost(block.ops)
        instructions += not operation.regions and not _is_free(operation)
    return instructions


def _is_free(operation: Operation) -> bool:
    """Whether it comes to nothing, or is of addresses, which few instructions are left of."""
    is_wide = any(isinstance(each.type, VectorType) for each in operation.results)
    return isinstance(operation, _FREE) or (isinstance(operation, _INTEGERS) and not is_wide)


def unroll_counted(module: ModuleOp, budget: int) -> ModuleOp:
    """Loops with constant bounds become their iterations where these are at most ``budget``
    instructions, inner ones first; of longer innermost ones, a power of two of iterations becomes
    one, the rest stands behind. O(operations of the result)."""
    module = copied(module)
    loops = [each for each in module.walk() if isinstance(each, scf.ForOp)]
    for loop in reversed(loops):
        iterations = iterations_of(loop)
        if iterations is None or (BLOCK in loop.attributes and len(iterations) > 1):
            continue
        body = max(1, cost(loop.body.block.ops))
        if body * len(iterations) <= budget and not _has_loops(loop):
            for number in iterations:
                write_iteration(loop, number)
            loop.detach()
            loop.erase()
        elif not _has_loops(loop):
            count = _power(budget // (2 * body))
            count = min(count, _power(len(iterations)))
            if count > 1:
                whole = len(iterations) // count * count
                for number in reversed(iterations[whole:]):
                    write_iteration(loop, number, behind=True)
                _several(loop, iterations.step, count, iterations.start + whole * iterations.step)
    return module


def unroll_open(module: ModuleOp, budget: int) -> ModuleOp:
    """Unrolls innermost loops whose bounds are not constants: up to ``MOST_ITERATIONS`` iterations
    become one, of at most ``budget`` instructions; a loop for the rest follows. O(operations of the
    result)."""
    module = copied(module)
    for loop in [each for each in module.walk() if isinstance(each, scf.ForOp)]:
        is_counted = constant_of(loop.lb) is not None and constant_of(loop.ub) is not None
        if is_counted or _has_loops(loop) or constant_of(loop.step) != 1:
            continue
        count = min(MOST_ITERATIONS, _power(budget // max(1, cost(loop.body.block.ops))))
        if count < 2:
            continue
        main = split(loop, count)
        assert main is not None
        for number in range(count):
            _iteration(loop, main.body.block, number)
        main.body.block.add_op(scf.YieldOp())
    return module


def split(loop: scf.ForOp, count: int) -> scf.ForOp | None:
    """A loop in steps of ``count``, a power of two, before ``loop``, which keeps the rest of its
    iterations; its body is empty. ``None`` where there are too few, or the step is not 1."""
    block = loop.parent_block()
    assert block is not None
    lower, upper = constant_of(loop.lb), constant_of(loop.ub)
    if constant_of(loop.step) != 1:
        return None
    middle: Operation
    if lower is not None and upper is not None:
        if upper - lower < count:
            return None
        middle = integer(upper - (upper - lower) % count)
        block.insert_op_before(middle, loop)
    else:
        span, zero = arith.SubiOp(loop.ub, loop.lb), integer(0)
        positive = arith.MaxSIOp(span.result, zero.result)
        mask = integer(-count)
        whole = arith.AndIOp(positive.result, mask.result)
        middle = arith.AddiOp(loop.lb, whole.result)
        block.insert_ops_before([span, zero, positive, mask, whole, middle], loop)
    stride = integer(count)
    body = body_like(loop)
    new_loop = scf.ForOp(loop.lb, middle.results[0], stride.result, [], body)
    new_loop.attributes |= loop.attributes
    block.insert_ops_before([stride, new_loop], loop)
    loop.operands[0] = middle.results[0]
    return new_loop


def _has_loops(loop: scf.ForOp) -> bool:
    return any(
        isinstance(each, scf.ForOp | scf.WhileOp) for each in loop.walk() if each is not loop
    )


def _power(number: int) -> int:
    """The largest power of two that is not more; 0 of 0."""
    return 1 << number.bit_length() - 1 if number > 0 else 0


def write_iteration(loop: scf.ForOp, number: int, behind: bool = False) -> None:
    """An iteration, before the loop or right ``behind`` it."""
    block = loop.parent_block()
    assert block is not None
    induction = integer(number)
    values: dict[SSAValue, SSAValue] = {loop.body.block.args[0]: induction.result}
    new_ops: list[Operation] = [induction]
    for each in loop.body.block.ops:
        if not isinstance(each, scf.YieldOp):
            new_ops.append(each.clone(values))
    if behind:
        block.insert_ops_after(new_ops, loop)
    else:
        block.insert_ops_before(new_ops, loop)


def _several(loop: scf.ForOp, step: int, count: int, upper: int) -> None:
    """The loop up to ``upper``, ``count`` iterations at a time."""
    block = loop.parent_block()
    assert block is not None
    last, stride = integer(upper), integer(step * count)
    body = body_like(loop)
    for number in range(count):
        _iteration(loop, body, step * number)
    body.add_op(scf.YieldOp())
    new_loop = scf.ForOp(loop.lb, last.result, stride.result, [], body)
    new_loop.attributes |= loop.attributes
    block.insert_ops_before([last, stride, new_loop], loop)
    loop.detach()
    loop.erase()


def _iteration(loop: scf.ForOp, body: Block, number: int) -> None:
    """Adds at the end of ``body`` the iteration of its induction variable + ``number``."""
    offset = integer(number)
    induction = arith.AddiOp(body.args[0], offset.result)
    body.add_ops([offset, induction])
    values: dict[SSAValue, SSAValue] = {loop.body.block.args[0]: induction.result}
    for each in loop.body.block.ops:
        if not isinstance(each, scf.YieldOp):
            body.add_op(each.clone(values))
