"""Decouples loops: from SCF to SLC. Source: Ember, section VI.B."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from gnarl.sw.compiler.nests.dialects import fiber
from gnarl.sw.compiler.nests.dialects.slc import (
    CONJUNCTIVE,
    DISJUNCTIVE,
    AluStrOp,
    CallbackOp,
    ForOp,
    MemStrOp,
    MergeOp,
    StreamType,
    body_of,
)
from gnarl.sw.compiler.nests.functions import function_of
from gnarl.sw.compiler.nests.guard import guard, is_in_array
from gnarl.sw.compiler.nests.operations import written_arrays
from gnarl.sw.compiler.nests.scf import MAY_BE_LEFT_OUT, PLACE, STATEMENT, place_of
from gnarl.sw.compiler.nests.values import constant_of, integer, source_of
from gnarl.sw.compiler.nests.variables import to_variables
from gnarl.sw.compiler.tmu.decoupling.accumulate import Accumulation, accumulations
from gnarl.sw.compiler.tmu.decoupling.callback_body import CallbackBody, refuse
from gnarl.sw.compiler.tmu.decoupling.presence import is_read_where_present, to_mask
from gnarl.sw.compiler.tmu.decoupling.separate_loads import separate_loads
from gnarl.sw.compiler.tmu.decoupling.share_streams import share_streams

STREAM_OPERATIONS: dict[type[Operation], str] = {
    arith.AddiOp: "add",
    arith.SubiOp: "sub",
    arith.MuliOp: "mul",
    arith.ShLIOp: "shift_left",
}
"""Operations that streams have; those of signed numbers that streams lack are not among them."""


def decouple(module: ModuleOp) -> ModuleOp:
    """Loops become loops over streams, with callbacks for all that streams cannot do.

    A loop is traversed by the access unit if its bounds are constants or streams of loops around
    it; of the loops of a body, the one over merged fibers, or else the first that reads an array. A
    load becomes a stream if nothing writes its array and its indices are streams, inside of a merge
    of one fiber; one that the nest may leave out, if it cannot fail. All else goes to callbacks,
    in the program's order. O(operations + choices x operations).

    Where no loop can be traversed, all is one callback, of the one iteration of a loop around it.

    Raises ``WorkloadError`` where a loop over merged fibers cannot be traversed, a load needs what
    its own loop loads, or a callback needs a value that an earlier one has read: it may have
    changed since.
    """
    module = separate_loads(_guard(to_variables(module)))
    function = function_of(module)
    written = written_arrays(function)
    masks: dict[fiber.MergeOp, SSAValue] = {}
    zeros: list[SSAValue] = []
    for loop in [each for each in module.walk() if isinstance(each, fiber.MergeOp)]:
        if loop.is_union:
            masks[loop], loads = to_mask(loop, written)
            zeros += loads
    body = Region(Block(arg_types=list(function.function_type.inputs)))
    for argument, old in zip(body.block.args, function.body.block.args, strict=True):
        argument.name_hint = old.name_hint
    _Decoupling(function, body.block, accumulations(module), masks, zeros).run()
    decoupled = func.FuncOp(function.sym_name.data, (list(function.function_type.inputs), []), body)
    decoupled.attributes |= function.attributes
    module = ModuleOp([decoupled])
    share_streams(module)
    return module


def _guard(module: ModuleOp) -> ModuleOp:
    """Branches around loads that the nest may leave out and that may fail, for callbacks."""
    written = written_arrays(function_of(module))

    def is_safe(choice: Operation, load: memref.LoadOp) -> bool:
        return (
            MAY_BE_LEFT_OUT not in load.attributes
            or is_in_array(load, absent_is_zero=True)
            or is_read_where_present(choice, load, written)
        )

    return guard(module, is_safe)


@dataclass
class _Level:
    """A body that is being made. ``runs``: its loop has at least one iteration, if entered;
    ``merge``: its kind, of a loop over merged fibers."""

    block: Block
    runs: bool
    merge: str = ""
    pending: list[Operation] = field(default_factory=list)


class _Decoupling:
    def __init__(
        self,
        function: func.FuncOp,
        block: Block,
        accumulations: Mapping[scf.ForOp, Accumulation],
        masks: Mapping[fiber.MergeOp, SSAValue],
        zeros: Collection[SSAValue],
    ) -> None:
        self._function = function
        old = function.body.block.args
        self._arrays: dict[SSAValue, SSAValue] = dict(zip(old, block.args, strict=True))
        self._written = written_arrays(function)
        self._accumulations = {
            loop: each for loop, each in accumulations.items() if self._reads_arrays(loop)
        }
        self._replaced = {
            operation for each in self._accumulations.values() for operation in each.replaced
        }
        self._levels = [_Level(block, True)]
        # Streams of values, and the level of each.
        self._streams: dict[SSAValue, SSAValue] = {}
        self._depths: dict[SSAValue, int] = {}
        # Fibers of merges that streams are of.
        self._fibers: dict[SSAValue, frozenset[int]] = {}
        self._masks = masks
        # Loads that are 0 where a union's fiber lacks the coordinate, and are meant to be.
        self._zeros = zeros
        # Streams by what they are, so that none is made twice.
        self._made: dict[tuple[object, ...], SSAValue] = {}

    def run(self) -> None:
        self._body(self._function.body.block.ops)
        if not self._streams:
            self._once()
        self._levels[0].block.add_op(func.ReturnOp())

    def _once(self) -> None:
        """What has no loop to traverse becomes the iteration of one that has no other."""
        block, region = self._levels[0].block, body_of([StreamType(i32)])
        for operation in list(block.ops):
            operation.detach()
            region.block.add_op(operation)
        zero, one = integer(0), integer(1)
        loop = ForOp(zero.result, one.result, 1, region)
        place = next((text for each in self._function.walk() if (text := place_of(each))), "")
        loop.attributes[PLACE] = StringAttr(place)
        block.add_ops([zero, one, loop])

    def _body(self, operations: Iterable[Operation]) -> None:
        """Decouples the body of the loop that is the innermost so far."""
        level = self._levels[-1]
        operations = list(operations)
        has_inner = False
        merges = any(isinstance(each, fiber.MergeOp) for each in operations)
        for operation in operations:
            if isinstance(operation, arith.ConstantOp | arith.IndexCastOp | scf.YieldOp):
                continue
            if isinstance(operation, func.ReturnOp) or operation in self._replaced:
                continue
            if type(operation) in STREAM_OPERATIONS and self._is_known(operation.operands):
                continue
            if isinstance(operation, memref.LoadOp) and self._reads_only(operation):
                self._load(operation)
            elif isinstance(operation, fiber.MergeOp):
                self._check_merge(operation, has_inner)
                self._flush()
                self._merge(operation)
                has_inner = True
            elif (
                isinstance(operation, scf.ForOp)
                and not (has_inner or merges)
                and self._traverses(operation)
            ):
                self._flush()
                self._loop(operation)
                has_inner = True
            else:
                _require_no_merge(operation)
                level.pending.append(operation)
        self._flush()

    def _is_known(self, values: Iterable[SSAValue]) -> bool:
        """Whether streams or constants can have these values."""
        for value in map(source_of, values):
            if value in self._streams or constant_of(value) is not None:
                continue
            owner = value.owner
            if isinstance(owner, Operation) and type(owner) in STREAM_OPERATIONS:
                if self._is_known(owner.operands):
                    continue
            return False
        return True

    def _reads_only(self, load: memref.LoadOp) -> bool:
        return load.memref not in self._written and self._is_known(load.indices)

    def _traverses(self, loop: scf.ForOp) -> bool:
        if loop in self._accumulations:
            return self._is_known([self._accumulations[loop].length])
        has_bounds = self._has_streams((loop.lb, loop.ub))
        return self._reads_arrays(loop) and has_bounds and constant_of(loop.step) is not None

    def _has_streams(self, bounds: Sequence[SSAValue]) -> bool:
        """Whether streams of the innermost loop so far can be bounds of one inside of it. Streams
        of a union are 0 at times; only its own callbacks know when, unless 0 is meant."""
        place = len(self._levels) - 1
        return (
            (self._levels[-1].merge != DISJUNCTIVE or self._are_zeros(bounds))
            and self._is_known(bounds)
            and all(self._has_unit([each], place) for each in bounds)
        )

    def _are_zeros(self, bounds: Iterable[SSAValue]) -> bool:
        return all(source_of(each) in self._zeros for each in bounds)

    def _reads_arrays(self, loop: scf.ForOp) -> bool:
        return any(
            isinstance(each, fiber.MergeOp)
            or (isinstance(each, memref.LoadOp) and each.memref not in self._written)
            for each in loop.walk()
        )

    def _check_merge(self, loop: fiber.MergeOp, has_inner: bool) -> None:
        place = place_of(loop)
        if has_inner:
            refuse(place, "a loop over merged fibers behind another one in the same body")
        if any(array in self._written for array in loop.coordinates):
            refuse(place, "a loop over merged fibers whose coordinates the nest writes")
        bounds = [*loop.lowers, *loop.uppers]
        if self._levels[-1].merge == DISJUNCTIVE and not self._are_zeros(bounds):
            refuse(place, "a loop over merged fibers inside of a union")
        if not self._has_streams(bounds):
            refuse(place, "a loop over merged fibers whose bounds are no streams")

    def _merge(self, loop: fiber.MergeOp) -> None:
        depth = len(self._levels)
        kind = DISJUNCTIVE if loop.is_union else CONJUNCTIVE
        lowers, uppers = (
            [self._stream(each) for each in part] for part in (loop.lowers, loop.uppers)
        )
        old = loop.body.block.args
        region = body_of([StreamType(i32)] * len(old))
        for argument, stream in zip(old, region.block.args, strict=True):
            stream.name_hint = argument.name_hint
            self._streams[argument] = stream
            self._depths[stream] = depth
        merge_op = MergeOp(
            kind, [self._arrays[each] for each in loop.coordinates], lowers, uppers, region
        )
        for number, position in enumerate(merge_op.positions):
            self._fibers[position] = frozenset({number})
        self._levels.append(_Level(region.block, False, kind))
        self._body(loop.body.block.ops)
        self._levels.pop()
        merge_op.attributes[PLACE] = StringAttr(place_of(loop))
        self._levels[-1].block.add_op(merge_op)

    def _loop(self, loop: scf.ForOp) -> None:
        region = body_of([StreamType(i32)])
        region.block.args[0].name_hint = loop.body.block.args[0].name_hint
        accumulation = self._accumulations.get(loop)
        if accumulation is None:
            lower, upper = self._stream(loop.lb), self._stream(loop.ub)
        else:
            zero = integer(0)
            self._levels[-1].block.add_op(zero)
            lower, upper = SSAValue.get(zero), self._stream(accumulation.length)
        first, last, step = (constant_of(each) for each in (loop.lb, loop.ub, loop.step))
        assert step is not None
        runs = first is not None and last is not None and first < last
        induction = loop.body.block.args[0]
        self._streams[induction] = region.block.args[0]
        self._depths[region.block.args[0]] = len(self._levels)
        self._levels.append(_Level(region.block, runs))
        self._body(loop.body.block.ops)
        self._levels.pop()
        stream_loop = ForOp(lower, upper, step, region, accumulates=accumulation is not None)
        stream_loop.attributes[PLACE] = StringAttr(place_of(loop))
        if STATEMENT in loop.attributes:
            stream_loop.attributes[STATEMENT] = loop.attributes[STATEMENT]
        self._levels[-1].block.add_op(stream_loop)

    def _load(self, load: memref.LoadOp) -> None:
        """Loads in the outermost loop that has its indices, from loops around it if they are
        loaded, and is sure to need it."""
        place = max((self._depth(index) for index in load.indices), default=0) or 1
        place = max([place, *(self._loaded(index) + 1 for index in load.indices)])
        while not all(level.runs for level in self._levels[place + 1 :]):
            place += 1
        if place >= len(self._levels) or not self._has_unit(load.indices, place):
            self._levels[-1].pending.append(load)
            return
        indices = [self._stream(index, place) for index in load.indices]
        key = (place, load.memref, *map(_identity, indices))
        if key not in self._made:
            assert isinstance(load.memref.type, MemRefType)
            stream_load = MemStrOp(
                self._arrays[load.memref], indices, load.memref.type.element_type
            )
            stream_load.attributes[PLACE] = StringAttr(place_of(load))
            self._levels[place].block.add_op(stream_load)
            self._made[key] = stream_load.stream
            self._depths[stream_load.stream] = place
            self._fibers[stream_load.stream] = self._fibers_of(load.indices, place)
        self._streams[load.res] = self._made[key]

    def _has_unit(self, values: Sequence[SSAValue], place: int) -> bool:
        """Whether a unit of level ``place`` has all it needs for a stream of these values."""
        kind = self._levels[place].merge
        if not kind:
            return True
        fibers = self._fibers_of(values, place)
        return len(fibers) == 1 if kind == DISJUNCTIVE else len(fibers) <= 1

    def _fibers_of(self, values: Iterable[SSAValue], place: int) -> frozenset[int]:
        """Fibers that level ``place`` merges of whose positions values come."""
        fibers: frozenset[int] = frozenset()
        for value in map(source_of, values):
            if value in self._streams:
                stream = self._streams[value]
                if self._depths[stream] == place:
                    fibers |= self._fibers.get(stream, frozenset())
            elif constant_of(value) is None:
                assert isinstance(value.owner, Operation)
                fibers |= self._fibers_of(value.owner.operands, place)
        return fibers

    def _depth(self, value: SSAValue) -> int:
        """The level whose iterations a value differs between."""
        value = source_of(value)
        if value in self._streams:
            return self._depths[self._streams[value]]
        if constant_of(value) is not None:
            return 0
        assert isinstance(value.owner, Operation)
        return max(map(self._depth, value.owner.operands))

    def _loaded(self, value: SSAValue) -> int:
        """The innermost level that loads what a value is computed from; 0 if none does."""
        value = source_of(value)
        if value in self._streams:
            stream = self._streams[value]
            return self._depths[stream] if isinstance(stream.owner, MemStrOp) else 0
        if constant_of(value) is not None:
            return 0
        assert isinstance(value.owner, Operation)
        return max(map(self._loaded, value.owner.operands))

    def _stream(self, value: SSAValue, place: int | None = None) -> SSAValue:
        """A constant, or the stream that has a value, made in level ``place`` if need be."""
        value = source_of(value)
        block = self._levels[-1 if place is None else place].block
        if (number := constant_of(value)) is not None:
            new_op = integer(number)
            block.add_op(new_op)
            return new_op.result
        if value in self._streams:
            return self._streams[value]
        assert isinstance(value.owner, Operation)
        left, right = (self._stream(each, place) for each in value.owner.operands)
        depth = len(self._levels) - 1 if place is None else place
        name = STREAM_OPERATIONS[type(value.owner)]
        key = (depth, name, _identity(left), _identity(right))
        if key not in self._made:
            operation = AluStrOp(name, left, right, i32)
            block.add_op(operation)
            self._made[key] = operation.stream
            self._depths[operation.stream] = depth
        return self._made[key]

    def _flush(self) -> None:
        """A callback of all that the level has not done yet."""
        level = self._levels[-1]
        if not level.pending:
            return
        region = body_of([])
        streams: list[SSAValue] = []
        callback = CallbackBody(region.block, self._arrays, self._written, self._streams, streams)
        for operation in level.pending:
            callback.copy(operation)
        level.block.add_op(CallbackOp(streams, region))
        level.pending = []


def _require_no_merge(operation: Operation) -> None:
    """Refuses loops over merged fibers inside of an operation that is not traversed."""
    for each in operation.walk():
        if isinstance(each, fiber.MergeOp):
            kind = (
                "a condition" if isinstance(operation, scf.IfOp) else "a loop that is not traversed"
            )
            refuse(place_of(each), f"a loop over merged fibers inside of {kind}")


def _identity(value: SSAValue) -> object:
    """Equal for equal constants and for the same stream."""
    number = constant_of(value)
    return value if number is None else number
