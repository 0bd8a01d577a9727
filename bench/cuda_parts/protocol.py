"""What figures of a GPU are of: those that agree in it add up, whichever commit each is of."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bench.lib.records import Record, installed
from gnarl.sw.compiler.cuda import schedule_file
from gnarl.sw.compiler.cuda.program import EmbeddingProgram
from gnarl.sw.program.cache import digest_of, file_texts
from gnarl.sw.runtime.cuda.gpu.gpus import GpuInfo

PROTOCOL = 1
"""How things are measured. It rises when a figure changes its meaning: with inputs, with what is
launched and how, with what is timed. Figures of another protocol count no more."""

_DIGITS = 12
"""Digits of digests."""


def machine(gpu: GpuInfo) -> dict[str, str]:
    """What took part in a measurement, by name."""
    return {**installed(("nvidia-cuda-nvrtc", "torch", "fbgemm-gpu")), "gpu": gpu.name}


def key_of(gpu: GpuInfo, program: EmbeddingProgram) -> dict[str, str]:
    """What a figure of a program is known by: GPU, kernel, schedules, protocol."""
    schedules = digest_of(schedule_file.to_text(program.schedules))[:_DIGITS]
    kernel = kernel_digest(program)
    return {
        "gpu": gpu.name,
        "kernel": kernel,
        "schedules": schedules,
        "protocol": str(PROTOCOL),
    }


def kernel_digest(program: EmbeddingProgram) -> str:
    """The digest of a kernel's source and of all headers, but for comments and blank lines."""
    headers = [text for folder in program.include for text in file_texts(folder)]
    return digest_of(*map(_code, [*headers, program.kernel.source]))[:_DIGITS]


def counts(record: Record) -> bool:
    """Whether a figure was measured by this protocol."""
    return record.tools.get("protocol") == str(PROTOCOL)


def newest(records: Sequence[Record], names: Sequence[str]) -> list[Record]:
    """Of records with the same labels of these ``names``, those of the kernel, with the schedules,
    that was measured last."""

    def group(record: Record) -> tuple[object, ...]:
        return record.bench.partition(".models")[0], *map(record.labels.get, names)

    def of(record: Record) -> tuple[object, ...]:
        return record.tools.get("kernel"), record.tools.get("schedules")

    last = {group(record): of(record) for record in records}
    return [record for record in records if of(record) == last[group(record)]]


def _code(text: str) -> str:
    lines = (re.sub(r"//.*", "", line).strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line)
