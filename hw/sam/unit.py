"""What a host can name in a SAM machine: blocks of a graph, or units of a fabric."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gnarl.hw.sam.block_types import Array
from gnarl.hw.sam.graph import Block, Graph


@dataclass(frozen=True)
class Unit:
    """Outputs in use, settings, arrays and counts of a block, see ``block_types``.

    writes
        a run lasts until it is done.
    operations
        the input or output each of whose values is an operation; empty for what computes nothing.
    """

    name: str
    outputs: tuple[str, ...]
    settings: tuple[str, ...]
    arrays: tuple[Array, ...]
    counts: tuple[str, ...]
    writes: bool
    operations: str

    def window(self, array: Array) -> str:
        """Name of the window onto an array."""
        return f"{self.name}_{array.name}"


WRITERS = ("fiberwrite", "valwrite")
"""Types of blocks that a run waits for."""

OPERATIONS = {
    "alu": "out_val",
    "function": "out_val",
    "reduce": "val",
    "fold": "out_val",
    "spaccumulator": "val",
}
"""Types of blocks that compute, and the stream each of whose values is an operation: one that comes
out, or one that goes into a sum."""


def unit_of(block: Block, graph: Graph) -> Unit:
    return Unit(
        block.name,
        tuple(output for output in block.outputs if (block.name, output) in graph.readers),
        block.settings,
        block.arrays,
        block.counts,
        block.type in WRITERS,
        OPERATIONS.get(block.type, ""),
    )


def settings_of(units: Iterable[Unit | Block]) -> list[tuple[str, str]]:
    """Units or blocks and settings, in the order of the rows of the window ``settings``."""
    return [(unit.name, setting) for unit in units for setting in unit.settings]
