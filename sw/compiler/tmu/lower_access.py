"""From SLC or SLCV to DLC: layers, streams and events of the access unit; cases of the other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr, VectorType, i1
from xdsl.ir import Block, Operation, Region, SSAValue

from hw.lib.errors import CapacityError
from hw.tmu.access_isa import (
    EVENT_STEPS,
    UNBOUNDED,
    UNIT,
    AluOperation,
    Event,
    EventKind,
    Mode,
    StreamKind,
)
from hw.tmu.access_program import EventStep, Layer, Operand, Stream, Unit, own, parent
from hw.tmu.config import TmuConfig
from sw.compiler.tmu.dialects.dlc import END, START, AccessOp, CaseOp, layer_op
from sw.compiler.tmu.dialects.slc import (
    AluStrOp,
    CallbackOp,
    ForOp,
    MemStrOp,
    PopOp,
    PushOp,
    StoreStrOp,
    StreamType,
)
from sw.compiler.tmu.early_tokens import early_tokens
from sw.compiler.tmu.scf import place_of
from sw.compiler.tmu.values import constant_of

_Term = tuple[SSAValue, int]
"""A stream, and what its values are multiplied by."""

_MOST_STRIDE = (1 << UNIT["stride"].width) - 1


def lower_access(module: ModuleOp, config: TmuConfig) -> ModuleOp:
    """The DLC of a chain of loops. O(operations).

    Layers' queues share ``stream_words``: one half among the streams of the outer loops, the other
    for the innermost. Raises ``CapacityError`` naming what ``config`` has too little of.
    """
    function = module.body.block.first_op
    assert isinstance(function, func.FuncOp)
    lowering = _Lowering(function, config)
    lowering.run()
    return lowering.module


@dataclass
class _Layer:
    """What a loop becomes. ``numbers``: of its streams; ``queued``: those that somebody reads."""

    loop: ForOp
    unit: Unit = field(default_factory=Unit)
    streams: list[Stream] = field(default_factory=list)
    numbers: dict[SSAValue, int] = field(default_factory=dict)
    arrays: dict[tuple[int, int], str] = field(default_factory=dict)
    queued: set[int] = field(default_factory=set)
    events: dict[Event, list[EventStep]] = field(default_factory=dict)
    slots: int = 1

    def step(self, event: Event, step: EventStep) -> None:
        self.events.setdefault(event, []).append(step)


class _Lowering:
    def __init__(self, function: func.FuncOp, config: TmuConfig) -> None:
        self._config = config
        self._function = function
        self._names: dict[SSAValue, str] = dict(
            zip(function.body.block.args, _names(function), strict=True)
        )
        self._layers: list[_Layer] = []
        self._place: dict[SSAValue, int] = {}
        self._sums: dict[tuple[SSAValue, SSAValue, int], SSAValue] = {}
        self._forwarded: dict[tuple[SSAValue, int], int] = {}
        self._tokens: list[str] = []
        self._cases: list[tuple[str, CallbackOp]] = []
        self._starts: list[CallbackOp] = []
        self._ends: list[CallbackOp] = []

    def run(self) -> None:
        loops = [each for each in self._function.body.block.ops if isinstance(each, ForOp)]
        (outermost,) = loops
        is_behind = False
        for operation in self._function.body.block.ops:
            is_behind |= operation is outermost
            if isinstance(operation, CallbackOp):
                (self._ends if is_behind else self._starts).append(operation)
        self._traverse(outermost)
        end = EventStep(EventKind.TOKEN, token=self._token(END))
        self._layers[0].step(Event.END, end)
        self._order_tokens()
        self._divide_queues()
        self._check()
        self.module = self._module()

    # Loops.

    def _traverse(self, loop: ForOp) -> None:
        layer = _Layer(loop)
        self._layers.append(layer)
        depth = len(self._layers) - 1
        if depth >= self._config.layers:
            raise CapacityError(
                f"{place_of(loop)}: layers = {self._config.layers}: must be at least {depth + 1}"
            )
        layer.streams.append(Stream(StreamKind.INDUCTION))
        layer.numbers[loop.induction] = 0
        self._place[loop.induction] = depth
        lower, upper = constant_of(loop.lower), constant_of(loop.upper)
        step = loop.step.value.data
        if step > _MOST_STRIDE:
            raise CapacityError(
                f"{place_of(loop)}: a step of {step}: must be at most {_MOST_STRIDE}"
            )
        layer.unit = Unit(
            lower=Operand() if lower is not None else self._parent(loop.lower, depth),
            upper=Operand() if upper is not None else self._parent(loop.upper, depth),
            lower_immediate=lower or 0,
            upper_immediate=upper or 0,
            stride=step,
            accumulates=loop.accumulates is not None,
            ordered=_is_element(loop.upper) and (lower == 0 or _is_element(loop.lower)),
        )
        operations = list(loop.body.block.ops)
        inner = next((each for each in operations if isinstance(each, ForOp)), None)
        for operation in operations:
            if isinstance(operation, AluStrOp | MemStrOp):
                self._stream(operation, depth)
        self._events(_before(operations, inner), depth, Event.ITERATION)
        if inner is not None:
            self._traverse(inner)
            behind = operations[operations.index(inner) + 1 :]
            self._events(behind, depth + 1, Event.END)

    def _events(self, operations: Iterable[Operation], depth: int, event: Event) -> None:
        layer = self._layers[depth]
        for operation in operations:
            if isinstance(operation, PushOp):
                layer.step(event, self._push(operation.stream, bool(operation.aligned)))
            elif isinstance(operation, StoreStrOp):
                layer.step(event, self._store(operation))
            elif isinstance(operation, CallbackOp):
                for stream in operation.streams:
                    layer.step(event, self._push(stream))
                if operation.masked:
                    layer.step(event, EventStep(EventKind.MASK, layer=depth))
                name = f"case_{len(self._cases)}"
                self._cases.append((name, operation))
                layer.step(event, EventStep(EventKind.TOKEN, token=self._token(name)))

    def _push(self, stream: SSAValue, aligned: bool = False) -> EventStep:
        place = self._place[stream]
        number = self._layers[place].numbers[stream]
        self._layers[place].queued.add(number)
        assert isinstance(stream.type, StreamType)
        is_vector = isinstance(stream.type.element, VectorType) and number != 0
        kind = EventKind.VECTOR if is_vector or aligned else EventKind.WORD
        return EventStep(kind, layer=place, stream=number)

    def _store(self, store: StoreStrOp) -> EventStep:
        """Its value and its address become streams of one layer, in whose iterations it happens."""
        loops = [layer.loop for layer in self._layers]
        place = next(at for at, loop in enumerate(loops) if loop is store.parent_op())
        layer = self._layers[place]
        word = self._word(store.array, store.indices, place)
        address = len(layer.streams)
        layer.arrays[0, address] = self._names[store.array]
        layer.queued.add(address)
        layer.streams.append(replace(word, kind=StreamKind.ADDRESS))
        number = self._at(store.value, place)
        return EventStep(EventKind.STORE, layer=place, stream=number, address=address)

    def _token(self, name: str) -> int:
        self._tokens.append(name)
        return len(self._tokens) - 1

    # Streams.

    def _stream(self, operation: AluStrOp | MemStrOp, depth: int) -> None:
        if isinstance(operation, AluStrOp):
            if not _is_needed(operation):
                return
            a, b, immediate = self._pair(operation.left, operation.right, depth)
            name = AluOperation[operation.operation.data.upper()]
            made = Stream(StreamKind.ALU, name, a, b, immediate=immediate)
        else:
            word = self._word(operation.array, operation.indices, depth)
            made = replace(word, temporal=not _is_index(operation))
        layer = self._layers[depth]
        layer.numbers[operation.stream] = len(layer.streams)
        self._place[operation.stream] = depth
        if isinstance(operation, MemStrOp):
            layer.arrays[0, len(layer.streams)] = self._names[operation.array]
        layer.streams.append(made)

    def _word(self, array: SSAValue, indices: Sequence[SSAValue], depth: int) -> Stream:
        """Operands, scale, base and length of a word in row-major order, for layer ``depth``."""
        assert isinstance(array.type, MemRefType)
        shape = [size.data for size in array.type.shape]
        base = 0
        terms: list[_Term] = []
        for axis, index in enumerate(indices):
            stride = math.prod(shape[axis + 1 :])
            stream, offset = _offset(index)
            base += offset * stride
            if stream is not None:
                terms.append((stream, stride))
        # What outer loops give is added up there.
        terms.sort(key=lambda term: self._known_from(term[0], depth))
        while len(terms) > 2 or (len(terms) == 2 and terms[0][1] != 1 != terms[1][1]):
            terms[:2] = [self._sum(terms[0], terms[1], depth)]
        if len(terms) == 2 and terms[1][1] != 1:
            terms.reverse()
        a, b, scale = Operand(), Operand(), 1
        if terms:
            a, scale = self._operand(terms[0][0], depth), terms[0][1]
        if len(terms) == 2:
            b = self._operand(terms[1][0], depth)
        return Stream(
            StreamKind.MEMORY, a=a, b=b, scale=scale, base=base, length=math.prod(shape) - base
        )

    def _known_from(self, stream: SSAValue, depth: int) -> int:
        """The outermost layer up to ``depth`` in which it can be an operand."""
        place = self._place[stream]
        is_loaded = self._layers[place].streams[self._number(stream)].kind == StreamKind.MEMORY
        return min(place + is_loaded, depth)

    def _number(self, stream: SSAValue) -> int:
        return self._layers[self._place[stream]].numbers[stream]

    def _sum(self, left: _Term, right: _Term, depth: int) -> _Term:
        """Both as one, as far out as it can be."""
        if left[1] % max(1, right[1]):
            left, right = right, left
        factor = left[1] // max(1, right[1])
        key = left[0], right[0], factor
        if key not in self._sums:
            place = max(self._known_from(each[0], depth) for each in (left, right))
            layer = self._layers[place]
            operands = [self._operand(each[0], place) for each in (left, right)]
            # Known by a value of its own.
            body = layer.loop.body.block
            value = body.insert_arg(StreamType(i1), len(body.args))
            layer.numbers[value] = len(layer.streams)
            self._place[value] = place
            layer.streams.append(
                Stream(
                    StreamKind.ADDRESS, a=operands[0], b=operands[1], scale=factor, length=UNBOUNDED
                )
            )
            self._sums[key] = value
        return self._sums[key], right[1]

    def _pair(self, left: SSAValue, right: SSAValue, depth: int) -> tuple[Operand, Operand, int]:
        first, second = constant_of(left), constant_of(right)
        a = Operand() if first is not None else self._operand(left, depth)
        b = Operand() if second is not None else self._operand(right, depth)
        return a, b, (first if first is not None else second) or 0

    def _operand(self, stream: SSAValue, depth: int) -> Operand:
        if self._place[stream] == depth:
            return own(self._layers[depth].numbers[stream])
        return self._parent(stream, depth)

    def _parent(self, stream: SSAValue, depth: int) -> Operand:
        """A stream of the layer around ``depth``, which forwards those of layers further out."""
        return parent(self._at(stream, depth - 1))

    def _at(self, stream: SSAValue, depth: int) -> int:
        layer = self._layers[depth]
        if self._place[stream] == depth:
            number = layer.numbers[stream]
        elif (stream, depth) in self._forwarded:
            number = self._forwarded[stream, depth]
        else:
            source = parent(self._at(stream, depth - 1))
            number = len(layer.streams)
            layer.streams.append(Stream(StreamKind.FORWARD, a=source))
            self._forwarded[stream, depth] = number
        layer.queued.add(number)
        return number

    # The whole.

    def _order_tokens(self) -> None:
        innermost = self._layers[-1].loop
        lower, upper = constant_of(innermost.lower), constant_of(innermost.upper)
        iterations = None
        if lower is not None and upper is not None:
            lanes = self._config.lanes if innermost.vector is not None else 1
            iterations = max(0, -(-(upper - lower) // (innermost.step.value.data * lanes)))
        ordered = early_tokens(
            [layer.events for layer in self._layers],
            iterations,
            self._config.lanes,
            self._config.data_words,
        )
        for layer, events in zip(self._layers, ordered, strict=True):
            layer.events = events

    def _divide_queues(self) -> None:
        words = self._config.stream_words
        outer = sum(len(layer.queued) for layer in self._layers[:-1])
        share = words // 2 // outer if outer else 1
        row = 0
        for layer in self._layers:
            is_last = layer is self._layers[-1]
            count = len(layer.queued)
            slots = (words - row) // count if is_last and count else share
            if slots < 1:
                raise CapacityError(
                    f"stream_words = {words}: must be at least {2 * outer}: so many streams of "
                    "outer loops are read"
                )
            for number in sorted(layer.queued):
                layer.streams[number] = replace(layer.streams[number], queued=True, queue=row)
                row += slots
            layer.unit = replace(layer.unit, streams=tuple(layer.streams))
            layer.slots = slots

    def _check(self) -> None:
        config = self._config
        for layer in self._layers:
            if len(layer.streams) > config.streams:
                raise CapacityError(
                    f"{place_of(layer.loop)}: streams = {config.streams}: must be at least "
                    f"{len(layer.streams)}"
                )
        steps = sum(len(each) for layer in self._layers for each in layer.events.values())
        if steps > EVENT_STEPS:
            raise CapacityError(
                f"{place_of(self._layers[0].loop)}: {steps} steps of events: must be at most "
                f"{EVENT_STEPS}"
            )

    def _module(self) -> ModuleOp:
        layers = Block()
        for layer in self._layers:
            mode = Mode.LOCKSTEP if layer.loop.vector is not None else Mode.SINGLE
            events = {event: tuple(steps) for event, steps in layer.events.items()}
            made = Layer(mode, (layer.unit,), layer.slots, 0, events)
            layers.add_op(layer_op(made, self._tokens, layer.arrays))
        types = list(self._function.function_type.inputs)
        body = Region(Block(arg_types=types))
        arguments = self._function.body.block.args
        for argument, old in zip(body.block.args, arguments, strict=True):
            argument.name_hint = old.name_hint
        arrays: dict[SSAValue, SSAValue] = dict(zip(arguments, body.block.args, strict=True))
        cases: list[tuple[str, list[CallbackOp]]] = [
            (START, self._starts),
            *((name, [callback]) for name, callback in self._cases),
            (END, self._ends),
        ]
        for name, callbacks in cases:
            case = Block()
            for callback in callbacks:
                _pop_arguments(callback, case, arrays)
            body.block.add_op(CaseOp(name, Region(case)))
        body.block.add_op(func.ReturnOp())
        execute = func.FuncOp(self._function.sym_name.data, (types, []), body)
        execute.attributes |= self._function.attributes
        return ModuleOp([AccessOp(Region(layers)), execute])


def _pop_arguments(callback: CallbackOp, block: Block, arrays: dict[SSAValue, SSAValue]) -> None:
    """Copies a callback's body into a case, with its arguments taken from the data queue."""
    values = dict(arrays)
    for argument in callback.body.block.args:
        pop = PopOp(argument.type)
        pop.value.name_hint = argument.name_hint
        block.add_op(pop)
        values[argument] = pop.value
    for operation in callback.body.block.ops:
        made = operation.clone(values)
        block.add_op(made)
        for old, new in zip(operation.results, made.results, strict=True):
            values[old] = new


