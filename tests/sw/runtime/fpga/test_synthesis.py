"""Memories and registers in netlists of small designs; which cells count as what."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from gnarl.hw.fpga.family import Family, Resources
from gnarl.hw.lib.memory.ram import TwoPortRam
from gnarl.hw.lib.verilog import to_verilog
from gnarl.sw.runtime.fpga.build import check_memories
from gnarl.sw.runtime.fpga.netlist import DesignMemory
from gnarl.sw.runtime.fpga.synthesis import (
    RECIPES,
    MappedMemory,
    MemoryResource,
    Synthesis,
    count,
    synthesise,
)
from gnarl.sw.runtime.fpga.tool_run import FpgaError
from tests.support.machines.yowasp import needs_yosys


class Log(wiring.Component):
    """A memory that is written in turn, and a register behind it."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        super().__init__({"i": In(8), "address": In(range(rows)), "o": Out(8)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.ram = ram = TwoPortRam(self._rows, 8)
        place = Signal(range(self._rows))
        inverted = Signal(8)
        m.d.sync += [place.eq(place + 1), inverted.eq(~ram.read_data)]
        m.d.comb += [
            ram.write_address.eq(place),
            ram.write_enable.eq(1),
            ram.write_data.eq(self.i),
            ram.read_address.eq(self.address),
            ram.read_enable.eq(1),
            self.o.eq(inverted),
        ]
        return m


def synthesised(family: Family, rows: int) -> Synthesis:
    return synthesise(to_verilog(Log(rows), "log"), "log", family)


@needs_yosys
@pytest.mark.parametrize(
    ("family", "rows", "place"),
    [
        (Family.ECP5, 1024, MemoryResource.BLOCK_RAM),
        (Family.ECP5, 16, MemoryResource.LUTS),
        (Family.ICE40, 512, MemoryResource.BLOCK_RAM),
        (Family.ICE40, 4, MemoryResource.FLIP_FLOPS),
    ],
)
def test_where_memories_go(family: Family, rows: int, place: MemoryResource) -> None:
    found = synthesised(family, rows)
    (memory,) = found.memories
    assert memory.memory == DesignMemory("ram.words", rows, 8, is_ram=True)
    assert memory.resource == place
    assert (found.used.block_rams > 0) == (place == MemoryResource.BLOCK_RAM)
    if place == MemoryResource.FLIP_FLOPS:
        text = (
            "log: memory ram.words of 4 x 8 bits: in flip-flops: must be in RAM, or be allowed: "
            "--allow-register-memories"
        )
        with pytest.raises(FpgaError) as caught:
            check_memories("log", found)
        assert str(caught.value) == text
    else:
        check_memories("log", found)


@needs_yosys
def test_registers_keep_their_names() -> None:
    netlist = synthesised(Family.ECP5, 1024).netlist
    flip_flops = [name for name, kind in netlist.cells.items() if kind == "TRELLIS_FF"]
    names = Counter(netlist.register(name) for name in flip_flops)
    # What the memory's registers have been moved to has names of Yosys's.
    registers = {name: number for name, number in names.items() if name.isidentifier()}
    assert registers == {"place": 10, "o": 8}  # equal to write_address, inverted and not


def test_register_banks_and_queues_may_be_in_flip_flops() -> None:
    bank = MappedMemory(
        DesignMemory("bank.words", 16, 32, is_ram=False), MemoryResource.FLIP_FLOPS, 0
    )
    check_memories("dpu", Synthesis(None, None, [bank], Resources(0, 0, 0, 0), 0.0))


@pytest.mark.parametrize(
    ("family", "cells", "expected"),
    [
        (
            Family.ECP5,
            {"LUT4": 10, "CCU2C": 2, "TRELLIS_DPR16X4": 1, "TRELLIS_FF": 5, "PFUMX": 9},
            Resources(20, 5, 0, 0),
        ),
        (Family.ECP5, {"MULT18X18D": 4, "DP16KD": 3}, Resources(0, 0, 4, 3)),
        (
            Family.ICE40,
            {"SB_LUT4": 7, "SB_CARRY": 3, "SB_DFFESR": 2, "SB_RAM40_4KNR": 1, "SB_MAC16": 1},
            Resources(7, 2, 1, 1),
        ),
        (
            Family.GOWIN,
            {"LUT2": 3, "ALU": 2, "RAM16SDP4": 1, "DFFRE": 4, "MULT18X18": 2, "SDPB": 1, "SP": 1},
            Resources(9, 4, 2, 2),
        ),
        (
            Family.XILINX,
            {"LUT6": 4, "RAM32M": 1, "SRL16E": 1, "FDRE": 6, "DSP48E1": 2, "RAMB36E1": 2}
            | {"RAMB18E1": 1, "CARRY4": 9},
            Resources(9, 6, 2, 5),
        ),
        (
            Family.INTEL,
            {"MISTRAL_ALUT6": 4, "MISTRAL_ALUT_ARITH": 2, "MISTRAL_FF": 3, "MISTRAL_M10K": 2}
            | {"MISTRAL_MUL27X27": 1, "MISTRAL_MUL18X18": 2},
            Resources(3, 3, 2, 2),
        ),
    ],
)
def test_what_cells_count_as(family: Family, cells: dict[str, int], expected: Resources) -> None:
    assert count(RECIPES[family], Counter(cells)) == expected
