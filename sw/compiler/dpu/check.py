"""Checkers of the passes' results: each says what a right result is, by itself."""

from __future__ import annotations

import numpy as np

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import FIRST_WRITER, WRITE_COPY, WRITE_NONE, Opcode, PeOp
from gnarl.hw.dpu.topology import pe_list, pe_number, writers
from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.compiler.dpu.binarise import BinaryDag
from gnarl.sw.compiler.dpu.memory import MemoryLayout

EXECUTING = (Opcode.EXEC, Opcode.EXEC_LOAD, Opcode.EXEC_STORE)
LOADING = (Opcode.LOAD, Opcode.EXEC_LOAD)
STORING = (Opcode.STORE, Opcode.EXEC_STORE)


class BrokenRuleError(GnarlError):
    """A pass broke one of its own rules; the text says which and where."""


def check_binary(binary: BinaryDag, config: DpuConfig) -> None:
    """Operands come first, and every group is a tree of at most ``depth`` levels with one root."""
    for k in range(binary.operations):
        value = binary.leaves + k
        if not (0 <= binary.left[k] < value and 0 <= binary.right[k] < value):
            raise BrokenRuleError(f"operation {k} uses a value that comes after it")
        if binary.group[k] < k or binary.group[binary.group[k]] != binary.group[k]:
            raise BrokenRuleError(f"operation {k} belongs to group {binary.group[k]}, not a root")
    levels = np.ones(binary.operations, np.int64)
    for k in range(binary.operations):
        for operand in (int(binary.left[k]), int(binary.right[k])):
            inner = operand - binary.leaves
            if inner >= 0 and binary.group[inner] == binary.group[k]:
                levels[k] = max(levels[k], levels[inner] + 1)
        if levels[k] > config.depth:
            raise BrokenRuleError(f"the group of operation {k} has {levels[k]} levels")


def check_instructions(
    opcode: np.ndarray,
    columns: dict[str, np.ndarray],
    layout: MemoryLayout,
    binary: BinaryDag,
    config: DpuConfig,
) -> None:
    """Runs the instructions on value numbers instead of values.

    Every register read holds what the binary DAG says, no bank is written twice in a cycle or
    beyond its registers, results are written where their PE reaches and read no sooner than they
    are there, and at the end every output is in its place. Raises ``BrokenRuleError``.
    """
    machine = _Machine(layout, binary, config)
    for cycle in range(len(opcode)):
        machine.step(
            cycle, Opcode(int(opcode[cycle])), {name: c[cycle] for name, c in columns.items()}
        )
    for cycle in range(len(opcode), len(opcode) + config.drain_cycles + 1):
        machine.write(cycle)
    for k, value in enumerate(binary.outputs.tolist()):
        row, bank = int(layout.output_row[k]), int(layout.output_bank[k])
        stored = bank if row < 0 else machine.memory.get((row, bank))
        if stored != machine.number[value]:
            raise BrokenRuleError(f"output {k} is value {value}, but value {stored} is stored")


