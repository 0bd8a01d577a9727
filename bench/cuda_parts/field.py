"""What all contenders for one model share: the GPU, tables, batches, results to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cached_property
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from bench.cuda_parts.cold_start import ColdStart
from bench.cuda_parts.contenders import Contender, Fused, LeftOut, equal
from bench.cuda_parts.limits import Limits, measure_limits
from bench.cuda_parts.probes import Probes
from bench.cuda_parts.stored_batches import StoredBatches, synthesise
from bench.cuda_parts.torch_contenders import Make, TorchContender, first_line
from bench.cuda_parts.traffic import Traffic
from bench.cuda_parts.uniform import choose_uniform
from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.compiler.cuda import schedule_file
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.cost_model import choose_schedules
from gnarl.sw.compiler.cuda.program import build_program
from gnarl.sw.compiler.cuda.schedule import ScheduleSet
from gnarl.sw.compiler.cuda.templates import templates
from gnarl.sw.golden import embedding as golden
from gnarl.sw.runtime.cuda.gpu.driver import Context
from gnarl.sw.runtime.cuda.gpu.embedding import DeviceTables, GpuEmbedding, upload
from gnarl.sw.runtime.cuda.gpu.gpus import GpuInfo, gpus, require_gpu
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from gnarl.sw.workloads.embedding.data import synthesise_tables
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel

_TRIED = 8
"""Batches that decide which uniform schedule is best."""
_SYNTHESISERS = 3


class Field:
    """A model on a GPU.

    sizes
        samples of each batch.
    stored
        batches that others have made; what is not there is made.

    Raises ``GnarlError`` where there is no such GPU.
    """

    def __init__(
        self,
        model: EmbeddingModel,
        sizes: Sequence[int],
        seed: int,
        device: int = 0,
        stored: StoredBatches | None = None,
    ) -> None:
        self.model = model
        self.gpu = require_gpu_of(device)
        self.config = config_for(self.gpu)
        self._device = device
        self._stored = stored
        self._seed = seed
        self._sizes = sizes
        context = Context(device)
        self._probes = probes = Probes(context, self.gpu)
        self.cold = ColdStart(context, probes)
        self.limits: Limits = measure_limits(context, self.gpu, probes, self.cold)
        self.tables = synthesise_tables(model, seed)
        self.on_device: DeviceTables = upload(self.tables, device)

    @cached_property
    def batches(self) -> list[tuple[Batch, Traffic]]:
        """All of them, and what each must move: some GB on the host."""
        numbers = range(len(self._sizes))
        if self._stored is not None:
            return [
                self._stored.load(self.model, size, self._seed, number)
                for number, size in enumerate(self._sizes)
            ]
        arguments = (repeat(self.model), self._sizes, repeat(self._seed), numbers)
        with ProcessPoolExecutor(_SYNTHESISERS, get_context("spawn")) as pool:
            return list(pool.map(synthesise, *arguments))

    def clock_mhz(self) -> int:
        """The clock of a multiprocessor, as it is now."""
        return self._probes.clock_mhz()

    def fused(self, schedules: ScheduleSet) -> Fused:
        program = build_program(self.model, schedules)
        return Fused(GpuEmbedding(program, self.on_device, device=self._device), self.cold)

    def tuned(self, file: Path) -> Fused:
        """The fused kernel with schedules of a file. Raises ``LeftOut`` where there is none."""
        if not file.is_file():
            raise LeftOut(f"no {file}")
        return self.fused(schedule_file.load(file, self.model, self.config))

    def best_uniform(self) -> Fused:
        """The uniform choice that takes the least time for the first batches."""
        batches = [batch for batch, _ in self.batches[:_TRIED]]
        candidates = [self.fused(each) for each in uniform_choices(self.model, self.config)]

        def total(contender: Fused) -> float:
            contender.outputs(batches[0])
            return sum(contender.time(batch) for batch in batches)

        return min(candidates, key=total)

    def torch(self, make: Make) -> TorchContender:
        """What PyTorch runs; in a CUDA graph, unless it cannot be recorded as one.

        Raises ``LeftOut`` where there is no PyTorch, ``GnarlError`` for whatever ails it.
        """
        try:
            prepare = make(self.model, self.tables, f"cuda:{self._device}")
        except GnarlError:
            raise
        except Exception as error:
            raise GnarlError(first_line(error)) from error
        for replayed in (True, False):
            contender = TorchContender(prepare, self.cold, replayed)
            try:
                contender.time(self._first)
                return contender
            except Exception as error:
                reason = first_line(error)
        raise GnarlError(reason)

    def foreign(self, make: Make) -> TorchContender:
        """Another project's way. Raises ``LeftOut`` where it does not compute a batch: whatever
        ails it is no reason to stop."""
        try:
            return self.torch(make)
        except GnarlError as error:
            raise LeftOut(str(error)) from error

    def check(self, contender: Contender) -> bool | None:
        """Whether its outputs are the golden model's; ``None`` where they are not compared."""
        found = contender.outputs(self._first)
        return None if found is None else equal(found, self._golden)

    @property
    def _first(self) -> Batch:
        return self.batches[0][0]

    @cached_property
    def _golden(self) -> list[np.ndarray]:
        return golden.embedding_bags(self.model, self.tables, self._first)


def our_schedules(
    name: str, folder: Path, model: EmbeddingModel, config: CudaConfig
) -> ScheduleSet:
    """The schedules as tuned, if the folder has a file for the model of this name; else by the cost
    model."""
    tuned = folder / f"{name}.json"
    if tuned.is_file():
        return schedule_file.load(tuned, model, config)
    return choose_schedules(model, config)


def uniform_choices(model: EmbeddingModel, config: CudaConfig) -> list[ScheduleSet]:
    """One schedule for all features, from each template that has any, with workers of its own."""
    found = [
        choose_uniform(
            model,
            replace(config, workers=each.workers),
            each.candidates,
            f"uniform: {each.name}",
        )
        for each in templates().values()
    ]
    return [each for each in found if each is not None]


def require_gpu_of(device: int = 0) -> GpuInfo:
    """The GPU of this number, whatever its architecture. Raises ``GpuError`` without one."""
    found = gpus()
    fitting = found[device].kernel_arch if device < len(found) else None
    return require_gpu(fitting or "sm_90", device)


def configuration_for(gpu: GpuInfo) -> NamedConfiguration:
    """The one that is for the GPU's architecture."""
    assert gpu.kernel_arch is not None
    return load_configuration(f"cuda_{gpu.kernel_arch.replace('_', '')}")


def config_for(gpu: GpuInfo) -> CudaConfig:
    """``configuration_for`` without its name."""
    config = configuration_for(gpu).config
    assert isinstance(config, CudaConfig)
    return config
