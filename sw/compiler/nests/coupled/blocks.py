"""Several iterations of loops around sums at a time, so that what they share is loaded once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import ModuleOp, UnitAttr, VectorType
from xdsl.ir import Block, Operation, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.coupled.block_cost import LONG, best_counts, work_of
from gnarl.sw.compiler.nests.dependences.orders import are_apart
from gnarl.sw.compiler.nests.dialects.slc import SetOp
from gnarl.sw.compiler.nests.execute.affine import affine_of
from gnarl.sw.compiler.nests.execute.unroll import BLOCK
from gnarl.sw.compiler.nests.operations import LOADS, PURE, STORES, array_of, written_arrays
from gnarl.sw.compiler.nests.values import (
    body_like,
    constant_of,
    counted,
    integer,
    is_defined_inside,
    is_innermost,
    iterations_of,
    trips,
)
from gnarl.sw.compiler.nests.variables import are_private, copy_apart

_SHARED = (*PURE, vector.BroadcastOp, vector.CreateMaskOp)


def block_loops(module: ModuleOp, budget: int) -> ModuleOp:
    """Does several iterations of loops at a time inside of a loop that adds up, where the
    iterations are independent: a block of rows and columns of sums. The rest of the iterations
    follows as a block of its own.

    ``budget``: instructions that may become of an iteration of the inner loop. ``for i: for j: for
    k: c[i, j] += …`` becomes ``for i by 4: for j by 4: for k: c[i, j] += …; … c[i + 3, j + 3] +=
    …``; what does not depend on i, or on j, is done once for all of these. O(operations x size of a
    block).
    """
    module = copied(module)
    done: set[Operation] = set()
    for loop in [each for each in module.walk() if isinstance(each, scf.ForOp)]:
        if loop in done or (adding := _adding(loop)) is None:
            continue
        around = [each for each in _loops_to(loop, adding) if _is_apart(each)]
        if around and around[0] is loop:
            done |= {each for each in loop.walk() if isinstance(each, scf.ForOp)}
            _block(loop, adding, around, budget)
    return module


def _block(loop: scf.ForOp, adding: scf.ForOp, around: Sequence[scf.ForOp], budget: int) -> None:
    """Jams the loops around one that adds up, of which ``loop`` is the outermost."""
    work = work_of(adding, around)
    counts = best_counts(work, around, budget)
    if work.of(counts) > LONG:
        for each in loop.walk():
            if isinstance(each, scf.ForOp) and is_innermost(each):
                each.attributes[BLOCK] = UnitAttr()
    for each in reversed(around):
        if counts.get(each, 1) > 1:
            _jam(each, counts[each])


def _adding(loop: scf.ForOp) -> scf.ForOp | None:
    """The first of the innermost loops in a loop that adds up elements, or vectors of its own."""
    for each in loop.body.walk():
        if not isinstance(each, scf.ForOp) or not is_innermost(each):
            continue
        stores = [one for one in each.body.block.ops if isinstance(one, STORES)]
        sets = [one for one in each.body.block.ops if isinstance(one, SetOp)]
        is_one = all(
            not is_defined_inside(value, each)
            for store in stores
            for index in store.indices
            for value in affine_of(index).terms
        )
        is_wide = any(isinstance(one.value.type, VectorType) for one in sets)
        if is_one and (stores or is_wide):
            return each
    return None


def _loops_to(loop: scf.ForOp, inner: scf.ForOp) -> list[scf.ForOp]:
    """Loops from ``loop`` to the one around ``inner``, the outermost first; none if ``inner`` is in
    a branch of the loop."""
    loops: list[scf.ForOp] = []
    around = inner.parent_op()
    while isinstance(around, scf.ForOp):
        loops.insert(0, around)
        if around is loop:
            return loops
        around = around.parent_op()
    return []


def _is_apart(loop: scf.ForOp) -> bool:
    """Whether a loop of constant bounds has no iteration that needs to know of another, or that has
    bounds of its own, or branches."""
    if iterations_of(loop) is None or loop.results:
        return False
    for each in loop.body.walk():
        if isinstance(each, scf.ForOp):
            bounds = [one for one in each.operands if constant_of(one) is None]
            if any(is_defined_inside(one, loop) for one in bounds):
                return False
        elif each.regions:
            return False
    return are_apart(loop) and are_private(loop)


def _jam(loop: scf.ForOp, count: int) -> None:
    """``count`` iterations of a loop become one, the rest another one behind it."""
    block = loop.parent_block()
    assert block is not None
    span = trips(loop)
    whole = len(span) // count * count
    for part, together in ((span[:whole], count), (span[whole:], len(span) - whole)):
        if len(part):
            body = _together(loop, span.step, together)
            bounds, new_loop = counted(range(part.start, part.stop, part.step * together), body)
            new_loop.attributes |= loop.attributes
            block.insert_ops_before([*bounds, new_loop], loop)
    loop.detach()
    loop.erase()


def _together(loop: scf.ForOp, step: int, count: int) -> Block:
    """A body of ``count`` iterations."""
    counter = loop.body.block.args[0]
    body = body_like(loop)
    copies: list[dict[SSAValue, SSAValue]] = [{counter: body.args[0]}]
    for number in range(1, count):
        off = integer(number * step)
        later = arith.AddiOp(body.args[0], off.result)
        body.add_ops([off, later])
        copies.append({counter: later.result})
    _Copying(written_arrays(loop)).operations(loop.body.block.ops, copies, body)
    body.add_op(scf.YieldOp())
    return body


class _Copying:
    """Copies iterations of a loop. ``written``: arrays that iterations write."""

    def __init__(self, written: set[SSAValue]) -> None:
        self._written = written

    def operations(
        self,
        operations: Iterable[Operation],
        copies: Sequence[dict[SSAValue, SSAValue]],
        body: Block,
    ) -> None:
        """Operation by operation, of all iterations, but what these have in common once, and one
        loop for all of them. ``copies``: what values are in each iteration."""
        first = copies[0]
        for operation in operations:
            if isinstance(operation, scf.YieldOp):
                continue
            if isinstance(operation, scf.ForOp):
                self._loop(operation, copies, body)
                continue
            for number, values in enumerate(copies):
                if number and self._is_shared(operation, first, values):
                    values |= {result: first[result] for result in operation.results}
                else:
                    body.add_op(copy_apart(operation, values, number))

    def _loop(
        self, loop: scf.ForOp, copies: Sequence[dict[SSAValue, SSAValue]], body: Block
    ) -> None:
        inner = body_like(loop)
        for values in copies:
            values[loop.body.block.args[0]] = inner.args[0]
        self.operations(loop.body.block.ops, copies, inner)
        inner.add_op(scf.YieldOp())
        lower, upper, step = (copies[0].get(each, each) for each in (loop.lb, loop.ub, loop.step))
        new_loop = scf.ForOp(lower, upper, step, [], inner)
        new_loop.attributes |= loop.attributes
        body.add_op(new_loop)

    def _is_shared(
        self,
        operation: Operation,
        one: dict[SSAValue, SSAValue],
        other: dict[SSAValue, SSAValue],
    ) -> bool:
        is_load = isinstance(operation, LOADS) and array_of(operation) not in self._written
        return (is_load or isinstance(operation, _SHARED)) and all(
            one.get(each, each) is other.get(each, each) for each in operation.operands
        )
