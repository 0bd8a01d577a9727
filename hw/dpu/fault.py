"""What has gone wrong, and where."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.dpu.config import DpuConfig
from hw.dpu.decoder import illegal_layout
from hw.dpu.isa import OPERATION_DETAIL, WRITE_SOURCE_DETAIL, ErrorCause, Opcode
from hw.lib.cut_points import named
from hw.lib.lowest_one import lowest_one, position


def fault_layout(config: DpuConfig) -> data.StructLayout:
    """All that can go wrong in a cycle.

    ``illegal``: see ``decoder``; ``beyond``: the instruction doesn't end within the memory;
    ``opcode``, ``row``, ``address`` (of its first byte): the instruction's own; ``empty``,
    ``full``, ``conflict``: a bit for each bank.
    """
    row_bits = (config.data_rows - 1).bit_length()
    return data.StructLayout(
        {
            "illegal": illegal_layout(config),
            "beyond": 1,
            "opcode": Opcode.as_shape(),
            "row": row_bits,
            "address": 32,
            "empty": config.banks,
            "full": config.banks,
            "conflict": config.banks,
        }
    )


class FaultRecorder(wiring.Component):
    """Keeps the faults of a cycle, and names the one that counts.

    The lowest cause counts, within it the fault that ``elaborate`` ranks first, of these the
    lowest place. Latency: 1 cycle; cause and detail, which take long to find, come from registers.

    Members: ``watch``: this cycle's faults count, 0 from the next cycle after a fault until
    ``clear``; ``faults``: as ``fault_layout``; ``clear``: forgets; ``fault``: there is one in this
    cycle; ``cause``, ``detail``: as in ``isa``, of the last cycle that was watched.
    """

    def __init__(self, config: DpuConfig) -> None:
        self._layout = fault_layout(config)
        super().__init__(
            {
                "watch": In(1),
                "faults": In(self._layout),
                "clear": In(1),
                "fault": Out(1),
                "cause": Out(ErrorCause),
                "detail": Out(32),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        now, kept = self.faults, Signal(self._layout)
        with m.If(self.clear):
            m.d.sync += kept.eq(0)
        with m.Elif(self.watch):
            m.d.sync += kept.eq(now)
        flags = Cat(now.illegal.as_value(), now.beyond, now.empty, now.full, now.conflict)
        m.d.comb += self.fault.eq(self.watch & flags.any())

        illegal = kept.illegal
        # What counts first comes first; the detail is the base plus the lowest place of the flags.
        ranked: list[tuple[ErrorCause, Value, Value | int]] = [
            (ErrorCause.ILLEGAL_OPCODE, illegal.opcode, kept.opcode),
            (ErrorCause.ILLEGAL_OPCODE, illegal.operation, OPERATION_DETAIL),
            (ErrorCause.ILLEGAL_OPCODE, illegal.write_source, WRITE_SOURCE_DETAIL),
            (ErrorCause.ADDRESS_OUT_OF_RANGE, kept.beyond, kept.address),
            (ErrorCause.ADDRESS_OUT_OF_RANGE, illegal.row, kept.row),
            (ErrorCause.ADDRESS_OUT_OF_RANGE, illegal.source, 0),
            (ErrorCause.ADDRESS_OUT_OF_RANGE, illegal.read_address, 0),
            (ErrorCause.READ_OF_EMPTY_REGISTER, kept.empty, 0),
            (ErrorCause.WRITE_TO_FULL_BANK, kept.full, 0),
            (ErrorCause.WRITE_CONFLICT, kept.conflict, 0),
        ]
        for rank, (cause, flags, base) in reversed(list(enumerate(ranked))):
            lowest = named(m, f"lowest_{rank}", lowest_one(flags))
            with m.If(flags.any()):
                m.d.comb += [self.cause.eq(cause), self.detail.eq(base + position(lowest))]
        return m
