"""The DPU as its instructions see it: an interpreter of the binary, with every rule checked.

First what is computed from what, cycle by cycle (``dataflow``), then the arithmetic.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import ISSUED, ErrorCause, Opcode
from gnarl.hw.lib.errors import GnarlError
from gnarl.hw.lib.losses import LOSSES
from gnarl.sw.golden.arithmetic import arithmetic
from gnarl.sw.golden.dpu import evaluate
from gnarl.sw.program.rows import Rows
from gnarl.sw.runtime.dpu.model.dataflow import Dataflow, follow
from gnarl.sw.runtime.dpu.model.fetch import EXECS, LOADS, STORES, fetch, illegal_fields

_COUNTED = {
    "exec": EXECS,
    "copy": (Opcode.COPY,),
    "load": LOADS,
    "store": STORES,
    "nop": (Opcode.NOP,),
}


class ModelError(GnarlError):
    """A program that breaks a rule of the machine, which stops with ``cause`` and ``detail``.

    ``cycle`` counts from the start; ``instruction`` is the number, and ``address`` the byte
    address, of the instruction at fault: for a write to a bank, of the last that issued.
    """

    def __init__(
        self, cause: ErrorCause, detail: int, cycle: int, instruction: int, address: int
    ) -> None:
        self.cause = cause
        self.detail = detail
        self.cycle = cycle
        self.instruction = instruction
        self.address = address
        super().__init__(
            f"cycle {cycle}, instruction {instruction} at byte {address:#x}: "
            f"{cause.name}, detail {detail:#x}"
        )


@dataclass(frozen=True)
class ModelResult:
    """What a run leaves.

    ``data``: the rows of the data memory that held something before the run, or are loaded or
    stored to. ``cycles``, and ``counters`` by the names of ``isa.COUNTERS``: as the hardware counts
    them.
    """

    data: Rows
    cycles: int
    counters: dict[str, int]


def run(config: DpuConfig, stream: np.ndarray, data: Rows) -> ModelResult:
    """Runs the program ``stream`` (uint8 bytes) from its start until it is done.

    ``data`` is in the data memory before the start, else 0; the instruction memory holds 0 beyond
    the program. Takes memory for the rows that the program uses, however many there are. Raises
    ``ModelError`` where the machine would stop with an error, and ``CapacityError`` if the program
    is longer than the instruction memory.
    """
    fetched = fetch(config, stream)
    start, count = config.start_cycles, len(fetched.opcodes)
    # The first cycle of draining is the one in which HALT issues.
    drain = config.drain_cycles - 1 if fetched.end is None else config.drain_cycles
    cycles = count + (min(fetched.idle, drain) if fetched.end else drain)
    flow = follow(config, fetched, illegal_fields(config, fetched), cycles, data.numbers)
    if flow.cause != ErrorCause.NONE:
        address = int(fetched.addresses[flow.instruction])
        cause = ErrorCause(flow.cause)
        raise ModelError(cause, flow.detail, start + flow.cycle, flow.instruction, address)
    if fetched.end is not None:
        number = count + fetched.idle
        raise ModelError(*fetched.end, start + number, number, fetched.end_address)
    words = data.among(flow.rows).words.reshape(-1) & np.uint32((1 << config.width) - 1)
    leaves = np.concatenate([np.zeros(1, np.uint32), words])
    values = evaluate(flow.operation.astype(np.uint8), flow.left, flow.right, leaves, config.format)
    counts = np.bincount(fetched.opcodes, minlength=len(Opcode))
    counters = {name: int(counts[list(_COUNTED[name])].sum()) for name in ISSUED}
    counters |= _losses(flow, values, config.format)
    return ModelResult(Rows(flow.rows, values[flow.memory]), start + cycles, counters)


def _losses(flow: Dataflow, values: np.ndarray, format: str) -> Counter[str]:
    """How many results lost something, of ``values`` uint32 [words of the memory + operations]."""
    unit = arithmetic(format)
    numbers = unit.numbers(values)
    results = numbers[len(numbers) - len(flow.operation) :]
    losses = Counter(dict.fromkeys(LOSSES, 0))
    for operation in np.unique(flow.operation).tolist():
        of_kind = flow.operation == operation
        left, right = numbers[flow.left[of_kind]], numbers[flow.right[of_kind]]
        losses.update(unit.losses(operation, left, right, results[of_kind]))
    return losses
