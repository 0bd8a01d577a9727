"""Passes on MLIR text of Einsum programs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from gnarl.hw.lib.errors import WorkloadError, short
from gnarl.hw.sam.config import SamConfig
from gnarl.sw.compiler.sam.fuse.association import associate
from gnarl.sw.compiler.sam.fuse.choices import PROGRAM_PASSES
from gnarl.sw.compiler.sam.fuse.program_passes import in_one_space, iterated_globally, ordered
from gnarl.sw.workloads.einsum.check import check
from gnarl.sw.workloads.einsum.mlir.read import read_mlir
from gnarl.sw.workloads.einsum.mlir.write import program_mlir
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.einsum.pure import inlined, pure

ProgramPass = Callable[[EinsumProgram], EinsumProgram]

_ASSOCIATE = "associate"
_PASSES: Mapping[str, ProgramPass] = {
    "pure": pure,
    "inline": inlined,
    "views": in_one_space,
    "global": iterated_globally,
    "order": ordered,
}


def optimise(
    text: str,
    file: str,
    passes: Sequence[str],
    config: SamConfig,
    zeros: Collection[str] = (),
) -> str:
    """The text of a program's module, called ``file`` in messages, behind ``passes`` in their
    order, each one of ``PROGRAM_PASSES``, whatever the configuration.

    Raises ``WorkloadError`` for text that is no program, naming file and line, for an unknown pass
    and a program that a pass refuses, and for ``zeros``, which programs do not have.
    """
    known = list(map(_pass, passes))
    if zeros:
        raise WorkloadError("--zero: not for a program of Einsums: must be left out")
    program = read_mlir(text, file)
    for run in known:
        try:
            program = check(run(program))
        except WorkloadError as error:
            is_placed = str(error).startswith(f"{file}:")
            raise WorkloadError(str(error) if is_placed else f"{file}: {error}") from error
    return program_mlir(program)


def _pass(name: str) -> ProgramPass:
    kind, equals, product = name.partition("=")
    if kind == _ASSOCIATE and equals:
        return lambda program: associate(program, product, {})
    if name not in _PASSES:
        raise WorkloadError(f"pass {short(name)}: must be one of {', '.join(PROGRAM_PASSES)}")
    return _PASSES[name]
