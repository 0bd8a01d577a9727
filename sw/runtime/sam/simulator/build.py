"""Lays a machine out in arrays, as ``layout`` has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np

from gnarl.hw.lib.formats import FixedFormat, FloatFormat, parse_format
from gnarl.hw.lib.machine.memory_map import Window
from gnarl.hw.sam.block_types import ALU_OPERATIONS, BITVECTOR, DENSE, FUNCTIONS, REDUCTIONS
from gnarl.hw.sam.blocks.values.fold import Fold
from gnarl.hw.sam.blocks.values.function_block import FunctionBlock
from gnarl.hw.sam.blocks.values.sparse_accumulator import BANKS, SparseAccumulator
from gnarl.hw.sam.components import skips
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Block, Edge, Graph, own_shape
from gnarl.hw.sam.graph_datapath import hint_of
from gnarl.hw.sam.memory.line_placement import lines_of, rows_per_line
from gnarl.hw.sam.memory.placement import in_turn
from gnarl.hw.sam.memory_map import array_windows, patience
from gnarl.sw.runtime.sam.simulator import (
    accumulator,
    bypass,
    kinds,
    layout,
    line_memory,
    lookups,
    values,
    writers,
)
from gnarl.sw.runtime.sam.simulator.cycles import HINT, HINTED_LOOKUP
from gnarl.sw.runtime.sam.simulator.functions import numbers_of
from gnarl.sw.runtime.sam.simulator.numbers import ADD, MAX

BUFFER_WORDS = 1 << 14
"""Words of an array that a writer may write before they are collected."""

MORE_PLACES = 1 << 14
"""Places for blocks of values beyond those that records may mention at a time."""

_FEW_IN_FLIGHT = 8
_LOCAL_READS = 2
"""Reads of its own memory that a port has room for."""

_KINDS = {
    "root": kinds.ROOT,
    "bitvectorlookup": kinds.WORDS,
    "bitvectorexpand": kinds.BITVECTOR_EXPAND,
    "bitvectorintersect": kinds.BITVECTOR_INTERSECT,
    "bitvectorunion": kinds.BITVECTOR_UNION,
    "locate": kinds.LOCATE,
    "repeat": kinds.REPEAT,
    "repsiggen": kinds.REPEAT_SIGNALS,
    "intersect": kinds.INTERSECT,
    "union": kinds.UNION,
    "arrayvals": kinds.VALUES,
    "alu": kinds.PIPELINE,
    "fold": kinds.PIPELINE,
    "function": kinds.PIPELINE,
    "reduce": kinds.REDUCTION,
    "spaccumulator": kinds.ACCUMULATOR,
    "crddrop": kinds.DROP,
    "crdhold": kinds.HOLD,
    "valdrop": kinds.DROP_VALUES,
    "crdtopoint": kinds.TO_POINTS,
    "pointtocrd": kinds.FROM_POINTS,
    "parallelizer": kinds.DEAL,
    "crdparallelizer": kinds.DEAL_BY_CRD,
    "serializer": kinds.COLLECT,
    "valserializer": kinds.COLLECT_VALUES,
    "valwrite": kinds.LEVEL_WRITER,
}

_LOOKS = {
    kinds.INTERSECT: (0, 2),
    kinds.DENSE_LOOKUP: (0,),
    kinds.WORDS: (0,),
    kinds.REPEAT: (0,),
    kinds.DROP: (0,),
    kinds.HOLD: (0,),
    kinds.TO_POINTS: (0,),
}
"""Inputs of which a block sees two tokens."""

_NOT_ALL = (kinds.ROOT, kinds.COLLECT, kinds.COLLECT_VALUES, kinds.REPEAT)
"""Blocks that make steps before all of their inputs have tokens."""

_STATES = {
    kinds.ROOT: 1,
    kinds.DENSE_LOOKUP: 2,
    kinds.INTERSECT: 1,
    kinds.REPEAT: 2,
    kinds.BITVECTOR_EXPAND: 2,
    kinds.BITVECTOR_INTERSECT: 2,
    kinds.BITVECTOR_UNION: 2,
    kinds.DROP: 1,
    kinds.FROM_POINTS: 3,
    kinds.DEAL: 4,
    kinds.COLLECT: 1,
    kinds.COLLECT_VALUES: 3,
}


@dataclass(frozen=True)
class Laid:
    """A machine in arrays.

    records, memory
        int64 and uint32.
    blocks, outputs, queues, read, written
        where the records are: of blocks by name, of outputs by block and output, of queues by
        reader and input, and of ports of arrays that are read or written by
        ``"{block}_{array}"``. Where a stream takes two cycles, a block that is called
        ``"{block}.{output}"`` passes its tokens on.
    """

    records: np.ndarray
    memory: np.ndarray
    blocks: dict[str, int]
    outputs: dict[tuple[str, str], int]
    queues: dict[tuple[str, str], int]
    read: dict[str, int]
    written: dict[str, int]

    @property
    def lines(self) -> dict[str, int]:
        """Where counters of lines are that were moved, by array and by number of channel; none
        without a memory of lines."""
        if not self.records[layout.CHANNELS]:
            return {}
        ports = self.read | self.written
        first = int(self.records[layout.FIRST_CHANNEL]) + layout.CHANNEL_LINES
        channels = range(int(self.records[layout.CHANNELS]))
        return {
            **{name: port + layout.LINES for name, port in ports.items()},
            **{str(number): first + number * layout.CHANNEL for number in channels},
        }


def lay_out(
    graph: Graph,
    config: SamConfig,
    arrays: Mapping[str, np.ndarray],
    settings: Mapping[tuple[str, str], int],
    places: Mapping[str, tuple[int, int]] | None,
) -> Laid:
    """The machine of ``graph`` before its first cycle; ``config``: of the machine, which is the
    graph's own or a fabric; ``places``: of arrays that share a memory."""
    return _Layout(graph, config, arrays, settings, places or {}).laid


