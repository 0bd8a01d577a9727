"""The DPU as its instructions see it: an interpreter of the binary, with every rule checked.

All that an instruction computes is computed when it issues, and handed to the banks in the cycle in
which the machine writes it; a cycle is one step of ``_Machine``.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from hw.dpu.config import DpuConfig
from hw.dpu.isa import (
    COUNTERS,
    FIRST_WRITER,
    START_CYCLES,
    WRITE_COPY,
    ErrorCause,
    Opcode,
    PeOp,
)
from hw.dpu.topology import pe_list, writers
from hw.lib.errors import GnarlError
from sw.golden.arithmetic import arithmetic
from sw.runtime.model.dpu_fetch import EXECS, LOADS, STORES, fetch, illegal_fields

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

    ``data``: the data memory, uint32 [data_rows, banks]. ``cycles``, and ``counters`` by the names
    of ``isa.COUNTERS``: as the hardware counts them.
    """

    data: np.ndarray
    cycles: int
    counters: dict[str, int]


def run(config: DpuConfig, stream: np.ndarray, data: np.ndarray) -> ModelResult:
    """Runs the program ``stream`` (uint8 bytes) from its start until it is done.

    ``data`` is the data memory before the start, uint32 [data_rows, banks]; the instruction memory
    holds 0 beyond the program. Raises ``ModelError`` where the machine would stop with an error,
    and ``CapacityError`` if the program is longer than the instruction memory.
    """
    return _Machine(config, stream, data).run()


@dataclass(frozen=True)
class _Write:
    """Words (uint32) that instruction ``number`` writes to ``banks`` (numbers) in one cycle."""

    number: int
    banks: np.ndarray
    words: np.ndarray


