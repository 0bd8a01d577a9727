"""Passes on MLIR text of any level."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.nests.functions import ModulePass
from gnarl.sw.compiler.tmu.pipeline import LEVELS, SCF_PASSES, pipeline
from gnarl.sw.compiler.tmu.record import (
    as_passes_leave,
    check_configuration,
    dump_of,
    dumped,
    is_dump,
)
from gnarl.sw.compiler.tmu.step_passes import steps
from gnarl.sw.compiler.tmu.steps import PASSES_OF, Step
from gnarl.sw.compiler.tmu.text import from_text, level_of, to_text

_TAKES_SCF = (*SCF_PASSES, "decouple")


def optimise(
    text: str, file: str, passes: Sequence[str], config: TmuConfig, zeros: Collection[str] = ()
) -> str:
    """The text of a module, called ``file`` in messages, behind ``passes`` in their order.

    ``zeros``: arrays that are 0 before the run, of text that is no dump; dumps say it, and
    compilation may go on from what becomes of them. Dumps of coupled programs go through the passes
    of those, ``coupled.pipeline.STEPS``, none left out. Raises ``WorkloadError`` for text that is
    no module of one function with the attribute ``names``, for an unknown pass, and where a pass
    takes another level.
    """
    known = pipeline(config, zeros, max(LEVELS))
    for name in passes:
        if name not in known:
            raise WorkloadError(f"pass {name}: must be one of {', '.join(known)}")
    module = from_text(text, file)
    if not is_dump(module):
        _check(module, file)
        for name in passes:
            _check_level(name, module, file)
            module = known[name](module)
        return to_text(module)
    if not passes:
        return to_text(module)
    dump = dump_of(module, file)
    check_configuration(dump, config)
    with as_passes_leave(dump):
        return dumped(dump.name, [_run(each, file, passes, config) for each in dump.steps], config)


def _run(step: Step, file: str, passes: Sequence[str], config: TmuConfig) -> Step:
    if step.manner.coupled:
        return _run_coupled(step, file, passes, config)
    # A pass that does more at a higher level does what the dump's own one has.
    known: dict[str, ModulePass] = {}
    for level in (max(LEVELS), step.manner.level):
        known |= pipeline(config, step.zeros, level, step.manner.reassociate)
    for name in passes:
        _check_level(name, step.module, file)
        step = step.after(name, known[name](step.module), config)
    return step


def _run_coupled(step: Step, file: str, passes: Sequence[str], config: TmuConfig) -> Step:
    order = PASSES_OF[True]
    left = order[order.index(step.name) + 1 :]
    if tuple(passes) != left[: len(passes)]:
        raise WorkloadError(
            f"{file}: passes {','.join(passes)}: behind {step.name} of a coupled program must be "
            f"{','.join(left) or 'none'}, or the first of these"
        )
    return next(each for each in steps(step, config) if each.name == passes[-1])


def _check_level(name: str, module: ModuleOp, file: str) -> None:
    level, taken = level_of(module), "SCF" if name in _TAKES_SCF else "SLC"
    if level != taken:
        raise WorkloadError(f"{file}: pass {name} takes {taken}: the module is {level}")


def _check(module: ModuleOp, file: str) -> None:
    functions = [each for each in module.body.block.ops if isinstance(each, func.FuncOp)]
    names = functions[0].attributes.get("names") if functions else None
    if len(functions) != 1 or not isinstance(names, StringAttr):
        raise WorkloadError(
            f'{file}: must have one func.func, whose attribute names = "a,b" has the names of its '
            "arguments"
        )
    arguments = functions[0].body.block.args
    if len(names.data.split(",")) != len(arguments):
        raise WorkloadError(f"{file}: names = {names.data!r}: must be {len(arguments)} names")
