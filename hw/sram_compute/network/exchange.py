"""Leads rows from tile to tile, of shifts and of broadcasts. Source: Infinity Stream, 5.2."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.cut_points import named
from gnarl.hw.lib.integer.count_ones import count_ones
from gnarl.hw.lib.integer.lowest_one import lowest_one, position
from gnarl.hw.sram_compute.array.shifting_array import rotated
from gnarl.hw.sram_compute.isa import WIDTH_BITS
from gnarl.hw.sram_compute.network.bit_packer import PackPlan
from gnarl.hw.sram_compute.network.packed_shift import PackedShift
from gnarl.hw.sram_compute.network.row_network import row_step_layout
from gnarl.hw.sram_compute.pattern import PatternExpander, pattern_layout


def exchange_layout(wordlines: int, bitlines: int, tiles: int) -> data.StructLayout:
    """The fields of ``isa.SHIFT`` and ``isa.BROADCAST``: ``tiles`` are those that change of the
    one, and ``sources`` of the other."""
    return data.StructLayout(
        {
            "is_broadcast": 1,
            "a": range(wordlines),
            "d": range(wordlines),
            "n": unsigned(WIDTH_BITS),
            "distance": range(bitlines),
            "bitlines": pattern_layout(bitlines),
            "tiles": pattern_layout(tiles),
            "copies": pattern_layout(tiles),
            "between": range(tiles),
            "packed": 1,
        }
    )


class _State(enum.Enum):
    IDLE = 0
    EXPAND = 1
    PLAN = 2
    SELECT = 3
    STEP = 4
    PACKED = 5


class Exchange(wiring.Component):
    """Makes a command into steps of rows.

    Of a shift, all banks send from the same of their arrays at a time, then from the next, or
    ``PackedShift`` makes the steps; of a broadcast, one tile is sent at a time, or where all its
    copies are in one bank, with it those of the same array of other banks, whose copies are as many
    banks away. A row takes a cycle if it stays in its bank, else one for each ``network_bits`` of
    those that change; an array or a tile takes one more, in which it is found.

    Parameters: as of ``row_step_layout``.

    Members
    -------
    command, start
        in: an ``exchange_layout``, held until ``busy`` is 0 again.
    sends
        out: there are steps to come.
    busy
        out: the command is under way, its last rows on the network included.
    on_network
        in: there are rows on the network.
    step, distance, mask, moves, turn, foreign
        out: as of ``RowNetwork``.
    sent
        out: of the banks, those that take a row of another which is being sent in this cycle, the
        last part of it.
    bits_between_tiles, bits_between_banks
        out: bits that change in this cycle in tiles of the bank that had them, and those that banks
        take from another.
    """

    def __init__(
        self,
        banks: int,
        arrays: int,
        wordlines: int,
        bitlines: int,
        tree_bits: int,
        network_bits: int,
    ) -> None:
        size = (banks, arrays, wordlines, bitlines, tree_bits, network_bits)
        self._packed = PackedShift(*size)
        self._banks = banks
        self._arrays = arrays
        self._bitlines = bitlines
        self._network_bits = network_bits
        self._tiles = banks * arrays
        self._step = row_step_layout(*size)
        stages = (bitlines - 1).bit_length()
        super().__init__(
            {
                "command": In(exchange_layout(wordlines, bitlines, self._tiles)),
                "start": In(1),
                "sends": Out(1),
                "busy": Out(1),
                "on_network": In(1),
                "step": Out(self._step),
                "distance": Out(range(bitlines)),
                "mask": Out(bitlines),
                "moves": Out(data.ArrayLayout(bitlines, stages)),
                "turn": Out(range(max(2, arrays))),
                "foreign": Out(arrays),
                "sent": Out(banks),
                "bits_between_tiles": Out(range(self._tiles * bitlines + 1)),
                "bits_between_banks": Out(range(banks * bitlines + 1)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        command = self.command
        m.submodules.plan = plan = PackPlan(self._bitlines)
        m.submodules.packed = packed = self._packed
        masks, are_expanded = self._expand(m)
        state = Signal(_State)
        remaining = Signal(self._tiles)  # of a shift, arrays of any bank
        row, flit = Signal(WIDTH_BITS), Signal(range(self._bitlines + 1))
        flits, ends_row, ends_step = Signal.like(flit), Signal(), Signal()
        chosen, done = Signal(self._tiles), Signal(self._tiles)
        m.d.comb += [
            self.sends.eq(state != _State.IDLE),
            self.busy.eq(self.sends | self.on_network),
            self.distance.eq(command.distance),
            self.mask.eq(masks["bitlines"]),
            self.moves.eq(plan.moves),
            plan.mask.eq(self.mask),
            chosen.eq(lowest_one(remaining)),
        ]
        with m.Switch(state):
            with m.Case(_State.IDLE):
                with m.If(self.start):
                    m.d.sync += state.eq(_State.EXPAND)
            with m.Case(_State.EXPAND):
                m.d.comb += [
                    plan.start.eq(are_expanded & ~command.packed),
                    packed.start.eq(are_expanded & command.packed),
                ]
                with m.If(are_expanded):
                    m.d.sync += [
                        state.eq(Mux(command.packed, _State.PACKED, _State.PLAN)),
                        remaining.eq(Mux(command.is_broadcast, masks["tiles"], self._slots(masks))),
                    ]
            with m.Case(_State.PLAN):
                with m.If(plan.done):
                    m.d.sync += state.eq(_State.SELECT)
            with m.Case(_State.SELECT):
                m.d.sync += [
                    state.eq(_State.STEP),
                    remaining.eq(remaining & ~done),
                    row.eq(0),
                    flit.eq(0),
                ]
            with m.Case(_State.STEP):
                m.d.sync += flit.eq(Mux(ends_row, 0, flit + 1))
                with m.If(ends_row):
                    m.d.sync += row.eq(row + 1)
                with m.If(ends_step):
                    m.d.sync += state.eq(Mux(remaining.any(), _State.SELECT, _State.IDLE))
            with m.Case(_State.PACKED):
                with m.If(packed.ends):
                    m.d.sync += state.eq(_State.IDLE)

        step, aim = self.step, Signal(self._aim_layout())
        with m.If(state == _State.SELECT):
            m.d.comb += done.eq(self._aim(m, aim, chosen, remaining, masks))
        crossings = Cat(
            step.targets[bank].any() & (step.sources[bank] != bank) for bank in range(self._banks)
        )
        shift = (self._network_bits - 1).bit_length()
        m.d.comb += [
            flits.eq(
                Mux(crossings.any(), (plan.count + self._network_bits - 1) >> shift, Const(1))
            ),
            ends_row.eq(flit + 1 == flits),
            ends_step.eq(ends_row & (row + 1 == command.n)),
        ]
        self._give(m, state, aim, row, flit, ends_row)
        self._give_packed(m, masks)
        self._count(m, plan, crossings, step.enable & (ends_row | step.by_bits))
        return m

    def _give_packed(self, m: Module, masks: dict[str, Value]) -> None:
        packed = self._packed
        m.d.comb += [
            *(getattr(packed, name).eq(self.command[name]) for name in ("a", "d", "n", "between")),
            *(getattr(packed, name).eq(masks[name]) for name in ("bitlines", "tiles")),
            self.turn.eq(packed.turn),
            self.foreign.eq(packed.foreign),
        ]
        with m.If(packed.sends):
            m.d.comb += self.step.eq(packed.step)

    def _give(
        self, m: Module, state: Signal, aim: Any, row: Signal, flit: Signal, ends_row: Signal
    ) -> None:
        """A step goes to the banks."""
        command, step = self.command, self.step
        m.d.comb += [
            *(step[name].eq(aim[name]) for name, _ in aim.shape()),
            step.enable.eq(state == _State.STEP),
            step.first.eq(flit == 0),
            step.last.eq(ends_row),
            step.flit.eq(flit),
            step.read_row.eq(command.a + row),
            step.write_row.eq(command.d + row),
        ]

    def _count(self, m: Module, plan: PackPlan, crossings: Value, ends: Value) -> None:
        """Counts bits between tiles and banks with the end of a row, or of a part of it."""
        step, packed, banks = self.step, self._packed, range(self._banks)
        own, takers = Signal(self._tiles), Signal(self._tiles)
        for bank in banks:
            targets, place = step.targets[bank], slice(bank * self._arrays, None)
            is_own = (step.sources[bank] == bank).replicate(self._arrays)
            m.d.comb += [
                own[place][: self._arrays].eq(targets & Mux(step.by_bits, ~packed.foreign, is_own)),
                takers[place][: self._arrays].eq(
                    Mux(step.by_bits, targets & packed.foreign, self.sent[bank])
                ),
            ]
        sends_row, bits = Signal(), Signal.like(plan.count)
        m.d.comb += [
            sends_row.eq(ends),
            bits.eq(Mux(step.by_bits, packed.bits, plan.count)),
            self.sent.eq(Mux(sends_row, crossings, 0)),
            self.bits_between_tiles.eq(Mux(sends_row, bits * count_ones(own), 0)),
            self.bits_between_banks.eq(Mux(sends_row, bits * count_ones(takers), 0)),
        ]

    def _expand(self, m: Module) -> tuple[dict[str, Value], Value]:
        """Masks of the command's patterns, held as long as it is under way; whether they are
        there."""
        masks, valid = {}, []
        for name, bits in (
            ("bitlines", self._bitlines),
            ("tiles", self._tiles),
            ("copies", self._tiles),
        ):
            m.submodules[name] = expander = PatternExpander(bits)
            m.d.comb += [
                expander.pattern.payload.eq(self.command[name]),
                expander.pattern.valid.eq(self.start),
                expander.mask.ready.eq(~self.busy),
            ]
            masks[name] = expander.mask.payload
            valid.append(expander.mask.valid)
        return masks, Cat(*valid).all()

    def _slots(self, masks: dict[str, Value]) -> Value:
        """Arrays of any bank that change in a shift."""
        slots: Value = Const(0, self._arrays)
        for bank in range(self._banks):
            slots = slots | masks["tiles"].word_select(bank, self._arrays)
        return slots

    def _aim_layout(self) -> data.StructLayout:
        """Fields of a step that stay while a tile's rows go by."""
        names = ("array", "targets", "sources")
        return data.StructLayout({name: self._step[name].shape for name in names})

    def _aim(
        self,
        m: Module,
        aim: data.View,
        chosen: Signal,
        remaining: Signal,
        masks: dict[str, Value],
    ) -> Value:
        """Aims at the chosen tile, or at the chosen array of all banks. Returns the part of
        ``remaining`` that this completes."""
        command, banks, arrays = self.command, self._banks, self._arrays
        array_bits, bank_bits = (arrays - 1).bit_length(), (banks - 1).bit_length()
        number = named(m, "number", position(chosen)[: array_bits + bank_bits])
        copies = named(m, "targets", rotated(m, masks["copies"], number))
        before = Signal(range(self._tiles))
        m.d.comb += before.eq(number - command.between)
        array = Mux(command.is_broadcast, number, before)[:array_bits]
        m.d.sync += aim.array.eq(array)

        own = [slice(bank * arrays, (bank + 1) * arrays) for bank in range(banks)]
        slot = named(m, "slot", reduce(or_, (chosen[each] for each in own)))
        senders = Cat((remaining[each] & slot).any() for each in own)
        has_copies, all_copies = Signal(banks), Signal(arrays)
        is_alone = Signal()
        away = Signal(max(1, bank_bits))  # banks from where copies are to the source
        m.d.comb += [
            has_copies.eq(Cat(copies[each].any() for each in own)),
            all_copies.eq(reduce(or_, (copies[each] for each in own))),
            is_alone.eq(count_ones(has_copies) == 1),
            away.eq(
                Mux(
                    command.is_broadcast,
                    number[array_bits:] - position(has_copies),
                    before[array_bits:],
                )
            ),
        ]
        receivers = named(m, "receivers", rotated(m, senders, (-away)[:bank_bits]))
        for bank in range(banks):
            sent = Mux(is_alone, Mux(receivers[bank], all_copies, 0), copies[own[bank]])
            goes_alone = command.is_broadcast & ~is_alone
            m.d.sync += [
                aim.targets[bank].eq(
                    Mux(command.is_broadcast, sent, masks["tiles"][own[bank]] & chosen[:arrays])
                ),
                aim.sources[bank].eq(Mux(goes_alone, number[array_bits:], away + bank)),
            ]
        return Mux(command.is_broadcast & is_alone, slot.replicate(banks), chosen)
