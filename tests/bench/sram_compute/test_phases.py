"""Programs in phases, on the model and on the RTL."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.sram_compute_parts.regimes import RESIDENT, STAY, STORED, program_in
from bench.sram_compute_parts.workloads import workload
from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.program import disassemble
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sram_compute.phases import COMPUTE, LOAD, STORE, in_phases


def opcodes(program: Program) -> list[set[Opcode]]:
    """Those of each launch."""
    return [
        {each.opcode for _, each in disassemble(launch.sections["commands"])}
        for launch in program.launches
    ]


def cycles_of_launches(program: Program, given, config: str, backend: str) -> list[int | None]:
    with Device(config, backend) as device:
        for _ in range(2):  # the second time on a machine that has kept something
            result = device.run(program, {**given.inputs, **(given.sizes or {})})
            assert device.verify(result).bit_exact
        return [run.finished.cycles for run in result.launches]


@pytest.mark.parametrize("place", ["memory", "near"])
def test_phases_take_the_models_cycles_on_the_rtl(place: str):
    given = workload("vec_add", {"n": 100}, 1)
    whole = program_in(given, "sram_b2", place, STORED)
    stays = program_in(given, "sram_b2", place, STAY)
    resident = program_in(given, "sram_b2", place, RESIDENT)
    assert whole is not None and stays is not None and resident is not None
    assert [each.name for each in stays.launches] == [COMPUTE, STORE]
    assert [each.name for each in resident.launches] == [LOAD, COMPUTE, STORE]
    counts = [
        cycles_of_launches(each, given, "sram_b2", "model") for each in (whole, stays, resident)
    ]
    assert counts[0][0] > counts[1][0] > counts[2][1]
    for each, expected in zip((whole, stays, resident), counts, strict=True):
        assert cycles_of_launches(each, given, "sram_b2", "rtl") == expected


@pytest.mark.parametrize(
    "name, sizes",
    [
        ("stencil2d", {"rows": 9, "columns": 20, "steps": 2}),
        ("mm", {"rows": 16, "columns": 9, "inner": 5}),
        ("gauss_elim", {"n": 8}),
        ("array_sum", {"n": 300}),
    ],
)
def test_transfers_are_apart_from_what_computes(name: str, sizes: dict[str, int]):
    given = workload(name, sizes, 0)
    program = program_in(given, "sram_b4", "memory", RESIDENT)
    assert program is not None
    load, compute, store = opcodes(program)
    assert load == {Opcode.LAYOUT, Opcode.LOAD, Opcode.END}
    assert store == {Opcode.LAYOUT, Opcode.STORE, Opcode.END}
    assert not compute & {Opcode.LAYOUT, Opcode.LOAD, Opcode.STORE}
    cycles_of_launches(program, given, "sram_b4", "model")


@pytest.mark.parametrize("backend", ["model", "rtl"])
def test_another_program_finds_nothing(backend: str):
    given = workload("vec_add", {"n": 100}, 1)
    program = program_in(given, "sram_b2", "memory", STAY)
    assert program is not None
    with Device("sram_b2", backend) as device:
        whole = device.run(program, given.inputs).outputs["c"]
        computes, stores = (replace(program, launches=(each,)) for each in program.launches)
        device.run(computes, given.inputs)
        alone = device.run(stores, given.inputs).outputs["c"]
    assert whole.all() and not alone.any()


def test_what_goes_through_main_memory_has_no_phases():
    given = workload("vec_add", {"n": 16}, 0)
    assert program_in(given, "sram_b4", "core", RESIDENT) is None
    in_slabs = workload("stencil1d", {"n": 40000, "steps": 1}, 0)
    for regime in (STAY, RESIDENT):
        assert program_in(in_slabs, "sram_b4", "memory", regime) is None


def test_arrays_that_come_late_are_not_loaded_first():
    given = workload("stencil1d", {"n": 100, "steps": 1}, 0)
    program = program_in(given, "sram_b4", "memory", STORED)
    assert program is not None
    assert in_phases(program, loads_first=True) is None
    assert in_phases(program, loads_first=False) is not None