class _Machine:
    """Registers and memory, holding value numbers."""

    def __init__(self, layout: MemoryLayout, binary: BinaryDag, config: DpuConfig) -> None:
        self.config = config
        self.pes = pe_list(config)
        self.writers = [writers(config, bank) for bank in range(config.banks)]
        # Operations that compute the same are one number.
        self.number = list(range(binary.leaves))
        self.result: dict[tuple[int, int, int], int] = {}
        for k in range(binary.operations):
            left, right = self.number[binary.left[k]], self.number[binary.right[k]]
            key = (int(binary.op[k]), left, right)
            self.number.append(self.result.setdefault(key, binary.leaves + k))
        self.memory: dict[tuple[int, int], int] = {}
        for row, bank, value in zip(
            layout.word_row, layout.word_bank, layout.word_value, strict=True
        ):
            if (int(row), int(bank)) in self.memory:
                raise BrokenRuleError(f"two values for row {row}, bank {bank}")
            self.memory[int(row), int(bank)] = int(value)
        self.registers: list[dict[int, int]] = [{} for _ in range(config.banks)]
        self.writes: dict[int, dict[int, int]] = {}

    def plan(self, cycle: int, bank: int, value: int | None, what: str) -> None:
        """Notes a write for a later cycle."""
        if value is None:
            raise BrokenRuleError(f"{what} writes nothing known to bank {bank} in cycle {cycle}")
        if bank in self.writes.setdefault(cycle, {}):
            raise BrokenRuleError(f"bank {bank} is written twice in cycle {cycle}")
        self.writes[cycle][bank] = value

    def write(self, cycle: int) -> None:
        """Does the writes of a cycle."""
        for bank, value in self.writes.pop(cycle, {}).items():
            held = self.registers[bank]
            empty = [r for r in range(self.config.registers) if r not in held]
            if not empty:
                raise BrokenRuleError(f"bank {bank} is full in cycle {cycle}")
            held[empty[0]] = value

    def step(self, cycle: int, opcode: Opcode, field: dict[str, np.ndarray]) -> None:
        """Issues one instruction."""
        self.write(cycle)
        read: dict[int, int] = {}
        if opcode in (*EXECUTING, Opcode.COPY, Opcode.STORE):
            for bank in np.flatnonzero(field["read_enable"]).tolist():
                address = int(field["read_address"][bank])
                if address not in self.registers[bank]:
                    raise BrokenRuleError(
                        f"cycle {cycle} reads register {address} of bank {bank}: empty"
                    )
                read[bank] = self.registers[bank][address]
                if field["valid_reset"][bank]:
                    del self.registers[bank][address]
        lanes = [read.get(int(bank)) for bank in field["source"]]
        if opcode == Opcode.COPY:
            for bank in np.flatnonzero(field["write_enable"]).tolist():
                self.plan(cycle + self.config.layer_latency(0), bank, lanes[bank], "copy")
        if opcode in EXECUTING:
            self._execute(cycle, lanes, field["operation"], field["write_source"])
        row = int(field["row"])
        if opcode in LOADING:
            for bank in np.flatnonzero(field["load_enable"]).tolist():
                self.plan(
                    cycle + self.config.load_latency, bank, self.memory.get((row, bank)), "load"
                )
        if opcode in STORING:
            mask = field["read_enable"] if opcode == Opcode.STORE else field["store_enable"]
            for bank in np.flatnonzero(mask).tolist():
                if bank not in read:
                    raise BrokenRuleError(f"cycle {cycle} stores bank {bank} without reading it")
                self.memory[row, bank] = read[bank]

    def _execute(
        self, cycle: int, lanes: list[int | None], operation: np.ndarray, source: np.ndarray
    ) -> None:
        config = self.config
        output: list[int | None] = []
        for number, pe in enumerate(self.pes):
            inputs = []
            for side in range(2):
                if pe.layer == 1:
                    inputs.append(lanes[pe.tree * config.tree_inputs + 2 * pe.place + side])
                else:
                    below = pe_number(config, pe.tree, pe.layer - 1, 2 * pe.place + side)
                    inputs.append(output[below])
            op = int(operation[number])
            if op in (PeOp.PASS_LEFT, PeOp.PASS_RIGHT):
                output.append(inputs[op - PeOp.PASS_LEFT])
            elif None in inputs:
                output.append(None)
            else:
                output.append(self.result.get((op, inputs[0], inputs[1])))  # type: ignore[arg-type]
        for bank in range(config.banks):
            code = int(source[bank])
            if code == WRITE_COPY:
                self.plan(cycle + config.layer_latency(0), bank, lanes[bank], "copy")
            elif code != WRITE_NONE:
                number = self.writers[bank][code - FIRST_WRITER]
                layer = self.pes[number].layer
                self.plan(cycle + config.layer_latency(layer), bank, output[number], "exec")
