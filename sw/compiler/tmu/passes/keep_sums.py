"""Keeps in registers what a loop adds up: beyond Ember's table II."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Operation

from gnarl.sw.compiler.nests.dependences.accesses import access_of, may_meet
from gnarl.sw.compiler.nests.dialects.slc import CallbackOp, ForOp, GetOp, SetOp, body_of
from gnarl.sw.compiler.nests.functions import arrays_of, function_of
from gnarl.sw.compiler.nests.hoist import hoist
from gnarl.sw.compiler.nests.operations import STORES, array_of
from gnarl.sw.compiler.nests.values import right_inside, source_of
from gnarl.sw.compiler.tmu.callbacks.join_callbacks import join_callbacks
from gnarl.sw.compiler.tmu.callbacks.kept_vectors import KeptVectors, kept_vectors
from gnarl.sw.compiler.tmu.callbacks.named_row import keep_named_row
from gnarl.sw.compiler.tmu.passes.queued_fiber import counter_of


def keep_sums(module: ModuleOp, zeros: Collection[str]) -> ModuleOp:
    """A callback that reads and writes the same vectors of an array in all iterations of the loop
    around it keeps them in variables, which are written to the array when that loop has ended; of
    a last vector with fewer lanes, those. Where an index says which row they are of, see
    ``keep_named_row``.

    ``zeros``: arrays that are 0 before the run. Variables begin as 0; so the array must be of
    ``zeros``. O(operations).
    """
    module = hoist(module)  # rows that are computed are known before loops over their vectors
    function = function_of(module)
    at_zero = {array for array, name in arrays_of(function).items() if name in zeros}
    for callback in [each for each in module.walk() if isinstance(each, CallbackOp)]:
        kept, around = kept_vectors(callback), callback.parent_op()
        if kept is None or kept.array not in at_zero or not isinstance(around, ForOp):
            continue
        if _is_of_one_iteration(kept, around) and _is_first(kept, around, function):
            _keep_in_loop(kept, around)
        elif len(kept.rows) == 1 and kept.is_alone(function):
            keep_named_row(kept, function)
    join_callbacks(module)
    return module


def _is_of_one_iteration(found: KeptVectors, around: ForOp) -> bool:
    """Whether the vectors are of one iteration of the loops around ``around`` alone: their other
    indices count these loops, all of them."""
    owners = [row.owner for row in found.rows]
    rows = [owner.variable.data for owner in owners if isinstance(owner, GetOp)]
    counters: list[str | None] = []
    parent = around.parent_op()
    while isinstance(parent, ForOp):
        counters.append(counter_of(parent))
        parent = parent.parent_op()
    are_counted = len(rows) == len(found.rows) == len(counters) and {*rows} == {*counters}
    return are_counted and bool(rows) and found.is_alone(around)


def _is_first(found: KeptVectors, around: ForOp, function: func.FuncOp) -> bool:
    """Whether no other store of the array may come before that of the same words: it writes others,
    or stands behind the loops, or behind ``around`` in them and in the same rows."""
    operations = list(function.walk())
    place = operations.index(around)
    outermost = right_inside(around, function)
    kept = access_of(found.updates[0].store)
    own = {each.store for each in found.updates}
    for number, store in enumerate(operations):
        if not isinstance(store, STORES) or array_of(store) is not found.array or store in own:
            continue
        holder = right_inside(store, function)
        is_behind = number > place
        if is_behind and (holder is not outermost or _rows(store) == _rows(kept.operation)):
            continue
        if may_meet(access_of(store), kept, function):
            return False
    return True


def _rows(store: Operation) -> list[str | None]:
    """Variables that are all indices but the last one, ``None`` for others."""
    assert isinstance(store, STORES)
    *rows, _ = store.indices
    owners = [source_of(each).owner for each in rows]
    return [each.variable.data if isinstance(each, GetOp) else None for each in owners]


def _keep_in_loop(found: KeptVectors, around: ForOp) -> None:
    """Variables are written behind the loop, and are 0 again."""
    region = body_of([])
    block = region.block
    counters = []
    for row in found.rows:
        assert isinstance(row.owner, GetOp)
        get = GetOp(row.owner.variable.data, row.type)
        block.add_op(get)
        counters.append(get.value)
    for each in found.vectors:
        each.store(block, found.array, counters)
    zero = arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(found.type, [0.0]))
    again: list[Operation] = [SetOp(each.name, zero.result) for each in found.vectors]
    block.add_ops([zero, *again])
    outer = around.parent_block()
    assert outer is not None
    outer.insert_op_after(CallbackOp([], region), around)
    found.replace()
