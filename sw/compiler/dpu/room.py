"""Whether a program has room in the instruction memory: before it is known, and when it is."""

from __future__ import annotations

import numpy as np

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import (
    Opcode,
    instruction_bytes,
    instruction_memory_bytes,
    instruction_word_bits,
    opcodes,
)
from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.compiler.dpu.bounds import needed_operations
from gnarl.sw.compiler.dpu.simplify import needed_nodes
from gnarl.sw.workloads.dag.dag import Dag

HASTY_OPERATIONS = 20_000
"""Operations from which a DAG without hope is refused before it is compiled; smaller ones take a
few seconds, and then the refusal says how many words are enough."""


def require_hope(dag: Dag, config: DpuConfig) -> None:
    """Raises ``CapacityError`` for a large DAG of which no program has room."""
    needed = _words(fewest_bytes(dag, config), config)
    if dag.operations >= HASTY_OPERATIONS and needed > config.instruction_words:
        raise CapacityError(
            f"instruction_words = {config.instruction_words}: this DAG needs more than "
            f"{needed - 1}, whatever its schedule"
        )


def require_room(size: int, config: DpuConfig) -> None:
    """Raises ``CapacityError`` if so many bytes of instructions have no room."""
    if size > instruction_memory_bytes(config):
        raise CapacityError(
            f"instruction_words = {config.instruction_words}: this DAG needs at least "
            f"{_words(size, config)}"
        )


def fewest_bytes(dag: Dag, config: DpuConfig) -> int:
    """Bytes of instructions that no program has fewer of: every PE computes in every EXEC, every
    leaf that is used is loaded once with a whole row of others, and so are outputs stored. Counts
    only what outputs need, each of it once, and no nodes of one operand: these are that operand."""
    counts = np.diff(dag.offsets)
    computes = needed_nodes(dag.offsets, dag.operands, dag.outputs) & (counts > 1)
    used = np.zeros(len(counts), bool)
    used[dag.operands[np.repeat(computes, counts)]] = True
    computed = int(np.count_nonzero(computes[np.unique(dag.outputs)]))
    moves = {
        (Opcode.LOAD, Opcode.EXEC_LOAD): int(np.count_nonzero(used & (counts == 0))),
        (Opcode.STORE, Opcode.EXEC_STORE): computed,
    }
    exec_bytes = instruction_bytes(config, Opcode.EXEC)
    size = -(-needed_operations(dag) // config.pes) * exec_bytes
    size += instruction_bytes(config, Opcode.HALT)
    for (alone, beside), words in moves.items():
        each = instruction_bytes(config, alone)
        if beside in opcodes(config):
            each = min(each, instruction_bytes(config, beside) - exec_bytes)
        size += -(-words // config.banks) * each
    return size


def _words(size: int, config: DpuConfig) -> int:
    return -(-size * 8 // instruction_word_bits(config))
