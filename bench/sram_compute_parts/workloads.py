"""The loop nests that are measured, and their sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from bench.lib.records import ROOT
from gnarl.sw.compiler.sram_compute.tdfg.plan import plan, refusals
from gnarl.sw.workloads.loops.ir.nest import Load, Nest
from gnarl.sw.workloads.loops.ir.parts import nodes
from gnarl.sw.workloads.loops.sources import file_workload
from gnarl.sw.workloads.loops.synthesise import synthesised
from gnarl.sw.workloads.loops.workload import LoopWorkload

_EXAMPLES = ROOT / "examples"
_OTHERS = Path(__file__).with_name("workloads.c")
_PYTHON = Path(__file__).with_name("python_nests.py")

OTHERS = (
    "stencil3d",
    "stencil2d_int32",
    "lifting",
    "mm_inner",
    "mm_int8",
    "row_sums",
    "weighted_sum",
    "conv3d",
    "conv2d_int8",
)
"""Workloads that are no examples."""

IN_PARTS = (
    "dwt2d",
    "kmeans",
    "kmeans_inner",
    "gather_mlp",
    "gather_mlp_inner",
)
"""Workloads of which memory computes a part, or none."""

_MATRIX = {"rows": 128, "columns": 128}

WHOLE: Mapping[str, Mapping[str, int]] = {
    "vec_add": {"n": 16384},
    "array_sum": {"n": 16384},
    "stencil1d": {"n": 16384, "steps": 1},
    "stencil2d": {**_MATRIX, "steps": 1},
    "stencil3d": {"planes": 16, "rows": 32, "columns": 32, "steps": 1},
    "stencil2d_int32": _MATRIX,
    "lifting": _MATRIX,
    "conv2d": _MATRIX,
    "conv2d_int8": _MATRIX,
    "conv3d": {"outputs": 2, "inputs": 2, "rows": 64, "columns": 64},
    "mm": {**_MATRIX, "inner": 16},
    "mm_inner": {**_MATRIX, "inner": 16},
    "mm_int8": {**_MATRIX, "inner": 16},
    "gauss_elim": {"n": 16},
    "row_sums": _MATRIX,
    "weighted_sum": {"n": 16384},
}
"""Sizes, and whole numbers that are parameters, with which most fill the 16,384 bitlines of
``sram_b4``; what is not given is 16."""


def _matrices(*sizes: int, **others: int) -> tuple[Mapping[str, int], ...]:
    return tuple({"rows": size, "columns": size, **others} for size in sizes)


def _along(name: str, *sizes: int, **others: int) -> tuple[Mapping[str, int], ...]:
    return tuple({name: size, **others} for size in sizes)


_CUBE = {**_MATRIX, "inner": 128}
_POINTS = (
    *_along("points", 16, 64, 256, 512, dimensions=8, centres=8),
    {"points": 128, "dimensions": 128, "centres": 128},
)
_QUERIES = (
    *_along("queries", 16, 64, 256, 512, table=64),
    {"queries": 128, "table": 128, "inputs": 128, "outputs": 128},
)


SEVERAL: Mapping[str, Sequence[Mapping[str, int]]] = {
    "vec_add": _along("n", 16, 128, 1024, 4096, 16384),
    "array_sum": _along("n", 16, 128, 1024, 4096, 16384),
    "stencil1d": (*_along("n", 16, 128, 1024, 4096, steps=2), {"n": 16384, "steps": 5}),
    "weighted_sum": _along("n", 16, 128, 1024, 4096, 16384),
    "stencil2d": (*_matrices(8, 16, 32, 64, steps=2), {**_MATRIX, "steps": 5}),
    "stencil2d_int32": _matrices(8, 16, 32, 64, 128),
    "lifting": _matrices(8, 16, 32, 64, 128),
    "conv2d": _matrices(8, 16, 32, 64, 128),
    "conv2d_int8": _matrices(8, 16, 32, 64, 128),
    "row_sums": _matrices(8, 16, 32, 64, 128),
    "mm": (*_matrices(8, 16, 32, 64, inner=16), _CUBE),
    "mm_inner": (*_matrices(8, 16, 24, 32, inner=16), _CUBE),
    "mm_int8": (*_matrices(8, 16, 32, 64, inner=16), _CUBE),
    "gauss_elim": _along("n", 8, 16, 32, 64, 128),
    "stencil3d": (
        *(
            {"planes": planes, "rows": size, "columns": size, "steps": 1}
            for planes, size in ((4, 4), (4, 8), (8, 16), (16, 16))
        ),
        {"planes": 16, "rows": 32, "columns": 32, "steps": 5},
    ),
    "conv3d": (
        *_matrices(8, 16, 24, 32, outputs=2, inputs=2),
        {"rows": 64, "columns": 64, "outputs": 16, "inputs": 16},
    ),
    "dwt2d": _matrices(8, 16, 32, 64, 96),
    "kmeans": _POINTS,
    "kmeans_inner": _POINTS,
    "gather_mlp": _QUERIES,
    "gather_mlp_inner": _QUERIES,
}
"""Five sizes of each workload. The largest one fills the bitlines of ``sram_b4`` or takes long on
its core, and has table 3's ratio of iterations to bitlines; a step of the stencils here is two of
the paper's."""

