"""What reads loop nests, PyTorch modules and commands for in-SRAM computing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from gnarl.hw.lib.errors import WorkloadError, quoted
from gnarl.sw.compiler.sram_compute.command_program import CommandWorkload, read
from gnarl.sw.compiler.sram_compute.sections import fat_program
from gnarl.sw.program.program import Program
from gnarl.sw.program.python_files import split_name
from gnarl.sw.runtime.sram_compute.examples import write_examples
from gnarl.sw.runtime.target.reader import Example, FileReader, RunArguments
from gnarl.sw.workloads.loops.ir.sequence import begun
from gnarl.sw.workloads.loops.modules import file_workload as pytorch_file_workload
from gnarl.sw.workloads.loops.modules import module_workload
from gnarl.sw.workloads.loops.sources import file_workload, load_arrays
from gnarl.sw.workloads.loops.synthesise import made_up, synthesised
from gnarl.sw.workloads.loops.workload import LoopWorkload
from gnarl.sw.workloads.made_up import ZEROS, MadeUp, without
from gnarl.sw.workloads.pytorch.export import SUFFIX, is_module

SramWorkload: TypeAlias = LoopWorkload | CommandWorkload

SramSource: TypeAlias = str | tuple[Any, ...] | SramWorkload
"""What it may be beside the path of a file: tuples are as ``workload`` says."""

_NESTS = (".py", ".c", SUFFIX)


class SramReader(FileReader[SramSource, SramWorkload]):
    """Reads loop nests, modules and commands."""

    target = "sram"

    def examples(self, folder: Path) -> list[Example]:
        return write_examples(folder)

    def source(self, text: str, tensors: Mapping[str, str]) -> Path | SramSource:
        return (text, dict(tensors)) if _is_nest(text) else super().source(text, {})

    def sized_source(
        self, source: Path | SramSource, sizes: Mapping[str, int]
    ) -> Path | SramSource:
        if isinstance(source, tuple):
            return (*source, dict(sizes))
        return super().sized_source(source, sizes)

    def workload(self, source: Path | SramSource, seed: int = 0) -> SramWorkload:
        """Reads a workload from a path, in a tuple with paths of ``.npy`` files by the names of
        arrays and, perhaps, with sizes by name; or a PyTorch module, in a tuple with arguments of
        its ``forward``. A nest lacks no values: those that are not given are synthesised. Raises
        ``WorkloadError``."""
        if isinstance(source, LoopWorkload | CommandWorkload):
            return source
        text, tensors, *sizes = source if isinstance(source, tuple) else (source, {})
        if is_module(text):
            loaded = _without_bags(module_workload(text, tensors))
        elif not isinstance(text, str | Path):
            raise WorkloadError(
                f"{quoted(text)}: must be the path of a loop nest (.py or .c), of a PyTorch module "
                f"({SUFFIX}) or of a file of commands"
            )
        elif not _is_nest(str(text)):
            return read(Path(text))
        elif Path(text).suffix == SUFFIX:
            module = _without_bags(pytorch_file_workload(text))
            loaded = replace(module, inputs={**module.inputs, **load_arrays(tensors)})
        else:
            loaded = file_workload(str(text), tensors)
        arguments = loaded.nest, loaded.inputs, seed, *sizes
        values, extents = synthesised(*arguments)
        return replace(loaded, inputs=values, sizes=extents, made_up=made_up(*arguments))

    def inputs(
        self, program: Program, workload: SramWorkload | None, arguments: RunArguments
    ) -> object:
        if arguments.values is not None:
            raise WorkloadError("--values: arrays are given by --tensor NAME=FILE.npy")
        loaded = load_arrays(arguments.tensors)
        if isinstance(workload, LoopWorkload):
            return {**workload.inputs, **loaded, **(workload.sizes or {})}
        return loaded

    def made_up(
        self, program: Program, workload: SramWorkload | None, arguments: RunArguments
    ) -> MadeUp:
        fat = fat_program(program)
        if workload is None and fat is not None:
            return without(dict.fromkeys(begun(fat.nest), ZEROS), arguments.tensors)
        return super().made_up(program, workload, arguments)

    def sized_inputs(self, program: Program, inputs: object, sizes: Mapping[str, int]) -> object:
        fat = fat_program(program)
        if fat is None:
            return super().sized_inputs(program, inputs, sizes)
        assert isinstance(inputs, Mapping)
        fat.require_sizes(sizes)
        return {**inputs, **sizes}

    def refuse_sizes(self, sizes: Mapping[str, int]) -> None:
        refuse_sizes(sizes)


def refuse_sizes(sizes: Mapping[str, int]) -> None:
    """Raises ``WorkloadError`` if there are any: for commands."""
    for name in sizes:
        raise WorkloadError(f"--size {name}: only nests have sizes: must be left out")


def _without_bags(workload: LoopWorkload) -> LoopWorkload:
    """Raises ``WorkloadError`` for offsets of bags, which no run of a program would check."""
    for name in workload.bag_offsets:
        raise WorkloadError(
            f"{workload.name}: {name}: offsets of bags are not supported by target sram: must be "
            "bags of one length"
        )
    return workload


def _is_nest(text: str) -> bool:
    """Whether it names a file of Python or C, perhaps with a function, or of a module."""
    return Path(split_name(text)[0]).suffix in _NESTS
