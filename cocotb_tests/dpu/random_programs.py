"""Random programs that keep every rule of the machine, for any configuration."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from gnarl.hw.dpu.assembly import BANK_MASKS, assemble
from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import (
    FIRST_WRITER,
    WRITE_COPY,
    Opcode,
    PeOp,
    instruction,
    instruction_bytes,
    instruction_word_bits,
    opcodes,
)
from gnarl.hw.dpu.topology import pe_list, writers
from gnarl.hw.lib.formats import FloatFormat

EXECS = (Opcode.EXEC, Opcode.EXEC_LOAD, Opcode.EXEC_STORE)
LOADS = (Opcode.LOAD, Opcode.EXEC_LOAD)
STORES = (Opcode.STORE, Opcode.EXEC_STORE)

_WEIGHTS = {
    Opcode.NOP: 1,
    Opcode.EXEC: 4,
    Opcode.COPY: 3,
    Opcode.LOAD: 3,
    Opcode.STORE: 2,
    Opcode.EXEC_LOAD: 3,
    Opcode.EXEC_STORE: 3,
}


@dataclass(frozen=True)
class RandomProgram:
    """``stream``: bytes, ``HALT`` last; ``data``: uint32 [data_rows, banks] before the start."""

    stream: np.ndarray
    data: np.ndarray
    instructions: int


def columns_of(config: DpuConfig, count: int) -> dict[str, np.ndarray]:
    """Columns of all fields of all formats, all 0, for ``count`` instructions."""
    columns = {}
    for opcode in opcodes(config):
        for name, field in instruction(config, opcode):
            if name in ("opcode", "padding"):
                continue
            length = getattr(field.shape, "length", None)
            if name in BANK_MASKS:
                columns[name] = np.zeros((count, config.banks), bool)
            else:
                columns[name] = np.zeros((count, *([length] if length else [])), np.int64)
    return columns


def random_data(config: DpuConfig, rng: np.random.Generator) -> np.ndarray:
    """A data memory, uint32 [data_rows, banks]: mostly moderate numbers, some of any bits."""
    shape = (config.data_rows, config.banks)
    words = rng.integers(0, 1 << config.width, shape, np.uint32)
    if isinstance(config.number_format, FloatFormat):
        fraction, bias = config.number_format.fraction, config.number_format.bias
        near_one = bias + rng.integers(-2, 3, shape)
        sign = words >> (config.width - 1) << (config.width - 1)
        low = words & ((1 << fraction) - 1)
        moderate = (sign | near_one << fraction | low).astype(np.uint32)
        words = np.where(rng.random(shape) < 0.8, moderate, words)
    return words


def random_program(config: DpuConfig, rng: np.random.Generator, length: int) -> RandomProgram:
    """About ``length`` random instructions, cut short to fit; then stores of what registers hold.

    Follows the state of banks and pipeline, so that nothing empty is read, no bank is written
    twice in a cycle or while it's full; within that, fields are random, also those that matter
    to nothing.
    """
    return _Generator(config, rng).program(length)


class _Generator:
    def __init__(self, config: DpuConfig, rng: np.random.Generator) -> None:
        self._config = config
        self._rng = rng
        self._valid = np.zeros((config.banks, config.registers), bool)
        self._arrivals: dict[int, set[int]] = defaultdict(set)
        self._coming = np.zeros(config.banks, np.int64)
        self._cycle = 0
        layers = [pe.layer for pe in pe_list(config)]
        self._latencies = [
            [config.layer_latency(0), *(config.layer_latency(layers[pe]) for pe in pes)]
            for pes in (writers(config, bank) for bank in range(config.banks))
        ]
        self._opcodes: list[Opcode] = []
        self._rows: list[dict[str, np.ndarray]] = []

    def program(self, length: int) -> RandomProgram:
        config = self._config
        known = [opcode for opcode in opcodes(config) if opcode in _WEIGHTS]
        weights = np.array([_WEIGHTS[opcode] for opcode in known], float)
        size = config.instruction_words * instruction_word_bits(config) // 8
        dump = instruction_bytes(config, Opcode.STORE) * config.registers
        left = size - dump - config.drain_cycles - 1
        # In phases banks fill up or empty, so that both ends are met.
        keep = 0.5
        for _ in range(length):
            if self._rng.random() < 0.05:
                keep = self._rng.choice([0.2, 0.5, 0.95])
            opcode = self._rng.choice(known, p=weights / weights.sum())
            left -= instruction_bytes(config, Opcode(opcode))
            if left < 0:
                break
            self._issue(Opcode(opcode), keep)
        for _ in range(config.drain_cycles):
            self._issue(Opcode.NOP, keep)
        for register in range(min(config.registers, config.data_rows)):
            self._dump(register)
        self._append(Opcode.HALT, {})
        columns = columns_of(config, len(self._rows))
        for number, row in enumerate(self._rows):
            for name, value in row.items():
                columns[name][number] = value
        stream = assemble(config, np.array(self._opcodes, np.uint8), columns)
        return RandomProgram(stream, random_data(config, self._rng), len(self._opcodes))

    def _append(self, opcode: Opcode, row: dict[str, np.ndarray]) -> None:
        self._opcodes.append(opcode)
        self._rows.append(row)
        self._cycle += 1

    def _arrive(self) -> np.ndarray:
        """Takes this cycle's writes; what is valid then, forwarded words among it."""
        for bank in sorted(self._arrivals.pop(self._cycle, ())):
            self._valid[bank, np.argmin(self._valid[bank])] = True
            self._coming[bank] -= 1
        return self._valid

    def _dump(self, register: int) -> None:
        read = self._arrive()[:, register].copy()
        row = {
            "read_enable": read,
            "read_address": np.full(len(read), register),
            "row": np.array(register),
        }
        self._append(Opcode.STORE, row)

    def _issue(self, opcode: Opcode, keep: float) -> None:
        rng, config = self._rng, self._config
        valid = self._arrive()
        # A register that is freed in this cycle can be written from the next one on.
        row: dict[str, np.ndarray] = {}
        if opcode in (*EXECS, Opcode.COPY, Opcode.STORE):
            row |= self._read(valid, keep)
        if opcode in EXECS:
            row |= self._execute()
        elif opcode == Opcode.COPY:
            row["source"] = rng.integers(0, config.banks, config.banks)
            row["write_enable"] = self._write_some(0.5, config.layer_latency(0))
        if opcode in LOADS:
            row["load_enable"] = self._write_some(0.4, config.load_latency)
        if opcode in (*LOADS, *STORES):
            row["row"] = rng.integers(0, config.data_rows)
        if opcode == Opcode.EXEC_STORE:
            row["store_enable"] = rng.random(config.banks) < 0.5
        self._append(opcode, row)

    def _read(self, valid: np.ndarray, keep: float) -> dict[str, np.ndarray]:
        rng, config = self._rng, self._config
        read = (rng.random(config.banks) < 0.7) & valid.any(axis=1)
        free = rng.random(config.banks) > keep
        address = rng.integers(0, config.registers, config.banks)
        for bank in np.flatnonzero(read):
            address[bank] = rng.choice(np.flatnonzero(valid[bank]))
        # Freeing needs no reading, and may hit what is free already.
        free &= read | (rng.random(config.banks) < 0.1)
        banks = np.flatnonzero(free)
        self._valid[banks, address[banks]] = False
        return {"read_enable": read, "read_address": address, "valid_reset": free}

    def _execute(self) -> dict[str, np.ndarray]:
        rng, config = self._rng, self._config
        source = np.zeros(config.banks, np.int64)
        for bank in rng.permutation(config.banks):
            choice = int(rng.integers(-1, len(self._latencies[bank])))
            if choice >= 0 and self._write(bank, self._latencies[bank][choice]):
                source[bank] = choice + WRITE_COPY
        assert FIRST_WRITER == WRITE_COPY + 1
        return {
            "source": rng.integers(0, config.banks, config.banks),
            "operation": rng.integers(0, len(PeOp), config.pes),
            "write_source": source,
        }

    def _write_some(self, share: float, latency: int) -> np.ndarray:
        enable = self._rng.random(self._config.banks) < share
        for bank in np.flatnonzero(enable):
            enable[bank] = self._write(int(bank), latency)
        return enable

    def _write(self, bank: int, latency: int) -> bool:
        """Plans a write to ``bank``; false if there is another in its cycle, or too little room."""
        arrivals = self._arrivals[self._cycle + latency]
        if bank in arrivals:
            return False
        if self._valid[bank].sum() + self._coming[bank] >= self._config.registers:
            return False
        arrivals.add(bank)
        self._coming[bank] += 1
        return True
