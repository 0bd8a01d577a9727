"""Yosys on one bank: that its Verilog is sound, and what it becomes on an ECP5."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnarl.hw.fpga.family import Family, Resources
from gnarl.hw.lib.verilog import to_verilog
from gnarl.hw.sram_compute.array.compute_array import ComputeArray
from gnarl.hw.sram_compute.bank.bank import Bank
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.top import build
from gnarl.sw.runtime.fpga.synthesis import MemoryResource, Synthesis, synthesise
from gnarl.sw.runtime.target.configuration import load_configuration
from tests.support.machines.yowasp import needs_yosys, sound, yosys

SMALL = SramConfig(
    banks=1,
    arrays=2,
    wordlines=64,
    bitlines=64,
    memory_bytes=1 << 14,
    formats=(),
    near_lanes=1,
)

SHALLOW = 32
"""Rows of memories that may be in look-up tables: those of the command unit's and the stream
engines' tables, and of queues. The shallowest of the others has 64."""


def bank_of(config: SramConfig) -> Bank:
    return Bank(
        config.wordlines,
        config.bitlines,
        config.arrays,
        config.tree_bits,
        config.tiles,
        config.rom.words,
        config.skip,
    )


def require_deep_memories_in_block_ram(found: Synthesis) -> None:
    assert [each for each in found.memories if each.resource == MemoryResource.FLIP_FLOPS] == []
    deep = [each for each in found.memories if each.memory.rows > SHALLOW]
    assert deep and {each.resource for each in deep} == {MemoryResource.BLOCK_RAM}


def require_cells(used: Resources, most: Resources) -> None:
    """Block RAMs and multipliers are as many as there are to be; of the others, what is measured
    may change by some percent."""
    assert (used.block_rams, used.dsps) == (most.block_rams, most.dsps)
    assert 0.7 * most.luts <= used.luts <= most.luts
    assert 0.7 * most.flip_flops <= used.flip_flops <= most.flip_flops


@needs_yosys
def test_synthesis_finds_no_latch_no_loop_and_no_conflict_in_a_bank(tmp_path: Path) -> None:
    (tmp_path / "design.v").write_text(to_verilog(bank_of(SMALL), "bank"))
    yosys(tmp_path, sound("bank"))


@needs_yosys
def test_an_array_is_two_copies_of_its_rows_in_block_ram() -> None:
    found = synthesise(to_verilog(ComputeArray(64, 32), "array"), "array", Family.ECP5)
    paths = [(each.memory.path, each.resource, each.cells) for each in found.memories]
    assert paths == [
        (f"rows.copy_{number}.words", MemoryResource.BLOCK_RAM, 1) for number in range(2)
    ]
    require_cells(found.used, Resources(luts=3500, flip_flops=300, dsps=0, block_rams=2))


@needs_yosys
@pytest.mark.slow
def test_one_bank_of_sram_b2_on_an_ecp5() -> None:
    config = load_configuration("sram_b2").config
    found = synthesise(to_verilog(bank_of(config), "bank"), "bank", Family.ECP5)
    require_deep_memories_in_block_ram(found)
    # Two copies of each of two arrays' rows, 36 bits in a block, and microprograms.
    require_cells(found.used, Resources(12500, 1900, 1, 8 + 12))


@needs_yosys
@pytest.mark.slow
def test_a_machine_of_one_bank_with_stream_engine_on_an_ecp5(tmp_path: Path) -> None:
    text = to_verilog(build(SMALL), "top")
    (tmp_path / "design.v").write_text(text)
    yosys(tmp_path, sound("top"))
    found = synthesise(text, "top", Family.ECP5)
    require_deep_memories_in_block_ram(found)
    # The bank's are 12, main memory's a word of a line each, the engine's registers three.
    require_cells(found.used, Resources(40000, 12500, 14, 12 + 16 + 3))
