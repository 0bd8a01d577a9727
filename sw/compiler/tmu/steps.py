"""What the passes make of a nest, one after the other."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp

from hw.tmu.access_program import AccessProgram
from hw.tmu.config import TmuConfig
from sw.compiler.tmu.coupled.code import coupled_code
from sw.compiler.tmu.coupled.pipeline import couple
from sw.compiler.tmu.dialects.dlc import AccessOp, LayerOp, layer_of
from sw.compiler.tmu.execute.code import execute_code
from sw.compiler.tmu.lane_sums import summed_loops
from sw.compiler.tmu.layout import layout
from sw.compiler.tmu.meaning import Meaning
from sw.compiler.tmu.pipeline import pipeline
from sw.compiler.tmu.scf import to_scf
from sw.compiler.tmu.sections import encode
from sw.program.program import Launch
from sw.workloads.loops.lane_sums import sum_by_lanes


@dataclass(frozen=True)
class Manner:
    """How nests are compiled, see ``compile.compile``."""

    level: int
    coupled: bool = False
    reassociate: bool = True


@dataclass(frozen=True)
class Step:
    """A module, made by the pass ``name``.

    launch
        what reports call the launch.
    meaning
        what it computes, in its order of additions.
    given
        names of the program's inputs, among them results that are not 0 before the run.
    """

    name: str
    module: ModuleOp
    launch: str
    meaning: Meaning
    given: Collection[str]
    manner: Manner

    def after(self, name: str, module: ModuleOp, config: TmuConfig) -> Step:
        """What the pass ``name`` made of it."""
        meaning = self.meaning
        if name == "vectorize" and not self.manner.coupled:
            nest = sum_by_lanes(meaning.nest, meaning.sizes, summed_loops(module), config.lanes)
            meaning = replace(meaning, nest=nest)
        return replace(self, name=name, module=module, meaning=meaning)

    @property
    def zeros(self) -> list[str]:
        return [each for each in self.meaning.results if each not in self.given]


def first_step(launch: str, meaning: Meaning, given: Collection[str], manner: Manner) -> Step:
    module = to_scf(meaning.nest, meaning.sizes)
    return Step("scf", module, launch, meaning, given, manner)


def steps(first: Step, config: TmuConfig) -> Iterator[Step]:
    """``first``, and what the passes after it make of it.

    Raises ``WorkloadError`` naming the line that cannot be compiled, and ``CapacityError``.
    """
    step = first
    yield step
    if step.manner.coupled:
        bases = layout(step.meaning.specs.values(), config)
        made, _ = couple(step.module, config, step.zeros, bases)
        for name, module in made.items():
            yield step.after(name, module, config)
        return
    passes = pipeline(config, step.zeros, step.manner.level, step.manner.reassociate)
    for name, run in passes.items():
        step = step.after(name, run(step.module), config)
        yield step


def launch_of(last: Step, config: TmuConfig) -> Launch:
    """From the last pass's module. Raises ``CapacityError`` and ``WorkloadError``."""
    meaning, module = last.meaning, last.module
    bases = layout(meaning.specs.values(), config)
    access = AccessProgram(())
    if last.manner.coupled:
        instructions = coupled_code(module, config, bases)
        statistics = {"coupled": 1}
    else:
        code = execute_code(module, config, bases)
        (found,) = (each for each in module.body.block.ops if isinstance(each, AccessOp))
        layers = [
            layer_of(each, code.tokens, bases)
            for each in found.layers.block.ops
            if isinstance(each, LayerOp)
        ]
        access, instructions = AccessProgram(tuple(layers)), code.instructions
        statistics = {"level": last.manner.level}
    return Launch(
        last.launch,
        meaning.inputs(last.given),
        meaning.outputs,
        {**statistics, "program_words": len(instructions)},
        encode(meaning, bases, access, instructions, config),
        config.to_dict(),
        config.digest,
    )
