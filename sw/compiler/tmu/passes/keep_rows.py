"""Keeps a row in registers that all iterations of a loop read: beyond Ember's table II."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    VectorType,
    i1,
)
from xdsl.ir import Block, Operation, SSAValue

from gnarl.hw.lib.encoding.execute_isa import VECTOR_REGISTERS
from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects.slc import (
    CallbackOp,
    ForOp,
    GetOp,
    MemStrOp,
    PopOp,
    PushOp,
    SetOp,
    StreamType,
    body_of,
)
from gnarl.sw.compiler.nests.values import constant_of, integer, is_inside
from gnarl.sw.compiler.tmu.callbacks.join_callbacks import join_callbacks
from gnarl.sw.compiler.tmu.callbacks.kept_vectors import as_index
from gnarl.sw.compiler.tmu.passes.queued_fiber import (
    QueuedFiber,
    counted_value,
    kept_variables,
    queued_fiber,
    write_out_loops,
)

TEMPORARIES = 8
"""Vector registers for what a callback computes."""


def keep_rows(module: ModuleOp, lanes: int, fits: Callable[[ModuleOp], bool]) -> ModuleOp:
    """Keeps a row that the innermost loop queues, and that is the same in all iterations of the
    loop around it: the execute unit loads it before that loop, into variables.

    Its other indices are numbers, or count loops further out, and are inside of the array. Where
    kept vectors leave fewer than ``TEMPORARIES`` registers to what the callback computes, the first
    ones of the row are loaded again at its end: until then, their registers have what is computed
    from them. Where vectors are more than registers, or the result has no room in the hardware,
    ``fits``, all stays as it is. O(operations).
    """
    changed = copied(module)
    queued = queued_fiber(changed)
    if queued is None:
        return module
    rows = [push for push in queued.pushes if _is_of_outer_loops(push, queued)]
    kept, count = len(kept_variables(changed)), len(rows) * len(queued.starts)
    if not rows or kept + count > VECTOR_REGISTERS:
        return module
    write_out_loops(queued.callback.body.block)
    taken = queued.taken()
    if taken is None:
        return module
    begin = CallbackOp([], body_of([]))
    outer = queued.around.parent_block()
    assert outer is not None
    outer.insert_op_before(begin, queued.around)
    names = {each.variable.data for each in changed.walk() if isinstance(each, GetOp | SetOp)}
    places = {push: _Row(push, queued, lanes, begin, names) for push in rows}
    vectors = [(pop, places[push], at) for pop, (push, at) in taken.items() if push in places]
    again = max(0, kept + count + TEMPORARIES - VECTOR_REGISTERS)
    for number, (pop, row, at) in enumerate(vectors):
        _keep(pop, row, at, is_loaded_again=number < again)
    for push in rows:
        push.detach()
        push.erase()
    _drop_unused_streams(queued.loop)
    join_callbacks(changed)
    return changed if fits(changed) else module


def _keep(pop: PopOp, row: _Row, at: int, *, is_loaded_again: bool) -> None:
    """Vector ``at`` of a row instead of what is taken from the queue."""
    block = pop.parent_block()
    assert block is not None
    name = row.keep(at)
    get = GetOp(name, pop.value.type)
    block.insert_op_before(get, pop)
    pop.value.replace_all_uses_with(get.value)
    pop.detach()
    pop.erase()
    if is_loaded_again:
        block.add_op(SetOp(name, row.load(at, block, row.variables(block))))


def _is_of_outer_loops(push: PushOp, found: QueuedFiber) -> bool:
    """Whether all iterations of the loop around the fiber's queue the same row; and there is one
    where that loop has none."""
    load = push.stream.owner
    if not isinstance(load, MemStrOp) or load.indices[-1] is not found.loop.induction:
        return False
    assert isinstance(load.array.type, MemRefType)
    *outer, _ = zip(load.indices, load.array.type.get_shape(), strict=True)
    return all(_is_known(index, size, found.around) for index, size in outer)


def _is_known(index: SSAValue, size: int, around: ForOp) -> bool:
    """Whether an index below ``size`` is a number, or counts a loop outside of ``around``."""
    if (number := constant_of(index)) is not None:
        return 0 <= number < size
    loop = index.owner.parent_op() if isinstance(index.owner, Block) else None
    if not isinstance(loop, ForOp) or loop is around or not is_inside(around, loop):
        return False
    lower, upper = constant_of(loop.lower), constant_of(loop.upper)
    return lower is not None and upper is not None and 0 <= lower and upper <= size


class _Row:
    """The row that ``push`` queues in the innermost loop. ``begin``: the callback that loads it."""

    def __init__(
        self, push: PushOp, found: QueuedFiber, lanes: int, begin: CallbackOp, names: set[str]
    ) -> None:
        load = push.stream.owner
        assert isinstance(load, MemStrOp)
        self._array = load.array
        self._found = found
        self._lanes = lanes
        self._block = begin.body.block
        self._name = _new(load.array.name_hint or "array", names)
        self._indices = [self._index(each, begin) for each in load.indices[:-1]]
        self._variables: list[tuple[str, SSAValue] | int] = []
        for number, index in enumerate(self._indices):
            if (constant := constant_of(index)) is not None:
                self._variables.append(constant)
                continue
            name = f"{self._name}_at_{number}"
            self._block.add_op(SetOp(name, index))
            self._variables.append((name, index))

    def _index(self, stream: SSAValue, begin: CallbackOp) -> SSAValue:
        """The index in the callback: a number, a counter, or a word that is queued for it."""
        if (number := constant_of(stream)) is not None:
            return _add(self._block, integer(number))
        loop = stream.owner.parent_op() if isinstance(stream.owner, Block) else None
        assert isinstance(loop, ForOp)
        if (counted := counted_value(self._block, loop)) is not None:
            return counted
        around = begin.parent_block()
        assert around is not None and isinstance(stream.type, StreamType)
        around.insert_op_before(PushOp(stream, aligned=True), begin)
        row = _add(self._block, PopOp(VectorType(stream.type.element, [self._lanes])))
        return _add(self._block, vector.ExtractOp(row, [0], stream.type.element))

    def keep(self, at: int) -> str:
        """The variable that has vector ``at`` from the callback on."""
        name = f"{self._name}_{at}"
        self._block.add_op(SetOp(name, self.load(at, self._block, self._indices)))
        return name

    def variables(self, block: Block) -> list[SSAValue]:
        """Indices, at the end of another callback's body."""
        indices = []
        for each in self._variables:
            if isinstance(each, int):
                indices.append(_add(block, integer(each)))
            else:
                name, index = each
                indices.append(_add(block, GetOp(name, index.type)))
        return indices

    def load(self, at: int, block: Block, rows: Sequence[SSAValue]) -> SSAValue:
        """Loads vector ``at``; lanes beyond the row's end are 0."""
        array, first = self._array, self._found.starts[at]
        assert isinstance(array.type, MemRefType)
        type = VectorType(array.type.element_type, [self._lanes])
        indices = [as_index(each, block) for each in (*rows, _add(block, integer(first)))]
        used = self._found.end - first
        if used >= self._lanes:
            return _add(block, vector.LoadOp(array, indices, type))
        count = _add(block, arith.ConstantOp(IntegerAttr(used, IndexType())))
        mask = _add(block, vector.CreateMaskOp([count], VectorType(i1, [self._lanes])))
        zero = DenseIntOrFPElementsAttr.from_list(type, [0])
        rest = _add(block, arith.ConstantOp(zero))
        return _add(block, vector.MaskedLoadOp(array, indices, mask, rest, type))


def _drop_unused_streams(loop: ForOp) -> None:
    for operation in reversed(list(loop.body.block.ops)):
        if operation.results and not any(each.uses.get_length() for each in operation.results):
            operation.detach()
            operation.erase()


def _new(name: str, names: set[str]) -> str:
    """A name that no variable's begins with."""
    while any(each.startswith(f"{name}_kept") for each in names):
        name += "_"
    names.add(f"{name}_kept")
    return f"{name}_kept"


def _add(block: Block, operation: Operation) -> SSAValue:
    block.add_op(operation)
    return operation.results[0]
