"""Finds which values a DPU program computes from which, by running it on names of values.

Nothing that the machine does depends on the data, so registers and memory hold numbers of values
here, and every operation makes a new value. All rules of the machine are checked on the way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import FIRST_WRITER, WRITE_COPY, WRITE_NONE, ErrorCause, Opcode, PeOp
from gnarl.hw.dpu.topology import pe_list, pe_number, writers
from gnarl.sw.program.jit import compiled, inner
from gnarl.sw.runtime.dpu.model.fetch import Fault, Fetched

ZERO = 0
"""The value of a bank that isn't read."""

FIRST_WORD = 1
"""The value that the first word of the data memory has at the start; the others follow."""


# Plain numbers for compiled code, which knows no Amaranth enumerations.
_PASS_LEFT, _PASS_RIGHT = PeOp.PASS_LEFT.value, PeOp.PASS_RIGHT.value
_EMPTY = ErrorCause.READ_OF_EMPTY_REGISTER.value
_FULL = ErrorCause.WRITE_TO_FULL_BANK.value
_CONFLICT = ErrorCause.WRITE_CONFLICT.value
_NONE = ErrorCause.NONE.value


class Dataflow(NamedTuple):
    """What a program did.

    operation, left, right
        of the values that it computed, in order, after those of the data memory.
    rows
        of the data memory that hold something at the start, or are loaded or stored to, ascending.
    memory
        the value in each word of these rows at the end, int64 [rows, banks].
    cause, detail, instruction, cycle
        of the first error, or cause ``NONE``; cycles count from the first issue.
    """

    operation: np.ndarray
    left: np.ndarray
    right: np.ndarray
    rows: np.ndarray
    memory: np.ndarray
    cause: int
    detail: int
    instruction: int
    cycle: int


class _Wiring(NamedTuple):
    """Where values go. Nodes are the crossbar's lanes, then the PEs.

    ``left``, ``right``: nodes that each PE takes. ``node``, ``latency`` [banks, write sources]: the
    node that a bank takes, and in how many cycles it's written; 0 for nothing.
    """

    left: np.ndarray
    right: np.ndarray
    node: np.ndarray
    latency: np.ndarray
    load_latency: int


def follow(
    config: DpuConfig,
    fetched: Fetched,
    faults: dict[int, Fault],
    cycles: int,
    filled: np.ndarray,
) -> Dataflow:
    """Runs the instructions and then nothing, ``cycles`` cycles in all, or until an error.

    ``faults`` are the instructions whose fields are illegal, ``filled`` the rows of the data memory
    that hold something at the start. O(cycles · (banks + PEs)).
    """
    columns = fetched.columns
    count = len(fetched.opcodes)
    opcode = fetched.opcodes[:, None]
    # What an instruction's format lacks is 0 in its columns, and does nothing.
    copies = np.where(columns["write_enable"], WRITE_COPY, WRITE_NONE).astype(np.uint8)
    write_source = np.where(opcode == Opcode.COPY, copies, columns["write_source"])
    beside_exec = columns.get("store_enable", np.zeros_like(columns["read_enable"]))
    stores = np.where(opcode == Opcode.STORE, columns["read_enable"], beside_exec)
    fault = np.zeros((count, 2), np.int64)
    for number, cause_and_detail in faults.items():
        fault[number] = cause_and_detail
    moves = (columns["load_enable"] | stores).any(axis=1)
    rows = np.union1d(filled, columns["row"][moves]).astype(np.int64)
    words = np.arange(len(rows) * config.banks) + FIRST_WORD
    memory = words.reshape(len(rows), config.banks)
    operations = int(np.count_nonzero(columns["operation"] > PeOp.PASS_RIGHT))
    computed = np.empty((3, operations), np.int64)
    cause, detail, number, cycle = _follow(
        cycles,
        config.registers,
        _wiring(config),
        fault,
        _Columns(
            columns["read_enable"],
            columns["valid_reset"],
            columns["read_address"],
            columns["source"],
            columns["operation"],
            write_source,
            np.searchsorted(rows, columns["row"]),
            columns["load_enable"],
            stores,
        ),
        memory,
        computed,
    )
    operation, left, right = computed
    return Dataflow(operation, left, right, rows, memory, cause, detail, number, cycle)


def _wiring(config: DpuConfig) -> _Wiring:
    pes = pe_list(config)
    left = np.empty(config.pes, np.int64)
    for number, pe in enumerate(pes):
        if pe.layer == 1:
            left[number] = (pe.tree << config.depth) + 2 * pe.place
        else:
            left[number] = config.banks + pe_number(config, pe.tree, pe.layer - 1, 2 * pe.place)
    by_bank = [writers(config, bank) for bank in range(config.banks)]
    sources = FIRST_WRITER + max(map(len, by_bank))
    node, latency = np.zeros((2, config.banks, sources), np.int64)
    node[:, WRITE_COPY] = np.arange(config.banks)
    latency[:, WRITE_COPY] = config.layer_latency(0)
    for bank, numbers in enumerate(by_bank):
        for source, number in enumerate(numbers, FIRST_WRITER):
            node[bank, source] = config.banks + number
            latency[bank, source] = config.layer_latency(pes[number].layer)
    # The right neighbour of a lane, or of a PE in its layer, has the next number.
    return _Wiring(left, left + 1, node, latency, config.load_latency)


class _Columns(NamedTuple):
    """Fields of instructions, a row for each. ``row``: its place among those of the dataflow."""

    read_enable: np.ndarray
    valid_reset: np.ndarray
    read_address: np.ndarray
    source: np.ndarray
    operation: np.ndarray
    write_source: np.ndarray
    row: np.ndarray
    load_enable: np.ndarray
    store_enable: np.ndarray


