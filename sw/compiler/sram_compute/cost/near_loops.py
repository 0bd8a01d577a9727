"""How long a loop of stream engines takes, without what it computes.

Source: docs/sram_compute.md, "Stream engines"; ``gnarl.hw.sram_compute``: ``stream_sequencer``,
``word_network``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gnarl.hw.lib.encoding.execute_isa import FLOAT_STAGES
from gnarl.hw.lib.encoding.execute_isa import Opcode as ExecuteOpcode
from gnarl.hw.sram_compute.isa import STRIP, WORD_BITS, Opcode, When
from gnarl.hw.sram_compute.streams.stream_engine import DIVIDE_CYCLES
from gnarl.sw.compiler.sram_compute.lower.columns import column
from gnarl.sw.program.jit import compiled_inner

_LAST, _FIRST, _FIRST_Z, _COUNTS, _OWNER = (
    column(Opcode.NEAR, name) for name in ("last", "first", "first_z", "counts", "owner")
)
_OPERATION, _READS, _READ, _WHEN = (
    column(Opcode.OPERATION, name) for name in ("operation", "reads", "stream", "when")
)
_IS_INDIRECT, _BASE, _STRIDES, _LENGTH, _SCALE = (
    column(Opcode.STREAM, name) for name in ("is_indirect", "base", "strides", "length", "scale")
)
_STORE, _DIVIDE = ExecuteOpcode.STORE.value, ExecuteOpcode.FDIV.value
_FIRST_X, _LAST_X, _FIRST_Y, _LAST_Y = (
    1 << each for each in (When.FIRST_X, When.LAST_X, When.FIRST_Y, When.LAST_Y)
)
_WORDS = (1 << WORD_BITS) - 1

_PREPARED = 2
_PLACED = 3
_WRITTEN = 3 + FLOAT_STAGES
"""Cycles in which an operation is prepared; more until its first access; and from its last step
until it is through."""

_FACTOR, _ADDEND, _PERIOD = 1103515245, 12345, 1 << 31
"""Parameters of a linear congruential generator."""


class Network(NamedTuple):
    """The network between banks. ``cycles``: in which a word goes from bank to bank."""

    banks: int
    cycles: int


@compiled_inner
def loop_cycles(
    near: np.ndarray, operations: np.ndarray, streams: np.ndarray, network: Network, limit: int
) -> int:
    """Cycles of a ``NEAR`` command, or any value above ``limit`` once the limit is exceeded.
    ``operations``, ``streams``: rows of commands, by slot and number."""
    banks = network.banks
    width, height, depth = near[_COUNTS], near[_COUNTS + 1], near[_COUNTS + 2]
    groups = -(-width // (STRIP * banks))
    owner = streams[near[_OWNER]]
    steps = np.ones(STRIP, np.int64)
    wants = np.full((2, banks), -1, np.int64)
    chance = np.ones(1, np.int64)
    ends = np.full(3, -4, np.int64)  # of the last accesses
    idle = 1
    for z in range(near[_FIRST_Z], depth):
        idle += 2
        turn = ((owner[_BASE] + z * owner[_STRIDES + 2]) & _WORDS) // STRIP
        for group in range(groups):
            of_x = (_FIRST_X if group == 0 else 0) | (_LAST_X if group == groups - 1 else 0)
            for y in range(height):
                met = of_x | (_FIRST_Y if y == 0 else 0) | (_LAST_Y if y == height - 1 else 0)
                for slot in range(near[_LAST] + 1):
                    operation = operations[slot]
                    offered = idle + _PREPARED
                    if operation[_WHEN] & ~met:
                        idle = offered
                        continue
                    stores = operation[_OPERATION] == _STORE
                    if stores or operation[_READS]:
                        offered += _PLACED
                        stream = streams[operation[_READ]]
                        base = stream[_BASE] + y * stream[_STRIDES + 1] + z * stream[_STRIDES + 2]
                        elements = StripElements(
                            near[_FIRST], width, group * banks, turn, base, stream[_STRIDES]
                        )
                        if stream[_IS_INDIRECT]:
                            _draw_steps(stream, elements, stores, network, chance, wants, steps)
                        else:
                            _find_steps(elements, stores, network, wants, steps)
                    else:
                        steps[:] = DIVIDE_CYCLES if operation[_OPERATION] == _DIVIDE else 1
                    begun = max(offered, ends[0])
                    _access(ends, begun, steps)
                    idle = begun + 1
                    if idle > limit:
                        return idle
    return max(idle, ends[2] + _WRITTEN)


@compiled_inner
def _access(ends: np.ndarray, begun: int, steps: np.ndarray) -> None:
    """Times an access. ``ends``: the cycles in which the last three accesses end, before the
    operation and then with it; all but the last let others go on."""
    end = begun
    for place in (1, 2):
        end = ends[place] if end < ends[place] else end + 1
    for cycles in steps:
        end += cycles
        ends[0], ends[1], ends[2] = ends[1], ends[2], end


class StripElements(NamedTuple):
    """Elements of the strips of a group.

    first, width
        x of the first element, and that behind the last one.
    strip, turn
        the group's first strip, which is that of bank ``turn``, modulo.
    base, stride
        the word of x = 0, and those to the next.
    """

    first: int
    width: int
    strip: int
    turn: int
    base: int
    stride: int


@compiled_inner
def _strip_of(elements: StripElements, bank: int, banks: int) -> tuple[int, int, int]:
    """x of a bank's first step; of those that are elements, the first, and behind the last."""
    begin = (elements.strip + (bank - elements.turn) % banks) * STRIP
    low, high = max(begin, elements.first), min(begin + STRIP, elements.width)
    return begin, low, max(low, high)


