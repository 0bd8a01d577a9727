"""Workloads of any size, as files that a user would have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse

from gnarl.sw.program.atomic import write_text
from gnarl.sw.runtime.report.report import Report
from gnarl.sw.runtime.report.stages import Stages, quiet
from gnarl.sw.runtime.run.session import run_once
from gnarl.sw.runtime.target.configuration import load_configuration

_OPERATORS = "+*-"


@dataclass(frozen=True)
class Growing:
    """A workload that grows.

    what, unit
        what it is, and what its size counts.
    config, backend
        what it runs on.
    sizes
        three to measure; the first also warms up.
    overrides
        ``field=value`` texts that make room for a size.
    write
        writes files for a size and a seed into a folder, and returns the workload, as on a command
        line, and paths of tensors by name.
    own_sizes
        of a loop nest, by name.
    """

    what: str
    unit: str
    config: str
    backend: str
    sizes: tuple[int, int, int]
    overrides: Callable[[int], list[str]]
    write: Callable[[Path, int, int], tuple[str, Mapping[str, str]]]
    own_sizes: Callable[[int], Mapping[str, int]] = lambda size: {}

    @property
    def title(self) -> str:
        return f"{self.what} ({self.config}, {self.backend})"

    def run(
        self, size: int, seed: int, folder: Path, overrides: Sequence[str], stages: Stages = quiet
    ) -> Report:
        """Runs it once; ``folder`` is made, for its files and results. Raises as ``run_once``."""
        folder.mkdir()
        source, tensors = self.write(folder, size, seed)
        return run_once(
            load_configuration(self.config, tuple(overrides)),
            source,
            backend=self.backend,
            tensors=tensors,
            sizes=self.own_sizes(size),
            output=folder / "results.npz",
            stages=stages,
        )


def triangular(folder: Path, size: int, seed: int) -> tuple[str, Mapping[str, str]]:
    """A lower triangular system of ``size`` entries, 8 a row, anywhere in it: values spill."""
    random, n = np.random.default_rng(seed), max(2, size // 8)
    rows = np.repeat(np.arange(1, n), 7)
    below = (random.random(len(rows)) * rows).astype(int)
    values = random.uniform(-0.1, 0.1, len(rows))
    lower = scipy.sparse.coo_array((values, (rows, below)), (n, n)) + scipy.sparse.eye_array(n)
    path = folder / "lower.mtx"
    scipy.io.mmwrite(path, lower.tocoo(), symmetry="general")
    return str(path), {}


def matrix_by_vector(folder: Path, size: int, seed: int) -> tuple[str, Mapping[str, str]]:
    """A square sparse matrix of ``size`` entries, 8 a row, times a vector."""
    random, n = np.random.default_rng(seed), max(2, size // 8)
    places = np.sort(random.choice(n * n, min(size, n * n), replace=False))
    values = random.uniform(0.5, 1, len(places)).astype(np.float32)
    matrix = scipy.sparse.coo_array((values, np.divmod(places, n)), (n, n))
    scipy.io.mmwrite(folder / "B.mtx", matrix, symmetry="general")
    np.save(folder / "c.npy", random.uniform(0.5, 1, n).astype(np.float32))
    tensors = {"B": str(folder / "B.mtx"), "c": str(folder / "c.npy")}
    return "x(i)=B(i,j)*c(j) -f=x:d -f=B:ds -f=c:d", tensors


def statements(folder: Path, size: int, seed: int) -> tuple[str, Mapping[str, str]]:
    """A loop of ``size`` statements, each of the array that another has just written."""
    random = np.random.default_rng(seed)
    lines = [
        f"        b{at + 1}[i] = b{at}[i] {random.choice(list(_OPERATORS))} a[i];"
        for at in range(size)
    ]
    arrays = ", ".join(f"float b{at}[n]" for at in range(size + 1))
    text = [
        f"void chain(int n, const float a[n], {arrays}) {{",
        "    for (int i = 0; i < n; i++) {",
    ]
    write_text(folder / "chain.c", "\n".join([*text, *lines, "    }", "}", ""]))
    return str(folder / "chain.c"), {}


def vectors(folder: Path, size: int, seed: int) -> tuple[str, Mapping[str, str]]:
    """The sum of two vectors of ``size`` elements, scaled."""
    random = np.random.default_rng(seed)
    for name in "ab":
        np.save(folder / f"{name}.npy", random.random(size, np.float32))
    np.save(folder / "c.npy", np.zeros(size, np.float32))
    write_text(
        folder / "axpy.c",
        "void axpy(int n, const float a[n], const float b[n], float c[n]) {\n"
        "    for (int i = 0; i < n; i++)\n"
        "        c[i] = 3 * a[i] + b[i];\n"
        "}\n",
    )
    return str(folder / "axpy.c"), {name: str(folder / f"{name}.npy") for name in "abc"}


def embeddings(folder: Path, size: int, seed: int) -> tuple[str, Mapping[str, str]]:
    """A model of ``size`` features, of three dimensions in turn, one value a sample or up to 50."""
    tables = [f"{1000 + at},{(4, 16, 64)[at % 3]}" for at in range(size)]
    bags = [("one-hot,1,1.0", "multi-hot,1,10,10,50,0.3")[at % 2] for at in range(size)]
    for name, lines in (("table_config", tables), ("data_config", bags)):
        write_text(folder / f"{name}.txt", "\n".join(lines) + "\n")
    return str(folder), {}


def room_for(fields: Mapping[str, float]) -> Callable[[int], list[str]]:
    """Overrides that give each field so many times a size, or a bit more."""
    return lambda size: [
        f"{name}={1 << int(times * size).bit_length()}" for name, times in fields.items()
    ]


GROWING = {
    "dpu.triangular": Growing(
        "triangular system, 8 entries a row",
        "entries",
        *("dpu_d3_b64", "model"),
        (5_000, 50_000, 500_000),
        room_for({"data_rows": 0.05, "instruction_words": 2}),
        triangular,
    ),
    "sam.spmv": Growing(
        "sparse matrix by vector",
        "entries",
        *("sam_fp32", "model"),
        (10_000, 100_000, 1_000_000),
        room_for({"array_words": 1}),
        matrix_by_vector,
    ),
    "sam.spmv_rtl": Growing(
        "the same on RTL",
        "entries",
        *("sam_fp32", "rtl"),
        (1_000, 10_000, 100_000),
        lambda size: [],
        matrix_by_vector,
    ),
    "tmu.spmv": Growing(
        "sparse matrix by vector",
        "entries",
        *("tmu_l8", "model"),
        (10_000, 100_000, 1_000_000),
        room_for({"memory_bytes": 16}),
        matrix_by_vector,
    ),
    "sram.vectors": Growing(
        "sum of two vectors",
        "elements",
        *("sram_b4_64k", "model"),
        (1_000, 10_000, 100_000),
        room_for({"memory_bytes": 16}),
        vectors,
    ),
    "sram.statements": Growing(
        "loop of statements",
        "statements",
        *("sram_b4_64k", "model"),
        (4, 16, 64),
        lambda size: ["memory_bytes=1048576"],
        statements,
        lambda size: {"n": 1024},
    ),
    "cuda.features": Growing(
        "embedding model",
        "features",
        *("cuda_sm90", "emulation"),
        (8, 24, 72),
        lambda size: [],
        embeddings,
    ),
}
"""By name: the target and the workload."""
