"""Writers of a result: what drops empty fibers, and a cell for each level and the values."""

from __future__ import annotations

from dataclasses import dataclass

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.block_types import DENSE
from gnarl.sw.compiler.sam.builder import Stream
from gnarl.sw.compiler.sam.table.nest import Loop
from gnarl.sw.compiler.sam.table.table import VALUES, TableBuilder
from gnarl.sw.workloads.tensor.expression import Access
from gnarl.sw.workloads.tensor.storage import TensorFormat


@dataclass(frozen=True)
class Written:
    """A result, how it is stored, its loops in the order of its levels, and its values."""

    access: Access
    format: TensorFormat
    loops: tuple[Loop, ...]
    val: Stream


def write(table: TableBuilder, result: Written) -> None:
    """Places the writers. Raises ``WorkloadError`` for levels that no writer can store."""
    _require_writable(result)
    tensor, levels, loops = result.access.tensor, result.format.levels, result.loops
    crds, val = [loop.crd for loop in loops], result.val
    filled = [loop.never_empty for loop in loops]
    if levels and levels[-1] != DENSE and loops[-1].full:
        index = loops[-1].index
        inputs = {"crd": crds[-1], "val": val}
        node = table.place(index, tensor, "valdrop", f"drop_zeros_{index}", inputs)
        crds[-1], val, filled[-1] = node.out_crd, node.out_val, False
    for level in range(len(levels) - 1, 0, -1):
        if levels[level - 1] == DENSE or filled[level]:
            continue
        outer, inner = loops[level - 1].index, loops[level].index
        inputs = {"outer": crds[level - 1], "inner": crds[level]}
        node = table.place(outer, tensor, "crddrop", f"drop_{outer}_{inner}", inputs)
        crds[level - 1], crds[level] = node.out_outer, node.out_inner
        filled[level - 1] = False
    for level, (loop, crd) in enumerate(zip(loops, crds, strict=True)):
        table.place(
            loop.index,
            tensor,
            "fiberwrite",
            f"write_{tensor}_{loop.index}",
            {"crd": crd},
            tensor=tensor,
            level=level,
            index=loop.index,
            format=levels[level],
        )
    table.place(VALUES, tensor, "valwrite", f"write_{tensor}_vals", {"val": val}, tensor=tensor)


def _require_writable(result: Written) -> None:
    """A stop does not distinguish an empty fiber from one around it.

    A level below a dense one has a fiber for each of its positions, so the writer must count empty
    ones, but not those that stand for an empty fiber further out.
    """
    levels = result.format.levels
    for level in range(2, len(levels)):
        if levels[level] == DENSE or levels[level - 1] != DENSE:
            continue
        above = next((a for a in range(level - 2, 0, -1) if levels[a] != DENSE), None)
        if above is not None and not result.loops[above].never_empty:
            access = result.access
            raise WorkloadError(
                f"expression, column {access.column}: level {level} of {access.tensor} cannot "
                f"be {levels[level]} below a dense level that lies below level {above}, "
                f"{levels[above]}; make level {level} dense, or level {level - 1} compressed"
            )
