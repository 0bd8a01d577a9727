"""Programs of the core, at random."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from gnarl.hw.lib.encoding.execute_assembly import assemble
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.memory_map import ErrorCause

_STREAM = """
    add s1, source, zero
    add s2, target, zero
    add s9, count, zero
    loop s9, done
    load.v v1, [s1], s1 += lanes
    mul.v v2, v1, factor
    add.v v2, v2, v1
    store.v v2, [s2], s2 += lanes
done:
    halt
"""
"""Neighbouring words, some at a time."""

_GATHER = """
    add s1, source, zero
    add s2, target, zero
    add s9, count, zero
    loop s9, done
    load s3, [s1], s1 += 1
    and s3, s3, 63
    load s4, [s3 + source]
    store s4, [s2], s2 += 3
done:
    halt
"""
"""Words tell where others are."""

_RECURRENCE = """
    add s1, source, zero
    prefetch [s1 + 64]
    add s9, count, zero
    loop s9, done
    load s3, [s1]
    mul s4, s4, factor
    add s4, s4, s3
    store s4, [s1], s1 += 1
done:
    store s4, [target]
    halt
"""
"""Each result takes the one before it, and its element's place."""

_SCATTER = """
    add s1, source, zero
    add s2, target, zero
    add s9, count, zero
again:
    load.v v1, [s1], s1 += 7
    mul.v v2, v1, factor
    fmul_add.v v3, v2, v1, v3
    reduce_max.v s3, v2
    fdiv.v v4, v2, v1
    and s3, s3, 63
    store.v v4, [s2], s2 += 19
    store s3, [s3 + source]
    sub s9, s9, 1
    branch_lt zero, s9, again
    halt
"""
"""More lines than wait to be written, and some of them again; units that take long."""

KERNELS = (_STREAM, _GATHER, _RECURRENCE, _SCATTER)


def core_programs(
    config: SramConfig, chance: random.Random, first_line: int
) -> tuple[np.ndarray, list[int]]:
    """uint32 [instructions, words of one]: one of each kind, one behind the other, all on memory
    from a line on; and where each begins."""
    parts: list[np.ndarray] = []
    firsts = []
    for text in KERNELS:
        firsts.append(sum(map(len, parts)))
        parts.append(assembled(config, chance, text, first_line))
    return np.concatenate(parts), firsts


def assembled(config: SramConfig, chance: random.Random, text: str, first_line: int) -> np.ndarray:
    count = chance.randrange(1, 40)
    span = 40 * 20
    places = range(first_line * LINE_WORDS, config.memory_words - span)
    constants = {
        "source": chance.choice(places),
        "target": chance.choice(places),
        "count": count,
        "factor": chance.getrandbits(31),
        "lanes": config.core_lanes,
    }
    return assemble(text, constants=constants).words()


def broken_core_programs(config: SramConfig) -> Sequence[tuple[np.ndarray, ErrorCause, int]]:
    """Programs that fault, why, and the instruction of it."""
    behind = f"add s1, {config.memory_words - 1}, zero\n load s2, [s1 + 1]"
    return (
        (np.array([[63, 0, 0]], np.uint32), ErrorCause.CORE_ENCODING, 0),
        (_words(f"jump 1\n jump {config.core_instructions}"), ErrorCause.CORE_CONTROL, 1),
        (_words(behind), ErrorCause.CORE_ADDRESS, 1),
        (_words("store s1, [zero - 1]"), ErrorCause.CORE_ADDRESS, 0),
    )


def _words(text: str) -> np.ndarray:
    return assemble(text).words()
