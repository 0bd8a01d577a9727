"""The CUDA target's part of every command: what ``sw.targets.Frontend`` asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from hw.lib.errors import WorkloadError
from sw.compiler.cuda.sections import source_of
from sw.program.atomic import write_text
from sw.program.program import Program
from sw.runtime.example import Example
from sw.workloads.embedding.model import EmbeddingModel
from sw.workloads.embedding.recflex import load_model

_EXAMPLE_FEATURES = ("one-hot,16,1.0", "multi-hot,8,20,10,50,0.8", "multi-hot-static,4,50,0.5")
_EXAMPLE_TABLES = ((1024, 4), (4096, 8), (1024, 16), (2048, 32), (4096, 64), (1024, 128), (999, 7))


def examples(folder: Path) -> list[Example]:
    """A small recommendation model: 28 features of seven table shapes."""
    model = folder / "recommendation"
    model.mkdir(exist_ok=True)
    count = sum(int(line.split(",")[1]) for line in _EXAMPLE_FEATURES)
    shapes = [_EXAMPLE_TABLES[at % len(_EXAMPLE_TABLES)] for at in range(count)]
    write_text(model / "data_config.txt", "".join(f"{line}\n" for line in _EXAMPLE_FEATURES))
    write_text(model / "table_config.txt", "".join(f"{rows},{dim}\n" for rows, dim in shapes))
    return [Example("recommendation", str(model))]


def source(text: str, tensors: Mapping[str, str]) -> Path:
    if tensors:
        raise WorkloadError(
            f"--tensor {next(iter(tensors))}: target cuda takes its values from --values FILE.npz"
        )
    return Path(text)


def workload(source: EmbeddingModel | str | Path, seed: int = 0) -> EmbeddingModel:
    return source if isinstance(source, EmbeddingModel) else load_model(Path(source))


def prepare() -> None:
    """Nothing needs to be done once in a process."""


def dot(program: Program) -> str:
    raise WorkloadError("--dot: target cuda has no graph: must be left out")


def listing(program: Program) -> Iterator[str]:
    """The fused kernel's CUDA C++."""
    yield from source_of(program.sections).splitlines()
