"""Keeps in registers what a loop adds up: beyond Ember's table II."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.dialects import arith, func, scf, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, i32
from xdsl.ir import Block, Region

from sw.compiler.tmu.dialects.slc import CallbackOp, ForOp, GetOp, SetOp, body_of
from sw.compiler.tmu.functions import arrays_of, function_of
from sw.compiler.tmu.join_callbacks import join_callbacks
from sw.compiler.tmu.kept_vectors import KeptVectors, as_index, kept_vectors, write
from sw.compiler.tmu.values import integer


def keep_sums(module: ModuleOp, zeros: Collection[str]) -> ModuleOp:
    """A callback that reads and writes the same vectors of an array in all iterations of the loop
    around it keeps them in variables, which are written to the array when that loop has ended.
    Where an index says which vectors they are, they are those of the last iteration's index, and
    written when it changes, too.

    ``zeros``: arrays that are 0 before the run. Variables begin as 0; so the array must be of
    ``zeros``. O(operations).
    """
    module = module.clone()
    function = function_of(module)
    at_zero = {array for array, name in arrays_of(function).items() if name in zeros}
    for callback in [each for each in module.walk() if isinstance(each, CallbackOp)]:
        found, around = kept_vectors(callback), callback.parent_op()
        if found is None or found.array not in at_zero or not isinstance(around, ForOp):
            continue
        if _is_of_one_iteration(found, around):
            _keep_in_loop(found, around)
        elif len(found.rows) == 1 and found.is_alone(function):
            _keep_until_row_changes(found, function)
    join_callbacks(module)
    return module


def _is_of_one_iteration(found: KeptVectors, around: ForOp) -> bool:
    """Whether the vectors are of one iteration of the loops around ``around`` alone: their other
    indices count these loops, all of them."""
    owners = [row.owner for row in found.rows]
    counters = {owner.variable.data for owner in owners if isinstance(owner, GetOp)}
    outer = 0
    parent = around.parent_op()
    while isinstance(parent, ForOp):
        outer += 1
        parent = parent.parent_op()
    are_counted = len(counters) == outer == len(found.rows)
    return are_counted and outer > 0 and found.is_alone(around)


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
    write(block, found.array, found.names, found.starts, found.type, counters)
    zero = arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(found.type, [0.0]))
    block.add_op(zero)
    block.add_ops([SetOp(name, zero.result) for name in found.names])
    outer = around.parent_block()
    assert outer is not None
    outer.insert_op_after(CallbackOp([], region), around)
    found.replace()


def _keep_until_row_changes(found: KeptVectors, function: func.FuncOp) -> None:
    """Variables are those of row ``kept``, at first 0, whose vectors are 0, too."""
    kept = f"{found.array.name_hint or 'array'}_row"
    block = found.callback.body.block
    (row,) = found.rows
    last = GetOp(kept, i32)
    changes = arith.CmpiOp(row, last.value, "ne")
    body = Block()
    write(body, found.array, found.names, found.starts, found.type, [last.value])
    for name, start in zip(found.names, found.starts, strict=True):
        first = integer(start)
        body.add_op(first)
        at = [as_index(each, body) for each in (row, first.result)]
        load = vector.LoadOp.build(operands=[found.array, at], result_types=[found.type])
        body.add_ops([load, SetOp(name, load.result)])
    body.add_ops([SetOp(kept, row), scf.YieldOp()])
    block.insert_ops_before([last, changes, scf.IfOp(changes.result, [], Region(body))], found.loop)
    end = body_of([])
    get = GetOp(kept, i32)
    end.block.add_op(get)
    write(end.block, found.array, found.names, found.starts, found.type, [get.value])
    outermost = [each for each in function.body.block.ops if isinstance(each, ForOp)][-1]
    function.body.block.insert_op_after(CallbackOp([], end), outermost)
    found.replace()
