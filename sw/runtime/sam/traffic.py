"""Counts what a run asks of a machine's memories: rows, their bytes, and the cycles that needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gnarl.hw.sam.block_types import BITVECTOR_BITS, ROW_COUNTS, Array
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Graph
from gnarl.hw.sam.memory_map import channel_counters, line_counters, units_of, word_bits
from gnarl.hw.sam.unit import Unit
from gnarl.sw.workloads.tensor.storage import BitvectorLevel, CompressedLevel, Storage


@dataclass(frozen=True)
class Traffic:
    """What a machine's arrays were asked for in a run.

    requests
        rows that were read or written, by the array's window. Reads whose answer nobody needed, as
        of a lookup that skips, took place and count.
    bytes
        of these rows, with words as wide as the array has them: ``index_bits`` of segments and
        coordinates, 32 of bitvectors, those of the format of values; the last byte may be begun. A
        row of segments has two words, where one starts and ends, and so has one of bitvectors, the
        word and how many ones lie before it. Not in it: bits by which a shared memory is wider than
        an array's words, and what blocks keep themselves, such as an accumulator's sums.
    lines
        that were read or written in a memory of lines, by the array's window.
    line_bytes
        of these lines, whole ones, whatever of them was wanted; ``None`` without such a memory.
    cycles
        no run with these requests takes fewer: an array takes one in a cycle, a shared memory
        ``memory_bandwidth`` for all arrays, and a channel of a memory of lines a line in
        ``line_cycles``.
    bound
        what takes these cycles, in words.
    """

    requests: Mapping[str, int]
    bytes: int
    lines: Mapping[str, int]
    line_bytes: int | None
    cycles: int
    bound: str


def stored_bytes(config: SamConfig, stored: Storage) -> int:
    """Bytes of a tensor in the memories of ``config``, as a launch finds it: values, coordinates,
    and rows of two words for fibers and for bitvectors, as in ``Traffic``."""
    bits = config.width * len(stored.values)
    for level in stored.levels:
        match level:
            case CompressedLevel(_, segments, coordinates):
                bits += config.index_bits * (2 * (len(segments) - 1) + len(coordinates))
            case BitvectorLevel(_, words):
                bits += 2 * BITVECTOR_BITS * len(words)
    return -(-bits // 8)


def tensor_bytes(config: SamConfig, graph: Graph, counters: Mapping[str, int]) -> dict[str, int]:
    """Of the bytes that a run of a graph read and wrote, those of each tensor, by its name; see
    ``Traffic``. Constants are none."""
    bits: dict[str, int] = {}
    units = {unit.name: unit for unit in units_of(config)}
    for block in graph.blocks:
        tensor = block.parameters.get("tensor", "")
        if tensor.isidentifier():
            own = sum(
                _array_bits(config, units[block.name], array, counters)[1] for array in block.arrays
            )
            bits[tensor] = bits.get(tensor, 0) + own
    return {tensor: -(-count // 8) for tensor, count in bits.items()}


def tensor_line_bytes(
    config: SamConfig, graph: Graph, counters: Mapping[str, int]
) -> dict[str, int]:
    """Of the lines that a run of a graph moved the bytes of each tensor's, by its name; none
    without a memory of lines. Constants are none."""
    found: dict[str, int] = {}
    for block in graph.blocks if config.memory == "lines" else ():
        tensor = block.parameters.get("tensor", "")
        if tensor.isidentifier():
            lines = sum(counters[f"lines_{block.name}_{array.name}"] for array in block.arrays)
            found[tensor] = found.get(tensor, 0) + config.line_bytes * lines
    return found


def _array_bits(
    config: SamConfig, unit: Unit, array: Array, counters: Mapping[str, int]
) -> tuple[int, int]:
    """Rows of an array that were asked for, and their bits."""
    written = f"{unit.name}_{ROW_COUNTS[array.name]}"
    rows = counters[written if array.writes else f"reads_{unit.window(array)}"]
    return rows, rows * array.words * word_bits(config, array)


def traffic(config: SamConfig, counters: Mapping[str, int]) -> Traffic:
    """What a run asked of the machine of ``config``, by the counters that it left."""
    requests: dict[str, int] = {}
    bits = 0
    units = units_of(config)
    for unit in units:
        for array in unit.arrays:
            rows, of_rows = _array_bits(config, unit, array, counters)
            requests[unit.window(array)] = rows
            bits += of_rows
    bounds = {f"memory of {window}": rows for window, rows in requests.items()}
    if config.memory == "shared":
        bounds["memory"] = -(-sum(requests.values()) // config.memory_bandwidth)
    for number, name in enumerate(channel_counters(config, units)):
        bounds[f"memory channel {number}"] = counters[name] * config.line_cycles
    bound = max(bounds, key=bounds.__getitem__, default="memory")
    lines = {window: counters[name] for name, window in line_counters(config, units).items()}
    line_bytes = config.line_bytes * sum(lines.values()) if config.memory == "lines" else None
    return Traffic(requests, -(-bits // 8), lines, line_bytes, bounds.get(bound, 0), bound)