@compiled_inner
def _find_steps(
    elements: StripElements, stores: bool, network: Network, wants: np.ndarray, steps: np.ndarray
) -> None:
    """Cycles of each step of an affine stream."""
    banks = network.banks
    steps[:] = 1
    is_near = True
    for bank in range(banks):
        _, low, high = _strip_of(elements, bank, banks)
        if low < high:
            one = ((elements.base + low * elements.stride) & _WORDS) // STRIP
            other = ((elements.base + (high - 1) * elements.stride) & _WORDS) // STRIP
            is_near &= one == other and one % banks == bank
    if is_near:
        return
    is_uniform = elements.stride == 0 and not stores
    for step in range(1 if is_uniform else STRIP):
        for bank in range(banks):
            begin, low, high = _strip_of(elements, bank, banks)
            x = begin + step
            is_wanted = low < high if is_uniform else low <= x < high
            wants[0, bank] = (elements.base + x * elements.stride) & _WORDS if is_wanted else -1
        steps[step] = _rounds(wants, stores, network)


@compiled_inner
def _draw_steps(
    stream: np.ndarray,
    elements: StripElements,
    stores: bool,
    network: Network,
    chance: np.ndarray,
    wants: np.ndarray,
    steps: np.ndarray,
) -> None:
    """Cycles of each step of an indirect stream, with indices as they may be."""
    banks = network.banks
    for step in range(STRIP):
        for bank in range(banks):
            begin, low, high = _strip_of(elements, bank, banks)
            x = begin + step
            wants[0, bank] = -1
            if low <= x < high:
                chance[0] = (chance[0] * _FACTOR + _ADDEND) % _PERIOD
                index = (chance[0] >> 8) % stream[_LENGTH]
                word = elements.base + x * elements.stride + index * stream[_SCALE]
                wants[0, bank] = word & _WORDS
        steps[step] = _rounds(wants, stores, network)


@compiled_inner
def _rounds(wants: np.ndarray, stores: bool, network: Network) -> int:
    """Cycles of a step. ``wants`` [0]: the word that each engine wants, -1 for none, and for all in
    the end; [1]: the one that each bank gives in a round."""
    banks, cycles = network.banks, 0
    left = (wants[0] >= 0).sum()
    while left:
        wants[1] = -1
        crosses = False
        for engine in range(banks):
            word = wants[0, engine]
            if word >= 0:
                bank = word // STRIP % banks
                if wants[1, bank] < 0 or bank == engine:
                    wants[1, bank] = word if not stores else engine
        for engine in range(banks):
            word = wants[0, engine]
            if word >= 0:
                bank = word // STRIP % banks
                if wants[1, bank] == (engine if stores else word):
                    wants[0, engine] = -1
                    crosses |= bank != engine
                    left -= 1
        cycles += network.cycles if crosses else 1
    return max(1, cycles)
