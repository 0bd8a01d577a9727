"""Real inputs, where they are on disk, and generated ones in their place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.lib.records import ROOT
from bench.lib.request import Request

FOLDER = ROOT.parent / "shared" / "workloads"
"""Where real inputs lie if a user says nothing else."""


def existing(request: Request, title: str, paths: Sequence[str]) -> list[Path]:
    """The files of ``paths``, below the folder of real inputs; says which are absent."""
    files = [request.workloads / path for path in paths]
    for file in files:
        if not file.is_file():
            _tell(request, f"{title}: {file} is absent: skipped")
    return [file for file in files if file.is_file()]


def generated(request: Request, title: str) -> list[Path]:
    """The project's own examples, a circuit and a triangular system, in the output folder."""
    # Brings the DPU's compiler, which other benchmarks do without.
    from gnarl.sw.workloads.dag.generate import write_examples

    files = write_examples(request.output / "examples")
    _tell(request, f"{title}: generated instead: {', '.join(map(str, files))}")
    return files


def _tell(request: Request, text: str) -> None:
    request.console.print(text, style="yellow", highlight=False, soft_wrap=True)