_LARGE = {"rows": 2048, "columns": 2048}

TABLE_3: Mapping[str, Mapping[str, int]] = {
    "stencil1d": {"n": 4 << 20, "steps": 5},
    "stencil2d": {**_LARGE, "steps": 5},
    "stencil3d": {"planes": 16, "rows": 512, "columns": 512, "steps": 5},
    "gauss_elim": {"n": 2048},
    "conv2d": _LARGE,
    "mm_inner": {**_LARGE, "inner": 2048},
    "mm": {**_LARGE, "inner": 2048},
}
"""The sizes of Infinity Stream's table 3, of those workloads that the compiler takes at these; a
step of the stencils here is two of theirs."""

TABLE_3_OTHERS: Mapping[str, Mapping[str, int]] = {
    "conv3d": {"outputs": 64, "inputs": 64, "rows": 256, "columns": 256},
    "dwt2d": {"rows": 1024, "columns": 1024},
    "gather_mlp": {"queries": 32768, "table": 32768, "inputs": 128, "outputs": 128},
}
"""Sizes of others: of most of them memory computes a part; the first iterations of ``conv3d`` alone
need more main memory than there may be."""

PAPER_CHANGES = ("banks=64", "arrays=256", f"memory_bytes={64 << 20}")
"""Changes of ``sram_b4`` to the paper's machine: 64 banks, 4 M bitlines."""


@cache
def names() -> tuple[str, ...]:
    """All examples in C that memory computes, and others."""
    examples = sorted(path.stem for path in _EXAMPLES.glob("*.c"))
    return (*(name for name in examples if not refusals(plan(nest(name), streams=False))), *OTHERS)


@cache
def nest(name: str) -> Nest:
    is_example = name not in (*OTHERS, *IN_PARTS)
    source = str(_EXAMPLES / f"{name}.c") if is_example else f"{_OTHERS}:{name}"
    return file_workload(source, {}).nest


def python_nest(name: str) -> Nest:
    """A nest like ``nest``'s, of those that are written in Python, too."""
    example = _EXAMPLES / f"{name}.py"
    source = str(example) if example.exists() else f"{_PYTHON}:{name}"
    return file_workload(source, {}).nest


def workload(name: str, sizes: Mapping[str, int], seed: int) -> LoopWorkload:
    """A workload with random values, also of results that are read; ``sizes``: those that are not
    16, and scalars."""
    found = nest(name)
    extents = {each.name for each in found.sizes}
    scalars = {each: np.asarray(sizes[each]) for each in sizes if each not in extents}
    given = {each: sizes[each] for each in sizes if each in extents}
    read = {each.array for each in nodes(found.body) if isinstance(each, Load)}
    return LoopWorkload(name, found, *synthesised(found, scalars, seed, given, read))


def sizes_text(sizes: Mapping[str, int]) -> str:
    """The sizes as tables show them."""
    return ", ".join(f"{name} {size}" for name, size in sizes.items()) or "16"
