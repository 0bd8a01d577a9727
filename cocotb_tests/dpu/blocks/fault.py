"""The fault recorder with random faults: the first cause, of it the lowest place."""

from __future__ import annotations

import random

import cocotb

from cocotb_tests.dpu.blocks.bench import Block
from cocotb_tests.dpu.configs import config_under_test
from gnarl.hw.dpu.fault import fault_layout
from gnarl.hw.dpu.isa import ErrorCause

CONTEXT = ("opcode", "row", "address")
RANKED = (
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
)
"""Faults, the one that counts first first."""


def expected(faults) -> tuple[int, int]:
    """Cause and detail of a constant of ``fault_layout``."""
    illegal = faults.illegal
    for cause, flags, detail in (
        (ErrorCause.ILLEGAL_OPCODE, illegal.opcode, faults.opcode),
        (ErrorCause.ILLEGAL_OPCODE, illegal.operation, 0x100 + lowest(illegal.operation)),
        (ErrorCause.ILLEGAL_OPCODE, illegal.write_source, 0x200 + lowest(illegal.write_source)),
        (ErrorCause.ADDRESS_OUT_OF_RANGE, faults.beyond, faults.address),
        (ErrorCause.ADDRESS_OUT_OF_RANGE, illegal.row, faults.row),
        (ErrorCause.ADDRESS_OUT_OF_RANGE, illegal.source, lowest(illegal.source)),
        (ErrorCause.ADDRESS_OUT_OF_RANGE, illegal.read_address, lowest(illegal.read_address)),
        (ErrorCause.READ_OF_EMPTY_REGISTER, faults.empty, lowest(faults.empty)),
        (ErrorCause.WRITE_TO_FULL_BANK, faults.full, lowest(faults.full)),
        (ErrorCause.WRITE_CONFLICT, faults.conflict, lowest(faults.conflict)),
    ):
        if flags:
            return cause.value, detail
    return 0, 0


def lowest(flags: int) -> int:
    return (flags & -flags).bit_length() - 1


@cocotb.test()
async def random_faults(dut):
    recorder = Block(dut, "fault", ["watch", "faults", "clear"], ["fault", "cause", "detail"])
    await recorder.open()
    config = config_under_test()
    layout = fault_layout(config)
    illegal = layout["illegal"].shape
    causes = set()
    for _ in range(1000):
        # Every kind of fault is at times the first, alone or with others.
        first = random.randrange(len(RANKED) + 1)
        kinds = [kind for kind in RANKED[first:] if kind == RANKED[first] or random.random() < 0.5]
        flags = {
            name: random.getrandbits((illegal if name in illegal.members else layout)[name].width)
            for name in kinds
        }
        context = {name: random.getrandbits(layout[name].width) for name in CONTEXT}
        inner = {name: value for name, value in flags.items() if name in illegal.members}
        outer = {name: value for name, value in flags.items() if name not in illegal.members}
        bits = layout.const({**context, **outer, "illegal": inner}).as_value().value
        cause, detail = expected(layout.from_bits(bits))
        seen = await recorder.cycle(watch=1, faults=bits)
        for _ in range(config.fault_stages):
            assert not seen["fault"]
            later = random.getrandbits(layout.size) if cause else bits
            seen = await recorder.cycle(watch=1, faults=later)
        assert seen["fault"] == (cause != 0)
        # The detail comes a cycle after the cause; a stage gives it that cycle.
        for delay in range(3):
            other = random.getrandbits(layout.size)
            seen = await recorder.cycle(faults=other)
            assert (seen["fault"], seen["cause"]) == (0, cause)
            assert seen["detail"] == (detail if delay + config.fault_stages else 0)
        await recorder.cycle(clear=1)
        seen = await recorder.cycle()
        assert (seen["cause"], seen["detail"]) == (0, 0)
        causes.add(cause)
    assert len(causes) == len(ErrorCause)
