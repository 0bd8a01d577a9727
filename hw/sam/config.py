"""Every parameter of a SAM machine, checked, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gnarl.hw.lib.configuration import (
    TargetConfig,
    choice_violations,
    flag_violations,
    format_violations,
    number_violations,
)
from gnarl.hw.lib.errors import Violation, quoted, short
from gnarl.hw.lib.formats import NumberFormat, parse_format
from gnarl.hw.sam.block_types import BITVECTOR_BITS, BV, REPSIG, VAL, Array
from gnarl.hw.sam.graph import Graph
from gnarl.hw.sam.token import LEVEL_BITS

MEMORIES = ("local", "shared", "lines")

MOST_ROWS = 1 << 28
"""Of an array."""

LINE_WORD_BYTES = 4
"""Bytes of a word in a memory of lines."""

_POWERS_OF_TWO = (
    "accumulator_words",
    "memory_bandwidth",
    "memory_channels",
    "line_bytes",
    "port_lines",
)


def size_name(arrays: Mapping[str, int] | None, block: str, array: str) -> str:
    """The name in the field ``arrays`` that says how large an array is; "": none does."""
    names = (f"{block}_{array}", block)
    return next((name for name in names if name in (arrays or {})), "")


def size_of(arrays: Mapping[str, int] | None, array_words: int, block: str, array: str) -> int:
    """The size of an array: that of its own, or that of all."""
    return (arrays or {}).get(size_name(arrays, block, array), array_words)


def size_field(arrays: Mapping[str, int] | None, block: str, array: str) -> str:
    """The field that says how large an array is."""
    name = size_name(arrays, block, array)
    return f"arrays.{name}" if name else "array_words"


@dataclass(frozen=True)
class SamConfig(TargetConfig):
    """Sparse tensor dataflow hardware: the blocks of one graph, or a fabric that takes many.

    format
        number format of values: a name of ``gnarl.hw.lib.formats``, at most 32 bits wide.
    index_bits
        width of coordinates and references: 8 to 32.
    queue_depth
        tokens that the queue in front of an input holds, where the graph says nothing else: 2 to
        1024.
    stream_latency
        cycles from the one that gives a token to the one in which its reader sees it: 1 or 2.
    array_words
        rows of each array: segments, coordinates, words of bitvectors, values. Of blocks of values
        it is their words, so that a row that is longer is one of fewer.
    arrays
        sizes of some arrays, in place of ``array_words``: by ``BLOCK_ARRAY``, such as
        ``lookup_B_j_crd``, or by ``BLOCK``, for all of its arrays; of a fabric by units.
    accumulator_words
        sums that a sparse accumulator holds: a power of two.
    skip
        intersections tell lookups which coordinates nobody needs.
    alu_stages
        pipeline registers in an ALU, and in the adder of a reduction or an accumulator: 1 to 8.
    memory
        ``local``: a memory for each array; ``shared``: one memory behind an arbiter; ``lines``: a
        memory of lines, as off the chip, with buffers in front of it.
    local_latency
        cycles from a request to its answer, in a memory of an array's own: 1 or 2.
    memory_latency
        cycles from a request to its answer, in a shared memory, or of a line in a memory of lines:
        1 to 256, of lines at least 2.
    memory_bandwidth
        requests that a shared memory serves in a cycle, each in a bank of its own: 1, 2, 4 or 8.
    memory_in_flight
        requests that a block may have under way in a shared memory, or for rows in a memory of
        lines: 1 to 64, of lines at least 2.
    memory_channels
        channels of a memory of lines, which take turns with lines: a power of two up to 32.
    line_bytes
        bytes of a line: a power of two from 8 to 256.
    line_cycles
        cycles for which a line that is read or written has its channel: 1 to 64.
    port_lines
        lines that an array's port keeps of a memory of lines: a power of two from 2 to 64.
    prefetch_lines
        lines that a port asks for ahead of those that are read one after the other: fewer than
        ``port_lines``.
    counters
        counts tokens, operations, reads, lines and stalls of a run; what writers have written is
        counted in any case.
    expression
        what the graph was compiled from, if it was; see ``gnarl.sw.compiler.sam``.
    graph
        the blocks and streams to build; none: programs bring their own.
    fabric
        blocks in a fabric's pool by type, instead of a graph.
    """

    format: str = "float32"
    index_bits: int = 32
    queue_depth: int = 32
    stream_latency: int = 1
    array_words: int = 1 << 18
    arrays: dict[str, int] | None = None
    accumulator_words: int = 1 << 17
    skip: bool = True
    alu_stages: int = 1
    memory: str = "local"
    local_latency: int = 1
    memory_latency: int = 4
    memory_bandwidth: int = 2
    memory_in_flight: int = 8
    memory_channels: int = 8
    line_bytes: int = 64
    line_cycles: int = 2
    port_lines: int = 4
    prefetch_lines: int = 1
    counters: bool = True
    expression: str = ""
    graph: Graph | None = None
    fabric: dict[str, int] | None = None

    target = "sam"

    def __hash__(self) -> int:
        return hash(self.digest)

    def violations(self) -> list[Violation]:
        wrong = number_violations(
            self,
            (
                ("index_bits", 8, 32),
                ("queue_depth", 2, 1024),
                ("stream_latency", 1, 2),
                ("array_words", 16, MOST_ROWS),
                ("accumulator_words", BITVECTOR_BITS, 1 << 22),
                ("alu_stages", 1, 8),
                ("local_latency", 1, 2),
                ("memory_latency", 1, 256),
                ("memory_bandwidth", 1, 8),
                ("memory_in_flight", 1, 64),
                ("memory_channels", 1, 32),
                ("line_bytes", 8, 256),
                ("line_cycles", 1, 64),
                ("port_lines", 2, 64),
                ("prefetch_lines", 0, 63),
            ),
        )
        for name in _POWERS_OF_TWO:
            value = getattr(self, name)
            if isinstance(value, int) and value > 0 and value & (value - 1):
                wrong.append(Violation(name, f" = {value}: must be a power of two"))
        if not wrong:
            wrong += self._line_violations()
        wrong += [
            *format_violations(self, "format"),
            *flag_violations(self, ["skip", "counters"]),
            *choice_violations(self, "memory", MEMORIES),
        ]
        if not isinstance(self.expression, str):
            wrong.append(Violation("expression", f" = {quoted(self.expression)}: must be text"))
        if self.fabric is not None and not isinstance(self.fabric, dict):
            problem = f" = {quoted(self.fabric)}: must be a table of types and numbers of units"
            wrong.append(Violation("fabric", problem))
        wrong += self._size_violations()
        if self.graph is not None and self.fabric is not None:
            wrong.append(Violation("fabric", ": a configuration has a graph or a fabric, not both"))
        return wrong

    def _size_violations(self) -> list[Violation]:
        if self.arrays is None:
            return []
        if not isinstance(self.arrays, dict):
            problem = f" = {quoted(self.arrays)}: must be a table of arrays or blocks and rows"
            return [Violation("arrays", problem)]
        return [
            Violation(
                "arrays",
                f".{short(name)} = {quoted(rows)}: must be a whole number from 1 to {MOST_ROWS}",
            )
            for name, rows in self.arrays.items()
            if not isinstance(rows, int) or isinstance(rows, bool) or not 1 <= rows <= MOST_ROWS
        ]

    def rows_of(self, block: str, array: Array) -> int:
        """Rows of an array of a block, or of a unit of a fabric."""
        return array.rows(size_of(self.arrays, self.array_words, block, array.name))

    def _line_violations(self) -> list[Violation]:
        wrong = []
        if self.prefetch_lines >= self.port_lines:
            problem = f" = {self.prefetch_lines}: must be below port_lines, which is "
            wrong.append(Violation("prefetch_lines", f"{problem}{self.port_lines}"))
        if self.memory == "lines":
            for name in ("memory_latency", "memory_in_flight"):
                if getattr(self, name) < 2:
                    problem = f" = {getattr(self, name)}: must be at least 2 for a memory of lines"
                    wrong.append(Violation(name, problem))
        return wrong

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> SamConfig:
        graph = values.get("graph")
        if graph is not None and not isinstance(graph, Graph):
            values = values | {"graph": Graph.from_dict(graph)}
        return super().from_dict(values)

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"graph": self.graph.to_dict() if self.graph else None}

    @property
    def number_format(self) -> NumberFormat:
        return parse_format(self.format)

    @property
    def line_words(self) -> int:
        """Words of 32 bits in a line."""
        return self.line_bytes // LINE_WORD_BYTES

    @property
    def width(self) -> int:
        """Bits of a value."""
        return self.number_format.width

    def stream_width(self, kind: str) -> int:
        """Bits of payload of a stream of this kind, see ``block_types``."""
        return {VAL: self.width, REPSIG: LEVEL_BITS, BV: BITVECTOR_BITS}.get(kind, self.index_bits)