def _is_element(bound: SSAValue) -> bool:
    """Whether it is a word of memory, as offsets and lengths are."""
    return isinstance(bound.owner, MemStrOp)


def _before(operations: list[Operation], inner: Operation | None) -> list[Operation]:
    return operations if inner is None else operations[: operations.index(inner)]


def _offset(index: SSAValue) -> tuple[SSAValue | None, int]:
    """An index as a stream, or none, plus a constant of at least 0."""
    if (number := constant_of(index)) is not None:
        return None, number
    owner = index.owner
    if isinstance(owner, AluStrOp) and owner.operation.data == "add":
        for stream, other in ((owner.left, owner.right), (owner.right, owner.left)):
            number = constant_of(other)
            if number is None or constant_of(stream) is not None:
                continue
            if number >= 0 and not _may_be_negative(stream):
                return stream, number
    return index, 0


def _may_be_negative(stream: SSAValue) -> bool:
    """Whether it is known to begin below 0."""
    loop = stream.owner.parent_op() if isinstance(stream.owner, Block) else None
    lower = constant_of(loop.lower) if isinstance(loop, ForOp) else None
    return lower is not None and lower < 0


def _is_needed(operation: AluStrOp) -> bool:
    """Whether anything but an index that has it as an offset uses it."""
    for use in operation.stream.uses:
        is_index = isinstance(use.operation, MemStrOp) or (
            isinstance(use.operation, StoreStrOp) and use.index > 0
        )
        if not is_index or _offset(operation.stream)[0] is operation.stream:
            return True
    return False


def _is_index(load: MemStrOp) -> bool:
    """Whether only streams use what is loaded: it is read once, in order."""
    return isinstance(load.array.type, MemRefType) and len(load.array.type.shape) == 1


def _names(function: func.FuncOp) -> list[str]:
    names = function.attributes["names"]
    assert isinstance(names, StringAttr)
    return names.data.split(",")
