"""Two compute arrays behind a sequencer, as Verilog to be simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from gnarl.hw.lib.verilog import to_verilog
from gnarl.hw.sram_compute.array.compute_array import ComputeArray
from gnarl.hw.sram_compute.bank.issue_stage import IssueStage
from gnarl.hw.sram_compute.bank.sequencer import Sequencer, program_layout
from gnarl.hw.sram_compute.microcode.tables import table
from gnarl.hw.sram_compute.microinstruction import Base
from tests.support.machines.vectors import VectorSimulator

ARRAYS = 2
BITLINES = 32
_TAKE_INWARD = table(lambda a, b, c, p: a)


class Arrays(wiring.Component):
    """``load``: ``data`` goes to ``row`` of all arrays; ``show``: ``row`` comes out a cycle later.
    Neither while ``busy``."""

    def __init__(self, wordlines: int, rom: Sequence[int], skips: bool) -> None:
        self._wordlines = wordlines
        self._sequencer = Sequencer(wordlines, rom, skips)
        self._command = program_layout(wordlines, len(rom))
        super().__init__(
            {
                "command": In(self._command.size),
                "valid": In(1),
                "ready": Out(1),
                "busy": Out(1),
                "load": In(1),
                "show": In(1),
                "row": In(range(wordlines)),
                "data": In(ARRAYS * BITLINES),
                "shown": Out(ARRAYS * BITLINES),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.sequencer = sequencer = self._sequencer
        arrays = [ComputeArray(self._wordlines, BITLINES) for _ in range(ARRAYS)]
        loads, row, words = Signal(), Signal.like(self.row), Signal.like(self.data)
        m.submodules.stage = stage = IssueStage(self._wordlines)
        m.d.sync += [loads.eq(self.load), row.eq(self.row), words.eq(self.data)]
        m.d.comb += [
            stage.read.eq(sequencer.read),
            stage.operation.eq(sequencer.operation),
            sequencer.program.valid.eq(self.valid),
            sequencer.program.payload.eq(self.command),
            sequencer.any_predicate.eq(Cat(each.any_predicate for each in arrays).any()),
            self.ready.eq(sequencer.program.ready),
            self.busy.eq(sequencer.busy),
            self.shown.eq(Cat(each.row for each in arrays)),
        ]
        for number, array in enumerate(arrays):
            m.submodules[f"array_{number}"] = array
            m.d.comb += [
                array.read.eq(sequencer.read),
                array.compute.eq(stage.compute),
                array.inward.eq(words.word_select(number, BITLINES)),
            ]
            with m.If(self.show):
                m.d.comb += [array.read.enable.eq(1), array.read.a.eq(self.row)]
            with m.If(loads):
                m.d.comb += [
                    array.compute.operation.enable.eq(1),
                    array.compute.operation.is_inward.eq(1),
                    array.compute.operation.write.eq(_TAKE_INWARD),
                    array.compute.operation.write_enable.eq(1),
                    array.compute.operation.d.eq(row),
                ]
        return m


class ArraysSimulator:
    """The same from NumPy: ``planes`` uint64 [wordlines] go in and come out, array 0 in the low
    bits."""

    def __init__(self, wordlines: int, rom: Sequence[int], skips: bool = True) -> None:
        self._wordlines = wordlines
        self._layout = program_layout(wordlines, len(rom))
        top = Arrays(wordlines, rom, skips)
        self._simulator = VectorSimulator(to_verilog(top, "arrays"), "arrays")

    def load(self, planes: np.ndarray) -> None:
        self._run(len(planes), load=1, row=np.arange(len(planes)), data=planes)
        self._run(2)

    def show(self) -> np.ndarray:
        shown = self._run(
            self._wordlines + 1, show=1, row=np.arange(self._wordlines + 1) % self._wordlines
        )
        return shown["shown"][1:]

    def run(self, commands: Sequence[tuple[int, int, Mapping[Base, int]]]) -> int:
        """Commands one behind the other: entry, n, bases. Cycles from the first command on until
        nothing is under way."""
        cycles = -1
        for entry, n, bases in commands:
            rows = [bases.get(base, 0) for base in Base]
            bits = self._layout.const({"entry": entry, "n": n, "bases": rows}).as_bits()
            is_taken = False
            while not is_taken:
                is_taken = bool(self._run(1, command=bits, valid=1)["ready"][0])
                cycles += 1
        while (busy := self._run(64)["busy"]).any():
            cycles += int(busy.sum())
        return cycles

    def _run(self, cycles: int, **inputs: Any) -> dict[str, np.ndarray]:
        named = dict.fromkeys(("command", "valid", "load", "show", "row", "data"), 0) | inputs
        return self._simulator.run(
            {name: np.broadcast_to(np.asarray(value), cycles) for name, value in named.items()}
        )
