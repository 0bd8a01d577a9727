"""What steps of a session measure, and what their figures are known by."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.cuda_parts import bits
from bench.cuda_parts.field import config_for, our_schedules
from bench.cuda_parts.model_sources import ModelSource
from bench.cuda_parts.protocol import key_of
from gnarl.sw.compiler.cuda.program import build_program
from gnarl.sw.runtime.cuda.gpu.gpus import GpuInfo


@dataclass(frozen=True)
class ModelSubject:
    """A model with this project's schedules."""

    source: ModelSource
    schedules: Path

    def key(self, gpu: GpuInfo) -> dict[str, str]:
        """What figures are known by."""
        model, config = self.source.load(), config_for(gpu)
        schedules = our_schedules(self.source.name, self.schedules, model, config)
        return key_of(gpu, build_program(model, schedules))


@dataclass(frozen=True)
class TemplateSubject:
    """A template with one pooling."""

    template: str
    pooling: str
    seed: int

    def key(self, gpu: GpuInfo) -> dict[str, str]:
        """What figures are known by."""
        return bits.key(bits.Job(self.template, self.pooling, gpu, self.seed))


Subject = ModelSubject | TemplateSubject


def key(subject: Subject, gpu: GpuInfo) -> dict[str, str]:
    """The subject's key."""
    return subject.key(gpu)
