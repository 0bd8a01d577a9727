from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from amaranth.hdl import Shape

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.fault import fault_layout, fault_recorder
from gnarl.hw.dpu.isa import ErrorCause, Opcode, instruction
from gnarl.hw.lib.machine.fault_recorder import FaultRecorder
from tests.hw.dpu.simulate import seeded, simulate

CONFIG = DpuConfig(depth=2, banks=12, registers=8, format="float16", data_rows=1000)

OPCODE, RANGE = ErrorCause.ILLEGAL_OPCODE, ErrorCause.ADDRESS_OUT_OF_RANGE
NAMES = [
    "opcode",
    "operation",
    "write_source",
    "beyond",
    "row",
    "source",
    "read_address",
    "empty",
    "full",
    "conflict",
]
"""Faults, the one that counts first first."""

CAUSES = {
    "opcode": OPCODE,
    "operation": OPCODE,
    "write_source": OPCODE,
    "beyond": RANGE,
    "row": RANGE,
    "source": RANGE,
    "read_address": RANGE,
    "empty": ErrorCause.READ_OF_EMPTY_REGISTER,
    "full": ErrorCause.WRITE_TO_FULL_BANK,
    "conflict": ErrorCause.WRITE_CONFLICT,
}
BASES = {"operation": 0x100, "write_source": 0x200}
CONTEXT = {"opcode": 9, "row": 777, "address": 0x3456}


def faults(flags: dict[str, int]) -> Any:
    """A constant of ``fault_layout`` with these flags."""
    layout = fault_layout(CONFIG)
    in_illegal = layout["illegal"].shape.members
    return {
        **CONTEXT,
        "illegal": {name: bits for name, bits in flags.items() if name in in_illegal},
        **{name: bits for name, bits in flags.items() if name in ("beyond", *NAMES[-3:])},
    }


def widths() -> dict[str, int]:
    layout = fault_layout(CONFIG)
    illegal = layout["illegal"].shape
    return {name: (illegal if name in illegal.members else layout)[name].width for name in NAMES}


def expected(flags: dict[str, int]) -> tuple[ErrorCause, int]:
    name = next(name for name in NAMES if flags.get(name))
    context = {"opcode": "opcode", "beyond": "address", "row": "row"}
    if name in context:
        return CAUSES[name], CONTEXT[context[name]]
    lowest = (flags[name] & -flags[name]).bit_length() - 1
    return CAUSES[name], BASES.get(name, 0) + lowest


async def record(
    ctx: Any, recorder: FaultRecorder, flags: dict[str, int], stages: int = 0
) -> tuple[int, int]:
    later = faults({name: (1 << width) - 1 for name, width in widths().items()})
    ctx.set(recorder.watch, 1)
    ctx.set(recorder.faults, faults(flags))
    if stages:
        assert ctx.get(recorder.fault) == 0
        await ctx.tick()
        ctx.set(recorder.faults, later)
    assert ctx.get(recorder.fault) == any(flags.values())
    await ctx.tick()
    ctx.set(recorder.watch, 0)
    ctx.set(recorder.faults, later)
    assert ctx.get(recorder.fault) == 0
    await ctx.tick()
    return ctx.get(recorder.cause), ctx.get(recorder.detail)


async def clear(ctx: Any, recorder: FaultRecorder) -> None:
    ctx.set(recorder.clear, 1)
    await ctx.tick()
    ctx.set(recorder.clear, 0)
    assert ctx.get(recorder.cause) == ErrorCause.NONE


@pytest.mark.parametrize("stages", [0, 1])
@pytest.mark.parametrize("name", NAMES)
def test_every_fault_at_every_place(name, stages):
    recorder = fault_recorder(replace(CONFIG, fault_stages=stages))

    async def process(ctx):
        for place in range(widths()[name]):
            flags = {name: 1 << place}
            assert await record(ctx, recorder, flags, stages) == expected(flags)
            await clear(ctx, recorder)

    simulate(recorder, process)


def test_of_many_faults_the_first_cause_and_lowest_place_count():
    recorder = fault_recorder(CONFIG)
    rng = seeded()

    async def process(ctx):
        for _ in range(300):
            chosen = rng.sample(NAMES, rng.randrange(1, 5))
            flags = {name: rng.getrandbits(widths()[name]) for name in chosen}
            if any(flags.values()):
                assert await record(ctx, recorder, flags) == expected(flags)
                await clear(ctx, recorder)

    simulate(recorder, process)


def test_cycles_without_faults_leave_none():
    recorder = fault_recorder(CONFIG)

    async def process(ctx):
        assert await record(ctx, recorder, {}) == (ErrorCause.NONE, 0)

    simulate(recorder, process)


@pytest.mark.parametrize("rows", [16, 17, 1000])
def test_the_row_is_as_wide_as_an_instruction_s(rows):
    config = DpuConfig(data_rows=rows)
    shapes = (fault_layout(config)["row"].shape, instruction(config, Opcode.LOAD)["row"].shape)
    assert len({Shape.cast(shape).width for shape in shapes}) == 1
