"""The kernels that the SAM project's cycle counts are of, with their operands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.workloads.tensor.operands import Operand
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.tensor import Tensor
from gnarl.sw.workloads.tensor.tensor_files import load_tensor

MATRICES = ("bcsstm02", "lp_scsd1")

SDDMM_INNER = 256
"""Size of the index that sampled dense-dense products sum over."""

HALF = 0.5
"""Share of nonzeros of the vectors that stand in for those of a single nonzero."""

AS_THERE, HALF_FULL, LANES = "as there", "half-full vectors", "4 lanes"
"""How a kernel is run: as the reference was; with real vectors; with rows dealt to lanes."""


@dataclass(frozen=True)
class Kernel:
    """A kernel of the SAM project's tests.

    name
        theirs, also of the operands' folder.
    variant
        of ``gnarl.sw.compiler.sam.suite``: the same formats and loop order.
    cycles
        that the project's own simulator counts, by matrix.
    vectors
        operands that have a single nonzero there.
    scalars
        operands that are numbers, and which.
    lanes
        a schedule that deals a loop to several copies of what lies inside, if there is one.
    """

    name: str
    variant: str
    cycles: Mapping[str, int]
    vectors: tuple[str, ...] = ()
    scalars: Mapping[str, float] | None = None
    lanes: str = ""

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants of this kernel: some of ``AS_THERE``, ``HALF_FULL`` and ``LANES``."""
        return (
            AS_THERE,
            *((HALF_FULL,) if self.vectors else ()),
            *((LANES,) if self.lanes else ()),
        )


KERNELS = (
    Kernel("mat_vecmul", "mat_vecmul_ji", {"bcsstm02": 80, "lp_scsd1": 776}, ("c",)),
    Kernel("mat_elemadd", "mat_elemadd", {"bcsstm02": 207, "lp_scsd1": 3177}),
    Kernel("mat_elemadd3", "mat_elemadd3", {"bcsstm02": 278, "lp_scsd1": 3885}),
    Kernel("matmul_kij", "matmul_kij", {"bcsstm02": 278, "lp_scsd1": 12898}),
    Kernel(
        "mat_mattransmul",
        "mat_mattransmul",
        {"bcsstm02": 214, "lp_scsd1": 3901},
        ("d", "f"),
        {"b": 2.0, "e": 2.0},
    ),
    Kernel("mat_residual", "mat_residual", {"bcsstm02": 211, "lp_scsd1": 2554}, ("b", "d")),
    Kernel(
        "mat_sddmm",
        "mat_sddmm",
        {"bcsstm02": 17042, "lp_scsd1": 613807},
        lanes="-s=parallelize(i,4)",
    ),
)
"""Cycles: SAM's simulator with queues without bounds, from the first root token to the last write;
"locate" for mat_sddmm."""


def operands(kernel: Kernel, folder: Path, half: bool, seed: int) -> dict[str, Operand]:
    """The kernel's operands from a matrix's ``folder`` of fibertrees.

    ``half``: vectors are half full of random numbers. Raises ``WorkloadError`` for damaged files.
    """
    statement = parse(SUITE[kernel.variant])
    random = np.random.default_rng(seed)
    by_name: dict[str, Operand] = {}
    for access in statement.operands:
        name = access.tensor
        if kernel.scalars and name in kernel.scalars:
            by_name[name] = Operand(Tensor.from_any(kernel.scalars[name]))
        elif not (kernel.name == "mat_sddmm" and name in "CD"):
            tensor = load_tensor(folder / kernel.name, name, statement.formats[name].modes)
            by_name[name] = Operand(tensor, grows=name in kernel.vectors)
    if kernel.name == "mat_sddmm":
        rows, columns = by_name["B"].tensor.shape
        inner = np.arange(SDDMM_INNER)
        by_name["C"] = Operand(Tensor.from_any(_counted(np.arange(rows), inner)))
        by_name["D"] = Operand(Tensor.from_any(_counted(np.arange(columns), inner).T))
    if half:
        sizes = {
            index: size
            for access in statement.operands
            if not by_name[access.tensor].grows
            for index, size in zip(access.indices, by_name[access.tensor].tensor.shape, strict=True)
        }
        for access in statement.operands:
            if access.tensor in kernel.vectors:
                by_name[access.tensor] = Operand(_half_full(sizes[access.indices[0]], random))
    return by_name


def _counted(outer: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """What the SAM project's test fills dense operands with: 256 · outer + inner."""
    return (SDDMM_INNER * outer[:, None] + inner[None, :]).astype(np.float64)


def _half_full(size: int, random: np.random.Generator) -> Tensor:
    chosen = np.sort(random.choice(size, max(1, round(HALF * size)), replace=False))
    values = random.standard_normal(len(chosen)).astype(np.float32)
    return Tensor((size,), chosen[:, None].astype(np.int64), values.astype(np.float64))
