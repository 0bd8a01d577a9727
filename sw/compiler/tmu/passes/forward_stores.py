"""Keeps in registers what is stored and loaded again at once: beyond Ember's table II."""

from __future__ import annotations

from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects.slc import CallbackOp, GetOp, PushOp, SetOp
from gnarl.sw.compiler.nests.execute.unroll import write_iteration
from gnarl.sw.compiler.nests.operations import LOADS, STORES, array_of, stored_value, written_arrays
from gnarl.sw.compiler.nests.values import iterations_of
from gnarl.sw.compiler.tmu.callbacks.kept_vectors import MOST_REGISTERS
from gnarl.sw.compiler.tmu.callbacks.masks import lanes_of, only_lanes_matter
from gnarl.sw.compiler.tmu.callbacks.words import Words, words_of

_ALL, _UNKNOWN = None, -1
"""Lanes of an access without a mask, and with one that is not known before the run; else lanes."""


def forward_stores(module: ModuleOp) -> ModuleOp:
    """A load takes what was stored to the same words in its callback, or in the one before it with
    nothing but words that are queued in between; of stores to the same words without a load between
    them, the last one stays. Under a mask, words are those of so many first lanes; a load takes
    them where no other of its lanes matters.

    For that, two such callbacks become one, behind those words, and loops are written out; where no
    load takes anything, all stays as it is. O(operations), and pairs of accesses of a callback.
    """
    module = copied(module)
    for callback in [each for each in module.walk() if isinstance(each, CallbackOp)]:
        alone = _replaced([callback])
        before = _callback_before(alone)
        if before is not None:
            _replaced([before, alone])
    return module


def _callback_before(callback: CallbackOp) -> CallbackOp | None:
    before = callback.prev_op
    while isinstance(before, PushOp | arith.ConstantOp):
        before = before.prev_op
    if not isinstance(before, CallbackOp) or before.streams or before.masked or callback.streams:
        return None
    return None if callback.masked else before


def _replaced(callbacks: list[CallbackOp]) -> CallbackOp:
    """One callback in the place of the last one, or that if no load of it takes anything."""
    *others, last = callbacks
    replacement = last.clone()
    block = replacement.body.block
    first = block.first_op
    for other in others:
        values: dict[SSAValue, SSAValue] = {}
        copies = [each.clone(values) for each in other.body.block.ops]
        if first is None:
            block.add_ops(copies)
        else:
            block.insert_ops_before(copies, first)
    _write_out_loops(block)
    if not _forward(block):
        replacement.erase()
        return last
    _drop_overwritten(block)
    _set_last(block)
    around = last.parent_block()
    assert around is not None
    around.insert_op_before(replacement, last)
    for each in callbacks:
        each.detach()
        each.erase()
    return replacement


def _write_out_loops(block: Block) -> None:
    """Loops that store or load vectors of arrays that are both stored and loaded."""
    loaded = {array_of(each) for each in block.walk() if isinstance(each, LOADS)}
    arrays = loaded & {array for each in block.ops for array in written_arrays(each)}
    for loop in [each for each in block.ops if isinstance(each, scf.ForOp)]:
        iterations = iterations_of(loop)
        if iterations is None or len(iterations) > MOST_REGISTERS or not _touches(loop, arrays):
            continue
        if not any(each.regions for each in loop.body.ops):
            for number in iterations:
                write_iteration(loop, number)
            loop.detach()
            loop.erase()


def _touches(loop: scf.ForOp, arrays: set[SSAValue]) -> bool:
    accesses = (each for each in loop.walk() if isinstance(each, (*LOADS, *STORES)))
    return any(array_of(each) in arrays for each in accesses)


def _forward(block: Block) -> bool:
    """Whether a load took what was stored."""
    words = words_of(block)
    known: dict[tuple[Words, int | None], SSAValue] = {}
    is_forwarded = False
    for operation in list(block.ops):
        if operation.regions:
            gone = written_arrays(operation)
            known = {each: value for each, value in known.items() if each[0].array not in gone}
        if operation not in words:
            continue
        place, lanes = words[operation], _lanes(operation)
        if isinstance(operation, STORES):
            known = {each: value for each, value in known.items() if not each[0].may_meet(place)}
            known[place, lanes] = stored_value(operation)
        elif (place, lanes) in known and _may_take(operation, lanes):
            operation.results[0].replace_all_uses_with(known[place, lanes])
            operation.detach()
            operation.erase()
            is_forwarded = True
    return is_forwarded


def _drop_overwritten(block: Block) -> None:
    words = words_of(block)
    later: set[tuple[Words, int | None]] = set()
    for operation in reversed(list(block.ops)):
        if operation.regions:
            read = {array_of(each) for each in operation.walk() if isinstance(each, LOADS)}
            later = {each for each in later if each[0].array not in read}
        if operation not in words:
            continue
        place, lanes = words[operation], _lanes(operation)
        if isinstance(operation, LOADS):
            later = {each for each in later if not each[0].may_meet(place)}
        elif lanes != _UNKNOWN and not later.isdisjoint({(place, lanes), (place, _ALL)}):
            operation.detach()
            operation.erase()
        else:
            later.add((place, lanes))


def _lanes(access: Operation) -> int | None:
    if not isinstance(access, vector.MaskedLoadOp | vector.MaskedStoreOp):
        return _ALL
    found = lanes_of(access.mask)
    return _UNKNOWN if found is None else found


def _may_take(load: Operation, lanes: int | None) -> bool:
    """Whether a load may be what was stored in the same lanes of the same words."""
    if lanes is _ALL:
        return True
    return lanes != _UNKNOWN and only_lanes_matter(load.results[0], lanes)


def _set_last(block: Block) -> None:
    """Variables get new values when the old ones are no longer needed."""
    operations = list(block.ops)
    for number, operation in enumerate(operations):
        if not isinstance(operation, SetOp):
            continue
        behind = [each for later in operations[number + 1 :] for each in later.walk()]
        uses = [each for each in behind if isinstance(each, GetOp | SetOp)]
        if all(each.variable != operation.variable for each in uses):
            operation.detach()
            block.add_op(operation)
