"""In-SRAM computing as a target of loop nests, in Python or C, and of programs of commands."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hw.sram_compute.config import SramConfig
from sw.compiler.passes import Trace
from sw.compiler.sram_compute.command_program import CommandWorkload
from sw.compiler.sram_compute.compile import PASSES, compile
from sw.compiler.sram_compute.meaning import Meaning, meaning_of
from sw.golden.loop_code import Placement
from sw.golden.loops import GoldenLoops
from sw.program.program import Program
from sw.program.tensor_spec import Array
from sw.runtime.host_machine import HostJob
from sw.runtime.report import Figures
from sw.runtime.result import Result
from sw.runtime.sram_compute.figures import figures
from sw.runtime.sram_compute.target import SramTarget, Tensors
from sw.runtime.sram_loops.options import OPTIONS
from sw.workloads.loops.sources import file_workload
from sw.workloads.loops.synthesise import synthesised
from sw.workloads.loops.workload import LoopWorkload

_SUFFIXES = (".py", ".c")


class SramLoopTarget(SramTarget):
    """See ``sw.runtime.target.Target``. What a compiled nest means, the golden model of nests
    says; what commands mean, the model."""

    passes = PASSES
    options = OPTIONS

    def source(self, text: str, tensors: Mapping[str, str]) -> Any:
        return (text, dict(tensors)) if _is_nest(text) else super().source(text, tensors)

    def workload(self, source: Any, seed: int = 0) -> Any:
        """A nest lacks no values: those that are not given are synthesised. Raises
        ``WorkloadError``."""
        if isinstance(source, LoopWorkload):
            return source
        text, tensors = source if isinstance(source, tuple) else (source, {})
        if not isinstance(text, str | Path) or not _is_nest(str(text)):
            return super().workload(source, seed)
        found = file_workload(str(text), tensors)
        values, sizes = synthesised(found.nest, found.inputs, seed)
        return LoopWorkload(found.name, found.nest, values, sizes)

    def compile(
        self,
        workload: LoopWorkload | CommandWorkload,
        config: SramConfig,
        *,
        seed: int = 0,
        trace: Trace,
        **options: Any,
    ) -> Program:
        return compile(workload, config, seed=seed, trace=trace, **options)

    def dot(self, program: Program) -> str:
        meaning = _meaning(program)
        return super().dot(program) if meaning is None else meaning.dot

    def inputs(
        self,
        program: Program,
        workload: Any,
        values: Path | None,
        tensors: Mapping[str, str],
        seed: int,
        options: Mapping[str, Any],
    ) -> Any:
        found = super().inputs(program, None, values, tensors, seed, options)
        if isinstance(workload, LoopWorkload):
            names = [spec.name for spec in program.inputs]
            return {name: {**workload.inputs, **found}[name] for name in names}
        return found

    def golden(self, program: Program, tensors: Tensors) -> dict[str, Array]:
        meaning = _meaning(program)
        if meaning is None:
            return super().golden(program, tensors)
        found = GoldenLoops(meaning.order).run(meaning.binding(meaning.order, tensors))
        return {spec.name: found[spec.name] for spec in program.outputs}

    def reference(self, program: Program, tensors: Tensors) -> dict[str, Array]:
        meaning = _meaning(program)
        if meaning is None:
            return super().golden(program, tensors)
        found = GoldenLoops(meaning.nest).reference(meaning.binding(meaning.nest, tensors))
        return {spec.name: found[spec.name] for spec in program.outputs}

    def figures(self, program: Program, result: Result[HostJob[Tensors]]) -> Figures:
        """Operations are those of the source on float32, whatever commands did them."""
        found = figures(program, result)
        meaning = _meaning(program)
        if meaning is None:
            return found
        binding = meaning.binding(meaning.nest, result.launches[0].job.operands)
        everywhere = Placement(dict.fromkeys(binding.arrays, 0), sys.maxsize)
        operations = GoldenLoops(meaning.nest).work(binding, everywhere).operations
        statistics = {**found.statistics, "operations": operations}
        return replace(found, operations=operations, statistics=statistics)


def _is_nest(text: str) -> bool:
    """Whether it names a file of Python or C, perhaps with a function."""
    file = text if Path(text).exists() else text.partition(":")[0]
    return Path(file).suffix in _SUFFIXES


def _meaning(program: Program) -> Meaning | None:
    """Of a compiled nest."""
    section = program.launches[0].sections["meaning"]
    return meaning_of(section) if len(section) else None


TARGET = SramLoopTarget()
