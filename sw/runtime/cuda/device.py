"""One way to a GPU or its emulation: compile a model, look batches up, check the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sw.compiler.cuda.config import require_cuda
from sw.compiler.cuda.program import EmbeddingProgram
from sw.compiler.cuda.sections import decode
from sw.program.program import Program
from sw.runtime.compiling import Compiling
from sw.runtime.configuration import NamedConfiguration
from sw.runtime.cuda.emulation.embedding import EmulatedEmbedding
from sw.runtime.cuda.grid import map_batch
from sw.runtime.cuda.task_map import Mapping
from sw.runtime.stages import Stages, quiet
from sw.workloads.embedding.data import check_batch, check_tables
from sw.workloads.embedding.model import Batch

if TYPE_CHECKING:
    from sw.runtime.cuda.gpu.embedding import GpuEmbedding

    _Loaded = tuple[Program, Sequence[np.ndarray], EmulatedEmbedding | GpuEmbedding]


@dataclass(frozen=True)
class EmbeddingResult:
    """What a batch looked up.

    outputs
        for each feature [batch, dim], of its output type.
    counters
        whole numbers about the launch by name: of the emulation what its threads did; of a GPU the
        kernel's time in ns.
    """

    outputs: list[np.ndarray]
    counters: dict[str, int]


class CudaDevice(Compiling):
    """A GPU, or its emulation on the CPU.

    configuration
        its name or the path of its file, or one that is loaded already.
    backend
        ``cuda`` or ``emulation``; by default a GPU if there is one.
    stages
        told how far work is.
    """

    def __init__(
        self,
        configuration: str | Path | NamedConfiguration,
        backend: str | None = None,
        *,
        stages: Stages = quiet,
    ) -> None:
        super().__init__(configuration, stages=stages)
        config = require_cuda(self.configuration.name, self.configuration.config)
        self._checked = config.checked
        self.backend = backend or best_backend()
        self._loaded: _Loaded | None = None

    def run(
        self,
        program: Program,
        tables: Sequence[np.ndarray],
        batch: Batch,
        mapping: str = "contiguous",
    ) -> EmbeddingResult:
        """Looks a batch up. ``mapping``: one of ``MAPPINGS``.

        Tables stay on the device from one run to the next of the same program and list of tables.
        Raises ``GnarlError`` for a program of another configuration, tables and inputs that are not
        the program's, a GPU that cannot run it, and, with ``checked`` in the configuration or in
        the emulation, for indices out of range.
        """
        program.require(self.configuration.config)
        loaded = self._load(program, tables)
        check_batch(loaded.program.model, batch, indices=False)
        grid = map_batch(loaded.program, batch, mapping)
        given: Mapping = "device" if mapping == "device" else grid
        with self._stages("simulate"):
            if isinstance(loaded, EmulatedEmbedding):
                emulated = loaded.run(batch, given)
                outputs, counters = emulated.outputs, asdict(emulated.statistics)
            else:
                timed = loaded.run(batch, given)
                outputs = timed.outputs
                counters = {"blocks": len(grid.tasks), "kernel_ns": round(1e6 * timed.kernel_ms)}
        layout = loaded.program.outputs
        columns = zip(loaded.program.model.features, layout.types, layout.columns, strict=True)
        return EmbeddingResult(
            [outputs[name][:, first : first + feature.dim] for feature, name, first in columns],
            counters,
        )

    def _load(
        self, program: Program, tables: Sequence[np.ndarray]
    ) -> EmulatedEmbedding | GpuEmbedding:
        if self._loaded is None or self._loaded[0] is not program or self._loaded[1] is not tables:
            self._loaded = None  # frees its memory first
            decoded = decode(program)
            check_tables(decoded.model, tables)
            with self._stages("build kernel"):
                self._loaded = (program, tables, self._make(decoded, tables))
        return self._loaded[2]

    def _make(
        self, program: EmbeddingProgram, tables: Sequence[np.ndarray]
    ) -> EmulatedEmbedding | GpuEmbedding:
        if self.backend == "emulation":
            return EmulatedEmbedding(program, tables)
        from sw.runtime.cuda.gpu.embedding import GpuEmbedding

        return GpuEmbedding(program, tables, checked=self._checked)


def best_backend() -> str:
    """``cuda`` if there is a GPU, else ``emulation``."""
    from sw.runtime.cuda.gpu.gpus import gpus

    return "cuda" if gpus() else "emulation"
