"""Runs commands on the arrays of a bank. Source: Infinity Stream, section 5.2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.sram_compute.array.compute_array import operation_layout, read_layout
from gnarl.hw.sram_compute.array.shifting_array import inward_layout
from gnarl.hw.sram_compute.bank.bank_command import CommandKind, bank_command_layout
from gnarl.hw.sram_compute.bank.mover import Mover
from gnarl.hw.sram_compute.bank.sequencer import Sequencer
from gnarl.hw.sram_compute.pattern import PatternExpander


class TensorController(wiring.Component):
    """Takes commands in order. While one runs, the patterns of the next are expanded; one that
    changes none of the bank's tiles is dropped then.

    Programs follow programs, and moves moves, without a cycle between; a move and a program have
    one between them, in either order.

    Parameters: ``wordlines`` and ``bitlines`` of an array; ``arrays`` of the bank; ``tiles`` of all
    banks; ``rom`` and ``skips`` as of ``Sequencer``.

    Members
    -------
    first_tile
        in: the number of the bank's first array among all tiles.
    command
        in: a stream of ``bank_command_layout``.
    any_predicate
        in: whether any bitline's predicate is set.
    read, operation, inward
        out: rows that arrays read in this cycle, and what they do in the next.
    mask, enabled
        out: bitlines and arrays that ``operation`` changes, where it is inward.
    busy
        out: a command is under way.
    computes, moves
        out: a program is, or a move.
    """

    def __init__(
        self,
        wordlines: int,
        bitlines: int,
        arrays: int,
        tiles: int,
        rom: Sequence[int],
        skips: bool,
    ) -> None:
        self._wordlines = wordlines
        self._bitlines = bitlines
        self._arrays = arrays
        self._tiles = tiles
        self._rom = rom
        self._skips = skips
        self._command = bank_command_layout(wordlines, bitlines, tiles, len(rom))
        super().__init__(
            {
                "first_tile": In(range(tiles)),
                "command": In(stream.Signature(self._command)),
                "any_predicate": In(1),
                "read": Out(read_layout(wordlines)),
                "operation": Out(operation_layout(wordlines)),
                "inward": Out(inward_layout(bitlines)),
                "mask": Out(bitlines),
                "enabled": Out(arrays),
                "busy": Out(1),
                "computes": Out(1),
                "moves": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.sequencer = sequencer = Sequencer(self._wordlines, self._rom, self._skips)
        m.submodules.mover = mover = Mover(self._wordlines)
        m.submodules.bitlines = bitlines = PatternExpander(self._bitlines)
        m.submodules.tiles = tiles = PatternExpander(self._tiles)

        # The command that is prepared.
        given, prepared = self.command.payload, Signal(self._command)
        releases, is_ready, accepts = Signal(), Signal(), Signal()
        own_tiles = Signal(self._arrays)
        m.d.comb += [
            is_ready.eq(bitlines.mask.valid & tiles.mask.valid),
            self.command.ready.eq(bitlines.pattern.ready & tiles.pattern.ready),
            accepts.eq(self.command.valid & self.command.ready),
            bitlines.pattern.valid.eq(accepts),
            bitlines.pattern.payload.eq(given.bitlines),
            tiles.pattern.valid.eq(accepts),
            tiles.pattern.payload.eq(given.tiles),
            bitlines.mask.ready.eq(releases),
            tiles.mask.ready.eq(releases),
            own_tiles.eq(tiles.mask.payload >> self.first_tile),
        ]
        with m.If(accepts):
            m.d.sync += prepared.eq(given)

        # The move that runs.
        moves, starts_move = self.moves, Signal()
        move, distance = Signal.like(prepared.move), Signal.like(prepared.distance)
        is_move = prepared.kind == CommandKind.MOVE
        ends_move = mover.move.valid & mover.move.ready
        can_move = is_ready & is_move & ~sequencer.busy & (~moves | ends_move)
        m.d.comb += [
            starts_move.eq(can_move & own_tiles.any()),
            sequencer.program.valid.eq(is_ready & ~is_move & (~moves | ends_move)),
            sequencer.program.payload.eq(prepared.program),
            sequencer.any_predicate.eq(self.any_predicate),
            mover.move.valid.eq(moves),
            mover.move.payload.eq(move),
            releases.eq(
                Mux(
                    is_move,
                    is_ready & ~own_tiles.any() | starts_move,
                    sequencer.program.valid & sequencer.program.ready,
                )
            ),
        ]
        with m.If(starts_move):
            m.d.sync += [
                moves.eq(1),
                move.eq(prepared.move),
                distance.eq(prepared.distance),
                self.mask.eq(bitlines.mask.payload),
                self.enabled.eq(own_tiles),
            ]
        with m.Elif(ends_move):
            m.d.sync += moves.eq(0)
        self._give(m, sequencer, mover, distance, is_ready)
        return m

    def _give(
        self, m: Module, sequencer: Sequencer, mover: Mover, distance: Signal, is_ready: Signal
    ) -> None:
        """What runs, a move or a program, goes to the arrays."""
        moves = self.moves
        m.d.comb += [
            self.read.eq(Mux(moves, mover.read, sequencer.read)),
            self.operation.eq(Mux(moves, mover.operation, sequencer.operation)),
            self.inward.is_own.eq(moves),
            self.inward.is_constant.eq(mover.is_constant),
            self.inward.bit.eq(mover.bit),
            self.inward.distance.eq(distance),
            self.computes.eq(sequencer.busy),
            self.busy.eq(~self.command.ready | is_ready | sequencer.busy | moves),
        ]