class _Arrivals(NamedTuple):
    """What is under way to the banks [slots, banks], by the cycle of the write modulo ``slots``:
    values, how many write one bank, and the instruction that does."""

    values: np.ndarray
    offers: np.ndarray
    writer: np.ndarray


@compiled
def _follow(
    cycles: int,
    registers: int,
    wiring: _Wiring,
    fault: np.ndarray,
    columns: _Columns,
    memory: np.ndarray,
    computed: np.ndarray,
) -> tuple[int, int, int, int]:
    """Fills in ``memory`` and ``computed`` (operation, left, right); the first error.

    One turn of the outer loop is one cycle, in which instruction ``cycle`` issues.
    """
    banks, pes = columns.read_enable.shape[1], columns.operation.shape[1]
    held = np.zeros((banks, registers), np.int64)
    valid = np.zeros((banks, registers), np.bool_)
    slots = max(wiring.latency.max(), wiring.load_latency) + 1
    arrivals = _Arrivals(
        np.zeros((slots, banks), np.int64),
        np.zeros((slots, banks), np.int64),
        np.zeros((slots, banks), np.int64),
    )
    words = np.zeros(banks, np.int64)
    nodes = np.zeros(banks + pes, np.int64)
    made = 0
    for cycle in range(cycles):
        issues = cycle < len(columns.row)
        empty, full, conflict = _access_banks(columns, cycle, arrivals, held, valid, words)
        writer = arrivals.writer[cycle % slots]
        if issues and fault[cycle, 0] != 0:
            return fault[cycle, 0], fault[cycle, 1], cycle, cycle
        if empty >= 0:
            return _EMPTY, empty, cycle, cycle
        if full >= 0:
            return _FULL, full, writer[full], cycle
        if conflict >= 0:
            return _CONFLICT, conflict, writer[conflict], cycle
        arrivals.offers[cycle % slots] = 0
        if issues:
            for bank in range(banks):
                # Freed last: the write of this cycle took no register that is freed in it.
                if columns.valid_reset[cycle, bank]:
                    valid[bank, columns.read_address[cycle, bank]] = False
                nodes[bank] = words[columns.source[cycle, bank]]
            made = _compute(wiring, columns.operation[cycle], nodes, computed, made, memory.size)
            _send(wiring, columns, cycle, arrivals, nodes)
            _use_memory(wiring, columns, cycle, arrivals, memory, words)
    return _NONE, 0, 0, cycles


@inner
def _access_banks(
    columns: _Columns,
    cycle: int,
    arrivals: _Arrivals,
    held: np.ndarray,
    valid: np.ndarray,
    words: np.ndarray,
) -> tuple[int, int, int]:
    """Writes what arrives to banks, and then reads ``words`` of them. Of reads of an empty
    register, writes to a full bank and conflicts the first bank each; -1 for none."""
    banks, registers = held.shape
    now = cycle % len(arrivals.offers)
    empty, full, conflict = -1, -1, -1
    for bank in range(banks - 1, -1, -1):
        if arrivals.offers[now, bank] > 0:
            register = 0
            while register < registers and valid[bank, register]:
                register += 1
            if register == registers:
                full = bank
            else:
                held[bank, register] = arrivals.values[now, bank]
                valid[bank, register] = True
            if arrivals.offers[now, bank] > 1:
                conflict = bank
        # After the write: that is the forwarding.
        words[bank] = ZERO
        if cycle < len(columns.row) and columns.read_enable[cycle, bank]:
            address = columns.read_address[cycle, bank]
            if address < registers:
                words[bank] = held[bank, address]
                if not valid[bank, address]:
                    empty = bank
    return empty, full, conflict


@inner
def _compute(
    wiring: _Wiring,
    operation: np.ndarray,
    nodes: np.ndarray,
    computed: np.ndarray,
    made: int,
    memory_words: int,
) -> int:
    """The PEs' operations of an instruction; how many values have been computed then."""
    banks = len(nodes) - len(operation)
    for pe in range(len(operation)):
        left, right = nodes[wiring.left[pe]], nodes[wiring.right[pe]]
        code = operation[pe]
        if code == _PASS_LEFT:
            nodes[banks + pe] = left
        elif code == _PASS_RIGHT:
            nodes[banks + pe] = right
        else:
            computed[0, made], computed[1, made], computed[2, made] = code, left, right
            nodes[banks + pe] = memory_words + FIRST_WORD + made
            made += 1
    return made


@inner
def _send(
    wiring: _Wiring, columns: _Columns, cycle: int, arrivals: _Arrivals, nodes: np.ndarray
) -> None:
    """Results and copies of an instruction go to the banks."""
    slots, banks = arrivals.offers.shape
    for bank in range(banks):
        choice = columns.write_source[cycle, bank]
        latency = wiring.latency[bank, choice]
        if latency > 0:
            then = (cycle + latency) % slots
            arrivals.values[then, bank] = nodes[wiring.node[bank, choice]]
            arrivals.offers[then, bank] += 1
            arrivals.writer[then, bank] = cycle


@inner
def _use_memory(
    wiring: _Wiring,
    columns: _Columns,
    cycle: int,
    arrivals: _Arrivals,
    memory: np.ndarray,
    words: np.ndarray,
) -> None:
    """Loads and stores: they are done in the order of issue, so they may be done at once."""
    slots, banks = arrivals.offers.shape
    for bank in range(banks):
        if columns.load_enable[cycle, bank]:
            then = (cycle + wiring.load_latency) % slots
            arrivals.values[then, bank] = memory[columns.row[cycle], bank]
            arrivals.offers[then, bank] += 1
            arrivals.writer[then, bank] = cycle
        if columns.store_enable[cycle, bank]:
            memory[columns.row[cycle], bank] = words[bank]
