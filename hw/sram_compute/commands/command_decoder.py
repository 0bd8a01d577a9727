"""Decodes a command's units to what it asks of whom, and whether that makes sense."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.encoding.execute_isa import Opcode as ExecuteOpcode
from gnarl.hw.sram_compute import isa
from gnarl.hw.sram_compute.bank.bank_command import CommandKind, bank_command_layout
from gnarl.hw.sram_compute.config import LINE_BITS
from gnarl.hw.sram_compute.isa import (
    COMMANDS,
    MOST_UNITS,
    NEAR_COMMANDS,
    NEAR_OPERATIONS,
    STRIP,
    UNIT_BITS,
    UNITS,
    Opcode,
    Second,
)
from gnarl.hw.sram_compute.network.exchange import exchange_layout
from gnarl.hw.sram_compute.operations import MAX_WIDTH
from gnarl.hw.sram_compute.streams.near_memory import COMMAND_BITS
from gnarl.hw.sram_compute.transfer.layout_walker import ENTRY
from gnarl.hw.sram_compute.transfer.line_transposer import transfer_layout


def decoded_layout(
    wordlines: int, bitlines: int, tiles: int, microinstructions: int
) -> data.StructLayout:
    """A command, for each of those that may do it.

    opcode, units
        its kind, and how long it is.
    is_unknown, bad_operand, bad_layout, is_outside
        there is no such opcode; a number is beyond what there is, or rows overlap; the entry of a
        ``LAYOUT`` makes no sense; lines of a ``COPY`` are none of memory.
    bank, exchange, transfer, layout, entry, first, near, keeps
        what banks do, the exchange, the transfer; the number of an entry; its new contents; the
        core's first instruction; the command, for ``NearMemory``; that of an ``END``.
    """
    return data.StructLayout(
        {
            "opcode": Opcode.as_shape(),
            "units": range(MOST_UNITS + 1),
            "is_unknown": 1,
            "bad_operand": 1,
            "bad_layout": 1,
            "is_outside": 1,
            "bank": bank_command_layout(wordlines, bitlines, tiles, microinstructions),
            "exchange": exchange_layout(wordlines, bitlines, tiles),
            "transfer": transfer_layout(wordlines),
            "layout": 4,
            "entry": ENTRY,
            "first": 16,
            "near": COMMAND_BITS,
            "keeps": 1,
        }
    )


class CommandDecoder(wiring.Component):
    """Latency: 0 cycles.

    Parameters: ``wordlines``, ``bitlines``, ``tiles``, and ``arrays`` of a bank, all powers of two;
    ``microinstructions`` of the ROM; ``core_instructions``, 0 without a core; ``memory_lines``;
    ``has_engines``, of streams.

    Members: ``units``, the next ``MOST_UNITS`` units; ``decoded``, a ``decoded_layout``.
    """

    def __init__(
        self,
        wordlines: int,
        bitlines: int,
        tiles: int,
        arrays: int,
        microinstructions: int,
        core_instructions: int,
        memory_lines: int,
        has_engines: bool,
    ) -> None:
        self._memory_lines = memory_lines
        self._bank_lines = wordlines * bitlines * tiles // LINE_BITS
        self._wordlines = wordlines
        self._bitlines = bitlines
        self._tiles = tiles
        self._arrays = arrays
        self._microinstructions = microinstructions
        missing = {Opcode.CORE} if core_instructions == 0 else set()
        self._missing = missing if has_engines else missing | {*NEAR_COMMANDS}
        self._core_instructions = max(1, core_instructions)
        decoded = decoded_layout(wordlines, bitlines, tiles, microinstructions)
        super().__init__({"units": In(MOST_UNITS * UNIT_BITS), "decoded": Out(decoded)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        decoded = self.decoded
        views = {
            opcode: data.View(layout, self.units[: layout.size])
            for opcode, layout in COMMANDS.items()
        }
        m.d.comb += [
            decoded.opcode.eq(self.units[: Opcode.as_shape().width]),
            decoded.is_unknown.eq(1),
        ]
        with m.Switch(decoded.opcode):
            for opcode, view in views.items():
                with m.Case(opcode):
                    m.d.comb += [
                        decoded.is_unknown.eq(opcode in self._missing),
                        decoded.units.eq(UNITS[opcode]),
                        decoded.bad_operand.eq(self._bad_operand(opcode, view)),
                        *self._meaning(opcode, view),
                    ]
        m.d.comb += decoded.bad_layout.eq(self._bad_entry(decoded.entry))
        return m

    def _meaning(self, opcode: Opcode, view: data.View) -> list[Any]:
        bank = self.decoded.bank
        match opcode:
            case Opcode.COMPUTE:
                return [
                    bank.kind.eq(CommandKind.COMPUTE),
                    bank.program.entry.eq(view.entry),
                    bank.program.n.eq(view.n),
                    *(bank.program.bases[at].eq(view.bases[at]) for at in range(len(isa.Base))),
                ]
            case Opcode.MOVE | Opcode.FILL:
                return self._move(opcode, view)
            case Opcode.SHIFT | Opcode.BROADCAST:
                return self._exchange(opcode, view)
            case Opcode.LAYOUT:
                entry = self.decoded.entry
                return [
                    self.decoded.layout.eq(view.layout),
                    *(Value.cast(entry[name]).eq(Value.cast(view[name])) for name, _ in ENTRY),
                ]
            case Opcode.LOAD | Opcode.STORE:
                return self._transfer(opcode, view)
            case Opcode.CORE:
                return [self.decoded.first.eq(view.first)]
            case Opcode.END:
                return [self.decoded.keeps.eq(view.keeps)]
            case Opcode.COPY:
                is_outside = view.line + view.lines > self._memory_lines
                return [
                    self.decoded.near.eq(self.units),
                    self.decoded.is_outside.eq(is_outside),
                ]
        return [self.decoded.near.eq(self.units)] if opcode in NEAR_COMMANDS else []

    def _move(self, opcode: Opcode, view: data.View) -> list[Any]:
        """A move within a tile, or a constant in its place."""
        bank = self.decoded.bank
        return [
            bank.kind.eq(CommandKind.MOVE),
            bank.move.d.eq(view.d),
            bank.move.n.eq(view.n),
            *_pattern(bank.bitlines, view, "bitlines"),
            *_pattern(bank.tiles, view, "tiles"),
            *(
                [bank.move.is_constant.eq(1), bank.move.value.eq(view.value)]
                if opcode == Opcode.FILL
                else [bank.move.a.eq(view.a), bank.distance.eq(view.distance)]
            ),
        ]

    def _exchange(self, opcode: Opcode, view: data.View) -> list[Any]:
        """A move from tile to tile."""
        exchange = self.decoded.exchange
        is_broadcast = opcode == Opcode.BROADCAST
        return [
            exchange.is_broadcast.eq(is_broadcast),
            *(exchange[name].eq(view[name]) for name in ("a", "d", "n", "distance")),
            *_pattern(exchange.bitlines, view, "bitlines"),
            *_pattern(exchange.tiles, view, "sources" if is_broadcast else "tiles"),
            *(
                _pattern(exchange.copies, view, "copies")
                if is_broadcast
                else [exchange.between.eq(view.between), exchange.packed.eq(view.packed)]
            ),
        ]

    def _transfer(self, opcode: Opcode, view: data.View) -> list[Any]:
        """An array from memory, or to it."""
        transfer = self.decoded.transfer
        flag = "is_signed" if opcode == Opcode.STORE else "hollow"
        return [
            self.decoded.layout.eq(view.layout),
            transfer.is_store.eq(opcode == Opcode.STORE),
            *(
                Value.cast(transfer[name]).eq(Value.cast(view[name]))
                for name in ("row", "n", flag, "before", "after")
            ),
        ]

    def _bad_operand(self, opcode: Opcode, view: data.View) -> Value:
        """Whether a number is beyond what there is, or rows overlap."""
        if opcode in NEAR_COMMANDS:
            return self._bad_near_operand(opcode, view)
        names = [name for name, _ in COMMANDS[opcode]]
        bad = [] if opcode == Opcode.LAYOUT else self._beyond_limits(names, view)
        if opcode == Opcode.COMPUTE:
            bad += [view.n > MAX_WIDTH]
            bad += [each >= self._wordlines for each in _numbers(view.bases)]
        elif "n" in names:
            bad += [view.n == 0, view.n > MAX_WIDTH]
            bad += [
                view[name] + view.n > self._wordlines for name in ("a", "d", "row") if name in names
            ]
        if "a" in names:
            if opcode == Opcode.SHIFT:
                bad.append(view.packed & self._is_far(view.between))
            may_be_same = (view.a != view.d) if opcode == Opcode.MOVE else Const(1)
            overlaps = (view.a < view.d + view.n) & (view.d < view.a + view.n)
            bad.append(may_be_same & overlaps)
        return Cat(*bad).any() if bad else Const(0)

    def _is_far(self, between: Value) -> Value:
        """Whether tiles are at least a bank's arrays apart, up and down."""
        return (between >= self._arrays) & (between <= self._tiles - self._arrays)

    def _beyond_limits(self, names: list[str], view: data.View) -> list[Value]:
        """Whether each number of fields that have a limit reaches it."""
        limits = {
            "entry": self._microinstructions,
            "distance": self._bitlines,
            "between": self._tiles,
            "first": self._core_instructions,
            **self._pattern_limits("bitlines", self._bitlines),
            **{
                name: limit
                for pattern in ("tiles", "sources", "copies")
                for name, limit in self._pattern_limits(pattern, self._tiles).items()
            },
        }
        return [
            each >= limits[name]
            for name in names
            if name in limits
            for each in _numbers(view[name])
        ]

    def _bad_near_operand(self, opcode: Opcode, view: data.View) -> Value:
        if opcode == Opcode.COPY:
            return (view.lines == 0) | (view.words + view.lines > self._bank_lines)
        if opcode == Opcode.OPERATION:
            is_known = Cat(view.operation == each for each in NEAR_OPERATIONS).any()
            is_bad_store = (view.operation == ExecuteOpcode.STORE) & (view.reads | view.d_is_turned)
            is_bad_quotient = (view.operation == ExecuteOpcode.FDIV) & (
                view.reads | view.a_is_turned
            )
            is_bad = (
                is_bad_store
                | is_bad_quotient
                | (view.b_source > max(Second))
                | (view.offset > STRIP // 2)
            )
            return ~is_known | is_bad
        if opcode == Opcode.NEAR:
            is_empty = view.first_z >= view.counts[2]
            return Cat(is_empty, *(each == 0 for each in _numbers(view.counts))).any()
        return Const(0)

    def _pattern_limits(self, name: str, places: int) -> dict[str, int]:
        return {f"{name}_{part}": places for part in ("start", "strides", "counts")}

    def _bad_entry(self, entry: data.View) -> Value:
        extents = sum(entry.tile[each] for each in range(isa.DIMENSIONS))
        sizes = (entry.sizes[each] == 0 for each in range(isa.DIMENSIONS))
        return (
            (entry.element > 2)
            | (extents != (self._bitlines - 1).bit_length())
            | Cat(*sizes).any()
            | (entry.chunked >= isa.DIMENSIONS)
        )


def _numbers(value: Any) -> list[Value]:
    if isinstance(value, data.View):
        return [value[each] for each in range(len(value))]
    return [value]


def _pattern(pattern: data.View, view: data.View, name: str) -> list[Any]:
    found = [pattern.start.eq(view[f"{name}_start"])]
    for part in ("strides", "counts"):
        numbers = _numbers(view[f"{name}_{part}"])
        found += [pattern[part][level].eq(number) for level, number in enumerate(numbers)]
    return found