class _Machine:
    def __init__(self, config: DpuConfig, stream: np.ndarray, data: np.ndarray) -> None:
        self._config = config
        self._fetched = fetch(config, stream)
        self._columns = self._fetched.columns
        self._faults = illegal_fields(config, self._fetched)
        self._unit = arithmetic(config.format)
        self._data = data & np.uint32((1 << config.width) - 1)
        self._registers = np.zeros((config.banks, config.registers), np.uint32)
        self._valid = np.zeros((config.banks, config.registers), bool)
        self._pending: dict[int, list[_Write]] = defaultdict(list)
        self._cycle = START_CYCLES
        self._banks = np.arange(config.banks)
        layers = np.array([pe.layer for pe in pe_list(config)])
        self._pes = [np.flatnonzero(layers == layer) for layer in range(1, config.depth + 1)]
        self._writer, self._latency = _write_tables(config)

    def run(self) -> ModelResult:
        drain = self._config.drain_cycles
        codes = [Opcode(code) for code in self._fetched.opcodes.tolist()]
        for number, opcode in enumerate(codes):
            words = self._read_and_write(number)
            if opcode in EXECS or opcode == Opcode.COPY:
                self._execute(number, opcode, words)
            if opcode in LOADS:
                self._load(number)
            elif opcode in STORES:
                self._store(number, opcode, words)
            self._cycle += 1
        # The first cycle of draining was the one in which HALT issued.
        idle = drain - 1 if self._fetched.end is None else min(drain, self._fetched.idle)
        for _ in range(idle):
            self._read_and_write(None)
            self._cycle += 1
        if self._fetched.end is not None:
            self._cycle += self._fetched.idle - idle
            raise self._error(*self._fetched.end, len(codes) + self._fetched.idle)
        counts = np.bincount(self._fetched.opcodes, minlength=len(Opcode))
        counters = {name: int(counts[list(_COUNTED[name])].sum()) for name in COUNTERS}
        return ModelResult(self._data, self._cycle, counters)

    def _read_and_write(self, number: int | None) -> np.ndarray:
        """One cycle of the banks, in which instruction ``number`` issues: the words it reads.

        A bank that isn't read gives 0.
        """
        writes = self._pending.pop(self._cycle, [])
        offers = np.zeros(self._config.banks, np.int64)
        full = np.logical_and.reduce(self._valid, axis=1)
        # The lowest empty register, before anything is freed.
        register = self._valid.argmin(axis=1)
        for write in writes:
            offers[write.banks] += 1
            # Written before it's read: that is the forwarding.
            self._registers[write.banks, register[write.banks]] = write.words
        written = np.flatnonzero((offers > 0) & ~full)
        self._valid[written, register[written]] = True

        words = np.zeros(self._config.banks, np.uint32)
        if number is not None:
            if number in self._faults:
                raise self._error(*self._faults[number], number)
            address = self._columns["read_address"][number]
            read = np.flatnonzero(self._columns["read_enable"][number])
            words[read] = self._registers[read, address[read]]
            empty = read[~self._valid[read, address[read]]]
            if len(empty):
                cause = ErrorCause.READ_OF_EMPTY_REGISTER
                raise self._error(cause, int(empty[0]), number)
        self._check_writes(writes, offers, full)
        if number is not None:
            freed = np.flatnonzero(self._columns["valid_reset"][number])
            self._valid[freed, address[freed]] = False
        return words

    def _check_writes(self, writes: list[_Write], offers: np.ndarray, full: np.ndarray) -> None:
        for cause, wrong in (
            (ErrorCause.WRITE_TO_FULL_BANK, full & (offers > 0)),
            (ErrorCause.WRITE_CONFLICT, offers > 1),
        ):
            if wrong.any():
                bank = int(np.argmax(wrong))
                raise self._error(
                    cause, bank, max(write.number for write in writes if bank in write.banks)
                )

    def _execute(self, number: int, opcode: Opcode, words: np.ndarray) -> None:
        """Crossbar, PEs, and what the banks will receive from them."""
        lanes = words[self._columns["source"][number]]
        if opcode == Opcode.COPY:
            copied = np.flatnonzero(self._columns["write_enable"][number])
            self._write_later(number, self._config.layer_latency(0), copied, lanes[copied])
            return
        operation = self._columns["operation"][number]
        results = np.empty(self._config.pes, np.uint32)
        operands = lanes
        # PEs of one layer, tree by tree from the left, take neighbours of the layer below.
        for pes in self._pes:
            operands = self._compute(operation[pes], operands[0::2], operands[1::2])
            results[pes] = operands
        source = self._columns["write_source"][number]
        writer = self._writer[self._banks, source]
        offered = np.where(source == WRITE_COPY, lanes, results[writer])
        latency = self._latency[self._banks, source]
        for cycles in sorted(set(latency.tolist()) - {0}):
            banks = np.flatnonzero(latency == cycles)
            self._write_later(number, cycles, banks, offered[banks])

    def _compute(self, operation: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        results = np.where(operation == PeOp.PASS_RIGHT, right, left)
        for code in sorted(set(operation.tolist()) - {PeOp.PASS_LEFT, PeOp.PASS_RIGHT}):
            pes = np.flatnonzero(operation == code)
            a, b = self._unit.numbers(left[pes]), self._unit.numbers(right[pes])
            results[pes] = self._unit.words(self._unit.apply(code, a, b))
        return results

    def _load(self, number: int) -> None:
        banks = np.flatnonzero(self._columns["load_enable"][number])
        words = self._data[self._columns["row"][number], banks]
        self._write_later(number, self._config.load_latency, banks, words)

    def _store(self, number: int, opcode: Opcode, words: np.ndarray) -> None:
        # Memory operations are done in the order of issue, so this may be done at once.
        mask = "read_enable" if opcode == Opcode.STORE else "store_enable"
        banks = np.flatnonzero(self._columns[mask][number])
        self._data[self._columns["row"][number], banks] = words[banks]

    def _write_later(self, number: int, cycles: int, banks: np.ndarray, words: np.ndarray) -> None:
        self._pending[self._cycle + cycles].append(_Write(number, banks, words))

    def _error(self, cause: ErrorCause, detail: int, number: int) -> ModelError:
        known = number < len(self._fetched.addresses)
        address = self._fetched.addresses[number] if known else self._fetched.end_address
        return ModelError(cause, detail, self._cycle, number, int(address))


def _write_tables(config: DpuConfig) -> tuple[np.ndarray, np.ndarray]:
    """For each bank and legal ``write_source``: the PE's number; cycles until its word is written.

    0 cycles for nothing to write; PE 0 where there is none.
    """
    pes = pe_list(config)
    by_bank = [writers(config, bank) for bank in range(config.banks)]
    count = FIRST_WRITER + max(map(len, by_bank))
    writer, latency = np.zeros((2, config.banks, count), np.int64)
    latency[:, WRITE_COPY] = config.layer_latency(0)
    for bank, numbers in enumerate(by_bank):
        for source, pe in enumerate(numbers, FIRST_WRITER):
            writer[bank, source] = pe
            latency[bank, source] = config.layer_latency(pes[pe].layer)
    return writer, latency