class _Layout:
    def __init__(
        self,
        graph: Graph,
        config: SamConfig,
        arrays: Mapping[str, np.ndarray],
        settings: Mapping[tuple[str, str], int],
        places: Mapping[str, tuple[int, int]],
    ) -> None:
        self._graph, self._config, self._places = graph, config, places
        self._arrays, self._settings = arrays, settings
        self._memory: list[np.ndarray] = []
        self._memory_words = 0
        self._most_words = max(graph.words_of(block.name) for block in graph.blocks)
        if self._most_words > 1:
            self._words(np.zeros(self._most_words, np.uint32))  # the block that 0 means
        self._s = [0] * layout.ONCE
        self._blocks: dict[str, int] = {}
        self._outputs: dict[tuple[str, str], int] = {}
        self._queues: dict[tuple[str, str], int] = {}
        self._written: dict[str, int] = {}
        self._ports: dict[str, int] = {}
        self._early: list[int] = []
        # Readers come before those that feed them.
        self._order: list[int] = []
        blocks = list(reversed(graph.topological()))
        for block in blocks:
            self._add_outputs(block)
            outputs = [self._outputs[block.name, output] for output in block.outputs]
            self._new_block(block.name, _kind(block), outputs)
        for block in blocks:
            self._connect(block)
        for block in blocks:
            self._hint(block)
        self._note_once()
        if self._most_words > 1:
            self._add_places()
        memory = np.concatenate([*self._memory, np.zeros(1, np.uint32)])
        self.laid = Laid(
            np.array(self._s, np.int64),
            memory,
            self._blocks,
            self._outputs,
            self._queues,
            {name: at for name, at in self._ports.items() if name not in self._written},
            self._written,
        )

    def _record(self, size: int) -> int:
        at = len(self._s)
        self._s += [0] * size
        return at

    def _words(self, words: np.ndarray) -> int:
        """Puts words into memory; where."""
        at = self._memory_words
        self._memory.append(words.astype(np.uint32).reshape(-1))
        self._memory_words += self._memory[-1].size
        return at

    def _add_outputs(self, block: Block) -> None:
        """The outputs of a block, and the queues of their readers."""
        for output in block.outputs:
            edges = self._graph.readers.get((block.name, output), ())
            self._outputs[block.name, output] = self._add_output(len(edges))
            if edges and self._config.stream_latency == 2:
                self._add_relay(block.name, output, edges)
            else:
                first = self._add_queues(edges)
                self._s[self._outputs[block.name, output] + layout.FIRST_READER] = first

    def _add_output(self, readers: int) -> int:
        at = self._record(layout.OUTPUT)
        self._s[at + layout.READERS] = readers
        return at

    def _add_queues(self, edges: tuple[Edge, ...]) -> int:
        """The queues of readers, beside each other; the first."""
        first = len(self._s)
        for edge in edges:
            self._queues[edge.target, edge.input] = self._record(layout.QUEUE)
        for edge in edges:
            depth = self._config.queue_depth if edge.depth is None else edge.depth
            self._fill_queue(self._queues[edge.target, edge.input], depth)
        return first

    def _fill_queue(self, q: int, depth: int) -> None:
        self._s[q + layout.DEPTH] = depth
        first = self._record(depth)
        for field in (layout.RING, layout.HEAD, layout.TAIL):
            self._s[q + field] = first
        self._s[q + layout.LAST] = first + depth - 1
        self._s[q + layout.POPPED] = -1

    def _add_relay(self, name: str, output: str, edges: tuple[Edge, ...]) -> None:
        """A queue behind an output, from which the readers' queues are filled."""
        queue = self._record(layout.QUEUE)
        self._fill_queue(queue, 2)
        second = self._add_output(len(edges))
        self._s[second + layout.FIRST_READER] = self._add_queues(edges)
        self._s[self._outputs[name, output] + layout.READERS] = 1
        self._s[self._outputs[name, output] + layout.FIRST_READER] = queue
        self._queues[f"{name}.{output}", "i"] = queue
        relay = self._new_block(f"{name}.{output}", kinds.RELAY, [second])
        self._s[relay + layout.INPUTS], self._s[relay + layout.IN] = 1, queue
        self._s[queue + layout.READER] = relay
        for edge in edges:
            self._s[self._queues[edge.target, edge.input] + layout.WRITER] = relay

    def _new_block(self, name: str, kind: int, outputs: list[int]) -> int:
        s, b = self._s, self._record(_OWN.get(kind, layout.OWN))
        self._blocks[name] = b
        s[b + layout.KIND] = kind
        s[b + layout.NEEDS_ALL] = kind not in _NOT_ALL
        s[b + layout.STATES] = _STATES.get(kind, 0)
        s[b + layout.OUTPUTS] = len(outputs)
        s[b + layout.OUT : b + layout.OUT + len(outputs)] = outputs
        self._order.append(b)
        return b

    def _connect(self, block: Block) -> None:
        """The inputs of a block, what feeds these, and what is particular of it."""
        s, b = self._s, self._blocks[block.name]
        kind = s[b + layout.KIND]
        s[b + layout.INPUTS] = len(block.inputs)
        for place, name in enumerate(block.inputs):
            q = self._queues.get((block.name, name), 0)
            s[b + layout.IN + place] = q
            if q:
                s[q + layout.READER] = b
                edge = self._graph.drivers[block.name, name]
                if self._config.stream_latency == 1:
                    s[q + layout.WRITER] = self._blocks[edge.source]
        for place in _LOOKS.get(kind, ()):
            s[s[b + layout.IN + place] + layout.LOOKS] = 1
        for output in block.outputs:
            readers = s[self._outputs[block.name, output] + layout.FIRST_READER]
            if self._graph.readers.get((block.name, output)) and self._config.stream_latency == 2:
                s[readers + layout.WRITER] = b
        self._add_ports(block)
        self._note_words(block, b)
        fill = _PARTICULARS.get(kind)
        if fill is not None:
            fill(self, block, b)
        is_hinted = kind == kinds.LOOKUP and skips(block, self._config)
        if is_hinted or (kind in _ASKING and self._config.memory != "local"):
            self._early.append(b)

    def _note_words(self, block: Block, b: int) -> None:
        """Notes the words of a block's values, and which of an input's each of them is made of."""
        s, given = self._s, self._graph.shapes_into(block)
        words = self._graph.words_of(block.name)
        s[b + layout.VALUE_WORDS] = words
        match block.type:
            case "alu":
                whole = given["val0"].joined(given["val1"])
                places = [shape.places(whole) for shape in given.values()]
            case "valwrite":
                places = [given["val"].places(own_shape(block))]
            case "fold":
                places = [tuple(chain(*own_shape(block).groups(block["index"])))]
            case "fiberwrite":
                places = [(0,)]
            case _:
                return
        for input, each in enumerate(places):
            if max(each) == 0:
                s[b + layout.ONE_WORD_INPUTS] |= 1 << input
            elif each != tuple(range(len(each))):
                s[b + layout.PLACES_OF + input] = len(s)
                s += each

    def _add_places(self) -> None:
        """The pool of blocks of values: more places than there are records that may mention one."""
        s = self._s
        s[layout.RECORDS] = len(s)
        s[layout.PLACES] = len(s) + MORE_PLACES
        s[layout.PLACE_WORDS] = self._most_words
        s[layout.FIRST_PLACE] = self._words(
            np.zeros(s[layout.PLACES] * self._most_words, np.uint32)
        )
        s[layout.MARKS] = self._words(np.zeros(s[layout.PLACES], np.uint32))

    def setting(self, block: Block, name: str) -> int:
        return int(self._settings[block.name, name])

    def _add_ports(self, block: Block) -> None:
        """The ports of a block's arrays, in the order of its type's."""
        s, config = self._s, self._config
        for place, array in enumerate(block.arrays):
            port = self._record(layout.PORT)
            name = f"{block.name}_{array.name}"
            s[self._blocks[block.name] + layout.PORT_OF + place] = port
            self._ports[name] = port
            s[port + layout.GRANTED] = -1
            s[port + layout.OWNER] = self._blocks[block.name]
            if array.writes:
                self._written[name] = port
                # Of segments and bitvectors one word of each row is simulated.
                s[port + layout.ROW_WORDS] = array.words if array.of_values else 1
                s[port + layout.CAPACITY] = 1 << 40
                most = min(config.rows_of(block.name, array), (1 << config.index_bits) - 1)
                s[port + layout.LOADED] = min(most, self._places.get(name, (0, most))[1])
                s[port + layout.BUFFER_WORDS] = BUFFER_WORDS
                s[port + layout.BUFFER] = self._words(np.zeros(BUFFER_WORDS + 1, np.uint32))
                continue
            rows = self._arrays[name]
            is_shared = config.memory == "shared"
            s[port + layout.CAPACITY] = config.memory_in_flight if is_shared else _LOCAL_READS
            # With two cycles, answers go through a second queue.
            local = 1 if config.local_latency == 1 else 0
            s[port + layout.LATENCY] = config.memory_latency if is_shared else local
            s[port + layout.FIRST_REQUEST] = self._record(4 * s[port + layout.CAPACITY])
            s[port + layout.ARRAY] = self._words(rows)
            s[port + layout.ROW_WORDS] = array.words
            s[port + layout.LOADED] = len(rows)

    def add_bypass(self, at: int, least: int = _FEW_IN_FLIGHT) -> None:
        """A bypass queue, as deep as reads may be under way."""
        config = self._config
        depth = max(least, 0 if config.memory == "local" else config.memory_in_flight)
        self._s[at + bypass.DEPTH] = depth
        self._s[at + bypass.RING] = self._record(depth)

    def fill_lookup(self, block: Block, b: int) -> None:
        self.add_bypass(b + lookups.ASKED)
        self.add_bypass(b + lookups.PARENTS)
        self._s[b + layout.PARAMETER] = skips(block, self._config)

    def fill_values(self, block: Block, b: int) -> None:
        self.add_bypass(b + lookups.ASKED)

    def fill_words(self, block: Block, b: int) -> None:
        self.add_bypass(b + lookups.ASKED)
        self._s[b + layout.PARAMETER] = self.setting(block, "words")

    def fill_shift(self, block: Block, b: int) -> None:
        self._s[b + layout.PARAMETER] = block["shift"]

    def fill_size(self, block: Block, b: int) -> None:
        self._s[b + layout.PARAMETER] = self.setting(block, "size")

    def fill_pipeline(self, block: Block, b: int) -> None:
        s = self._s
        stages = self._config.alu_stages
        operations = FUNCTIONS if block.type == "function" else ALU_OPERATIONS
        match block.type:
            case "alu":
                latency = stages
            case "fold":
                along = dict(own_shape(block).dims)[block["index"]]
                latency = Fold.latency(along, stages)
                s[b + values.FOLDS] = along
            case _:
                latency = FunctionBlock.latency(block["op"])
        s[b + values.OPERATION] = operations.index(block["op"])
        s[b + values.LATENCY] = latency
        s[b + values.RINGS] = at = self._record(latency)
        s[at : at + latency] = [-1] * latency
        kind = parse_format(self._config.format)
        if block.type == "function" and isinstance(kind, FloatFormat):
            s[b + values.NUMBERS] = len(s)
            s += numbers_of(block["op"], kind)

    def fill_reduction(self, block: Block, b: int) -> None:
        self._s[b + values.OPERATION] = (ADD, MAX)[REDUCTIONS.index(block["op"])]
        stages = self._config.alu_stages
        self._s[b + values.RINGS] = self._record(stages * values.FIBER if stages > 1 else 0)

    def fill_accumulator(self, block: Block, b: int) -> None:
        s, config, order = self._s, self._config, block["order"]
        words = config.accumulator_words
        s[b + accumulator.ORDER] = order
        for place in range(order):
            s[b + accumulator.FULL0 + place] = block[f"full{place}"]
            s[b + accumulator.SIZE0 + place] = self.setting(block, f"size{place}")
            s[self._queues[block.name, f"crd{place + 1}"] + layout.LOOKS] = 1
        greatest = (s[b + accumulator.SIZE0] - 1) & (1 << config.index_bits) - 1
        s[b + accumulator.SHIFT] = min(greatest.bit_length(), (words - 1).bit_length())
        # Keys are below sizes: what the machine has beyond is never used.
        outermost = int(s[b + accumulator.SIZE0 + order - 1])
        used = outermost << int(s[b + accumulator.SHIFT]) if order > 1 else outermost
        size = held = min(words, max(used, 2))
        bank = held * s[b + layout.VALUE_WORDS]
        while size > 1:
            size = -(-size // 32)
            bank += size
        s[b + accumulator.WORDS], s[b + accumulator.BANK_SIZE] = held, bank
        s[b + accumulator.SUMS] = self._words(np.zeros(bank * BANKS[order], np.uint32))
        s[b + accumulator.DRAIN_CYCLES] = SparseAccumulator.latency(words, config.alu_stages)

    def fill_writer(self, block: Block, b: int) -> None:
        self._s[b + writers.IS_EMPTY_FIBER] = 1
        self._s[b + writers.KEEPS] = bool(block.parameters.get("keep_empty"))
        if "words" in block.settings:
            self._s[b + writers.SETTING] = self.setting(block, "words")
        self._s[layout.WRITING] += 1

    def _hint(self, block: Block) -> None:
        """Leads the hint for a lookup that skips to it."""
        if not skips(block, self._config):
            return
        name, hint = hint_of(block, self._graph)
        lane, join = int(hint.removeprefix("hint")), self._blocks[name]
        b = self._blocks[block.name]
        self._s[join + HINTED_LOOKUP + lane] = b
        self._s[join + HINT + lane] = b + lookups.SKIPPING
        if join not in self._early:
            self._early.append(join)

    def _note_once(self) -> None:
        s, config = self._s, self._config
        # In the order of the blocks: hints are there before lookups ask.
        place = {b: number for number, b in enumerate(self._order)}
        early = sorted(self._early, key=place.__getitem__)
        for b in place.keys() - set(early):
            s[b + layout.BEGUN] = layout.WITH_ALL_ELSE
        for count, first, records in (
            (layout.BLOCKS, layout.FIRST_BLOCK, self._order),
            (layout.EARLY, layout.FIRST_EARLY, early),
        ):
            s[count], s[first] = len(records), self._record(len(records))
            s[s[first] : s[first] + len(records)] = records
        note_format(s, config.format)
        s[layout.INDEX_MASK] = (1 << config.index_bits) - 1
        s[layout.STAGES] = config.alu_stages
        s[layout.LAST_MOVE] = -1
        s[layout.PATIENCE] = patience(config)
        if config.memory == "shared":
            self._share_memory()
        elif config.memory == "lines":
            self._add_channels()

    def _take_turns(self, windows: Iterable[Window]) -> list[str]:
        """Ports of a memory that arrays share, in the order of their turns, by name."""
        s = self._s
        # A fabric has arrays that the graph does not use.
        used = [window.name for window in windows if window.name in self._ports]
        s[layout.PORTS], s[layout.FIRST_PORT] = len(used), self._record(len(used))
        for number, name in enumerate(used):
            port = self._ports[name]
            s[s[layout.FIRST_PORT] + number] = port
            s[port + layout.BASE] = self._places[name][0]
        return used

    def _add_channels(self) -> None:
        """The channels of a memory of lines, and what its ports keep."""
        s, config = self._s, self._config
        windows = array_windows(config)
        used = self._take_turns(windows)
        if not used:
            return
        s[layout.LINE_LATENCY], s[layout.LINE_CYCLES] = config.memory_latency, config.line_cycles
        in_flight = s[layout.IN_FLIGHT] = config.memory_latency // config.line_cycles + 1
        s[layout.AHEAD] = config.prefetch_lines
        s[layout.CHANNELS], s[layout.BANKS] = config.memory_channels, 1
        first = self._record(config.memory_channels * layout.CHANNEL)
        s[layout.FIRST_CHANNEL] = first
        for number in range(config.memory_channels):
            channel = first + number * layout.CHANNEL
            s[channel + layout.TURN] = len(used)
            s[channel + layout.ANSWERED] = s[channel + layout.UNQUEUED] = -1
            s[channel + layout.FIRST_UNDER_WAY] = self._record(
                in_flight * line_memory.UNDER_WAY_FIELDS
            )
        for window in windows:
            if window.name in self._ports:
                self._add_line_port(self._ports[window.name], window)

    def _add_line_port(self, port: int, window: Window) -> None:
        s, config = self._s, self._config
        base, rows = self._places[window.name]
        s[port + layout.LINE_SHIFT] = rows_per_line(window, config.line_words).bit_length() - 1
        s[port + layout.LINE_END] = base + lines_of(window, rows, config.line_words)
        s[port + layout.FETCHED] = s[port + layout.COME] = -1
        if window.name in self._written:
            return
        s[port + layout.CAPACITY] = s[port + layout.LATENCY] = 1
        s[port + layout.MOST_WAITING] = config.memory_in_flight
        s[port + layout.FIRST_WAITING] = self._record(
            config.memory_in_flight * line_memory.WAITING_FIELDS
        )
        s[port + layout.LAST_LINE] = -1
        slots = s[port + layout.SLOTS] = config.port_lines
        first = s[port + layout.FIRST_SLOT] = self._record(slots * layout.SLOT)
        for slot in range(first, first + slots * layout.SLOT, layout.SLOT):
            s[slot + layout.SLOT_LINE] = -1

    def _share_memory(self) -> None:
        """The banks of the one memory, and its ports in the order of their turns."""
        s, config = self._s, self._config
        windows = array_windows(config)
        used = self._take_turns(windows[number] for number in in_turn(windows))
        banks = config.memory_bandwidth
        s[layout.BANKS], s[layout.FIRST_BANK] = banks, self._record(banks * layout.BANK)
        for bank in range(banks):
            s[s[layout.FIRST_BANK] + bank * layout.BANK + layout.BANK_LAST] = len(used)


def note_format(records: list[int], format: str) -> None:
    """Notes what values are."""
    kind = parse_format(format)
    records[layout.WIDTH], records[layout.FRACTION] = kind.width, kind.fraction
    if isinstance(kind, FixedFormat):
        records[layout.FORMAT] = layout.FIXED
    else:
        is_float32 = format == "float32"
        records[layout.FORMAT] = layout.FLOAT32 if is_float32 else layout.FLOAT
        records[layout.EXPONENT] = kind.exponent


def _kind(block: Block) -> int:
    if block.type == "fiberlookup":
        return kinds.DENSE_LOOKUP if block["format"] == DENSE else kinds.LOOKUP
    if block.type == "fiberwrite":
        is_bitvector = block["format"] == BITVECTOR
        return kinds.BITVECTOR_WRITER if is_bitvector else kinds.LEVEL_WRITER
    return _KINDS[block.type]


_OWN = {
    kinds.PIPELINE: values.PIPELINE,
    kinds.REDUCTION: values.REDUCTION,
    kinds.ACCUMULATOR: accumulator.ACCUMULATOR,
    kinds.VALUES: lookups.LOOKUP,
    kinds.WORDS: lookups.LOOKUP,
    kinds.LOOKUP: lookups.LOOKUP,
    kinds.LEVEL_WRITER: writers.WRITER_END,
    kinds.BITVECTOR_WRITER: writers.WRITER_END,
}
"""Where the fields of a block's own end."""

_PARTICULARS: dict[int, Callable[[_Layout, Block, int], None]] = {
    kinds.DENSE_LOOKUP: _Layout.fill_size,
    kinds.LOCATE: _Layout.fill_size,
    kinds.DEAL_BY_CRD: _Layout.fill_shift,
    kinds.LOOKUP: _Layout.fill_lookup,
    kinds.VALUES: _Layout.fill_values,
    kinds.WORDS: _Layout.fill_words,
    kinds.PIPELINE: _Layout.fill_pipeline,
    kinds.REDUCTION: _Layout.fill_reduction,
    kinds.ACCUMULATOR: _Layout.fill_accumulator,
    kinds.LEVEL_WRITER: _Layout.fill_writer,
    kinds.BITVECTOR_WRITER: _Layout.fill_writer,
}

_ASKING = (
    kinds.LOOKUP,
    kinds.VALUES,
    kinds.WORDS,
    kinds.LEVEL_WRITER,
    kinds.BITVECTOR_WRITER,
)
