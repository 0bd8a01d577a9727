"""Lowers SLC or SLCV to DLC: layers, streams and events of the access unit; cases of the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp, VectorType
from xdsl.ir import Block, Operation, Region, SSAValue

from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.tmu.access_isa import EVENT_STEPS, Event, EventKind
from gnarl.hw.tmu.access_program import EventStep
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.nests.dialects.slc import (
    LOOPS,
    AluStrOp,
    CallbackOp,
    ForOp,
    MemStrOp,
    MergeOp,
    PopOp,
    PushOp,
    StoreStrOp,
    StreamType,
    ToggleOp,
)
from gnarl.sw.compiler.nests.functions import arrays_of, function_of
from gnarl.sw.compiler.nests.scf import place_of
from gnarl.sw.compiler.nests.values import constant_of
from gnarl.sw.compiler.tmu.access.early_tokens import early_tokens
from gnarl.sw.compiler.tmu.access.index_streams import is_of_coordinate
from gnarl.sw.compiler.tmu.access.layers import AccessLayers, LayerInProgress
from gnarl.sw.compiler.tmu.dialects.dlc import END, START, AccessOp, CaseOp, layer_op


def lower_access(module: ModuleOp, config: TmuConfig) -> ModuleOp:
    """The DLC of a chain of loops. O(operations).

    Raises ``CapacityError`` naming what ``config`` has too little of.
    """
    function = function_of(module)
    lowering = _Lowering(function, config)
    lowering.run()
    return lowering.module


class _Lowering:
    def __init__(self, function: func.FuncOp, config: TmuConfig) -> None:
        self._function = function
        self._config = config
        self._access = AccessLayers(config, arrays_of(function))
        self._tokens: list[str] = []
        self._cases: list[tuple[str, CallbackOp | ToggleOp]] = []
        self._starts: list[CallbackOp] = []
        self._ends: list[CallbackOp] = []
        self._needed = _needed(function)

    def run(self) -> None:
        operations = list(self._function.body.block.ops)
        (outermost,) = (each for each in operations if isinstance(each, LOOPS))
        is_behind = False
        for operation in operations:
            is_behind |= operation is outermost
            if isinstance(operation, CallbackOp):
                (self._ends if is_behind else self._starts).append(operation)
        self._traverse(outermost)
        stores = any(isinstance(each, StoreStrOp) for each in outermost.walk())
        self._waits = bool(self._cases) or stores
        if self._waits:
            end = EventStep(EventKind.TOKEN, token=self._token(END))
            self._access.layers[0].step(Event.END, end)
        self._order_tokens()
        self._access.divide_queues()
        self._check()
        self.module = self._module()

    # Loops.

    def _traverse(self, loop: ForOp | MergeOp) -> None:
        self._access.enter(loop)
        depth = len(self._access.layers) - 1
        operations = list(loop.body.block.ops)
        inner = next((each for each in operations if isinstance(each, LOOPS)), None)
        for operation in operations:
            if operation in self._needed and isinstance(operation, AluStrOp | MemStrOp):
                self._access.add(operation)
        self._events(_before(operations, inner), depth, Event.ITERATION)
        if inner is not None:
            self._traverse(inner)
            behind = operations[operations.index(inner) + 1 :]
            self._events(behind, depth + 1, Event.END)

    def _events(self, operations: Iterable[Operation], depth: int, event: Event) -> None:
        layer = self._access.layers[depth]
        for operation in operations:
            if isinstance(operation, PushOp):
                for step in self._push(operation.stream, bool(operation.aligned)):
                    layer.step(event, step)
            elif isinstance(operation, StoreStrOp):
                layer.step(event, self._access.store(operation))
            elif isinstance(operation, CallbackOp):
                for stream in operation.streams:
                    for step in self._push(stream):
                        layer.step(event, step)
                if operation.masked:
                    layer.step(event, EventStep(EventKind.MASK, layer=depth))
                self._case(layer, event, operation)
            elif isinstance(operation, ToggleOp):
                (watched,) = self._push(operation.stream, bool(operation.aligned))
                layer.toggle = watched.stream
                layer.step(Event.TOGGLE, watched)
                self._case(layer, Event.TOGGLE, operation)

    def _case(self, layer: LayerInProgress, event: Event, operation: CallbackOp | ToggleOp) -> None:
        name = f"case_{len(self._cases)}"
        self._cases.append((name, operation))
        layer.step(event, EventStep(EventKind.TOKEN, token=self._token(name)))

    def _push(self, stream: SSAValue, aligned: bool = False) -> Iterator[EventStep]:
        for depth, layer in enumerate(self._access.layers):
            if isinstance(layer.loop, MergeOp) and stream is layer.loop.mask:
                yield EventStep(EventKind.MASK, layer=depth)
                return
        assert isinstance(stream.type, StreamType)
        for depth, place in self._access.read(stream):
            is_vector = isinstance(stream.type.element, VectorType) and place.number != 0
            kind = EventKind.VECTOR if is_vector or aligned else EventKind.WORD
            yield EventStep(kind, layer=depth, lane=place.unit, stream=place.number)

    def _token(self, name: str) -> int:
        self._tokens.append(name)
        return len(self._tokens) - 1

    # The whole.

    def _order_tokens(self) -> None:
        layers = self._access.layers
        ordered = early_tokens(
            [layer.events for layer in layers],
            self._iterations(layers[-1].loop),
            self._config.lanes,
            self._config.data_words,
        )
        for layer, events in zip(layers, ordered, strict=True):
            layer.events = events

    def _iterations(self, loop: ForOp | MergeOp) -> int | None:
        """Iterations of the hardware's loop, if known."""
        if isinstance(loop, MergeOp):
            return None
        lower, upper = constant_of(loop.lower), constant_of(loop.upper)
        if lower is None or upper is None:
            return None
        lanes = self._config.lanes if loop.vector is not None else 1
        return max(0, -(-(upper - lower) // (loop.step.value.data * lanes)))

    def _check(self) -> None:
        self._access.check()
        layers = self._access.layers
        steps = sum(len(each) for layer in layers for each in layer.events.values())
        if steps > EVENT_STEPS:
            raise CapacityError(
                f"{place_of(layers[0].loop)}: {steps} steps of events: must be at most "
                f"{EVENT_STEPS}"
            )

    def _module(self) -> ModuleOp:
        layers = Block()
        for layer in self._access.layers:
            layers.add_op(layer_op(layer.finished(), self._tokens, layer.arrays))
        types = list(self._function.function_type.inputs)
        body = Region(Block(arg_types=types))
        arguments = self._function.body.block.args
        for argument, old in zip(body.block.args, arguments, strict=True):
            argument.name_hint = old.name_hint
        arrays: dict[SSAValue, SSAValue] = dict(zip(arguments, body.block.args, strict=True))
        cases: list[tuple[str, Sequence[CallbackOp | ToggleOp]]] = [
            (START, self._starts),
            *((name, [callback]) for name, callback in self._cases),
            (END, self._ends),
        ]
        if not self._waits:
            cases = [(START, [*self._starts, *self._ends])]
        for name, callbacks in cases:
            case = Block()
            for callback in callbacks:
                _pop_arguments(callback, case, arrays)
            body.block.add_op(CaseOp(name, Region(case)))
        body.block.add_op(func.ReturnOp())
        execute = func.FuncOp(self._function.sym_name.data, (types, []), body)
        execute.attributes |= self._function.attributes
        return ModuleOp([AccessOp(Region(layers)), execute])


def _pop_arguments(
    callback: CallbackOp | ToggleOp, block: Block, arrays: dict[SSAValue, SSAValue]
) -> None:
    """Copies a callback's body into a case, with its arguments taken from the data queue."""
    values = dict(arrays)
    for number, argument in enumerate(callback.body.block.args):
        stream = callback.streams[number] if number < len(callback.streams) else None
        values[argument] = popped = _pop(block, argument, _words(stream))
        popped.name_hint = argument.name_hint
    for operation in callback.body.block.ops:
        cloned = operation.clone(values)
        block.add_op(cloned)
        for old, new in zip(operation.results, cloned.results, strict=True):
            values[old] = new


def _pop(block: Block, argument: SSAValue, words: int) -> SSAValue:
    """All but one of its words are 0, or all that are not are the same."""
    first = PopOp(argument.type)
    block.add_op(first)
    value: SSAValue = first.value
    for _ in range(1, words):
        pop = PopOp(argument.type)
        either = arith.OrIOp(value, pop.value)
        block.add_ops([pop, either])
        value = either.result
    return value


def _words(stream: SSAValue | None) -> int:
    """Words that are queued for a value, as ``AccessLayers.read`` says."""
    if stream is None or not is_of_coordinate(stream):
        return 1
    owner = stream.owner
    loop = owner.parent_op()
    assert isinstance(loop, MergeOp)
    return len(loop.coordinates)


def _needed(function: func.FuncOp) -> set[Operation]:
    """Streams of which something else is made than other streams that nothing needs: hardware
    brings what it does not queue to where other streams are."""
    needed: set[Operation] = set()
    for operation in reversed(list(function.walk())):
        if isinstance(operation, AluStrOp | MemStrOp):
            users = {use.operation for use in operation.stream.uses}
            if any(each in needed or not isinstance(each, AluStrOp | MemStrOp) for each in users):
                needed.add(operation)
    return needed


def _before(operations: list[Operation], inner: Operation | None) -> list[Operation]:
    return operations if inner is None else operations[: operations.index(inner)]
