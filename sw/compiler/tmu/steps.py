"""What the passes make of a nest, one after the other."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp

from gnarl.hw.lib.encoding.execute_isa import Instruction
from gnarl.hw.tmu.access_program import AccessProgram
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.nests.coupled.pipeline import STEPS
from gnarl.sw.compiler.nests.lane_sums import renumbered, summed_loops
from gnarl.sw.compiler.tmu.dialects.dlc import AccessOp, LayerOp, layer_of
from gnarl.sw.compiler.tmu.execute.code import execute_code
from gnarl.sw.compiler.tmu.layout import layout
from gnarl.sw.compiler.tmu.meaning import Meaning
from gnarl.sw.compiler.tmu.passes.halve_sums import halved_loops
from gnarl.sw.compiler.tmu.passes.partial_sums import loops_of_partial_sums
from gnarl.sw.compiler.tmu.pipeline import PIPELINE, SCF_PASSES
from gnarl.sw.compiler.tmu.sections import encode
from gnarl.sw.program.program import Launch
from gnarl.sw.workloads.embedding.program_tensors import Specs
from gnarl.sw.workloads.loops.ir.lane_sums import sum_by_lanes

PASSES_OF = {
    False: ("scf", *(each.name for each in PIPELINE)),
    True: ("scf", *STEPS),
}
"""Names of all passes in order, of decoupled and coupled programs."""

ANY_CONFIGURATION = ("scf", *SCF_PASSES, "decouple")
"""Passes that are the same for all configurations."""


@dataclass(frozen=True)
class Manner:
    """How nests are compiled, see ``compile.compile``."""

    level: int
    coupled: bool = False
    reassociate: bool = True


@dataclass(frozen=True)
class Step:
    """A module, made by the pass ``name``, empty before the first one.

    launch
        what reports call the launch.
    meaning
        what it computes, in its order of additions.
    given
        names of the program's inputs, among them results that are not 0 before the run.
    earlier
        names of what earlier launches of the program write.
    temporaries
        names of what is written for later launches alone.
    share
        of coupled programs, see ``couple``; -1 before it is known.
    instructions
        of coupled programs, behind the last pass.
    """

    name: str
    module: ModuleOp
    launch: str
    meaning: Meaning
    given: Collection[str]
    manner: Manner
    earlier: Collection[str] = ()
    temporaries: Collection[str] = ()
    share: int = -1
    instructions: Sequence[Instruction] = ()

    @property
    def zeros(self) -> list[str]:
        begun = {*self.given, *self.earlier}
        return [each for each in self.meaning.results if each not in begun]

    @property
    def inputs(self) -> Specs:
        """The launch's."""
        return self.meaning.inputs({*self.given, *self.earlier})

    def after(self, name: str, module: ModuleOp, config: TmuConfig) -> Step:
        """``module`` is what the pass ``name`` made of it."""
        meaning = self.meaning
        if name == "vectorize":
            loops, halved = summed_loops(module), halved_loops(module)
            nest = sum_by_lanes(meaning.nest, meaning.sizes, loops, config.lanes, halved)
            module = renumbered(module, meaning.nest, nest)
            meaning = replace(meaning, nest=nest)
        elif name == "partial_sums":
            nest = meaning.nest
            for number, count in loops_of_partial_sums(module).items():
                nest = sum_by_lanes(nest, meaning.sizes, [number], count)
            meaning = replace(meaning, nest=nest)
        return replace(self, name=name, module=module, meaning=meaning)


def first_step(launch: str, meaning: Meaning, given: Collection[str], manner: Manner) -> Step:
    """What there is of a launch before any pass: an empty module."""
    return Step("", ModuleOp([]), launch, meaning, given, manner)


def in_order(first: Sequence[Step]) -> list[Step]:
    """Orders a program's launches: each knows what those before it write."""
    ordered: list[Step] = []
    for step in first:
        written = [spec.name for each in ordered for spec in each.meaning.outputs]
        ordered.append(replace(step, earlier=tuple(dict.fromkeys(written))))
    return ordered


def launch_of(last: Step, config: TmuConfig) -> Launch:
    """The launch of the last pass's module. Raises ``CapacityError`` and ``WorkloadError``."""
    meaning, module = last.meaning, last.module
    bases = layout(meaning.specs.values(), config)
    access = AccessProgram(())
    if last.manner.coupled:
        instructions = [*last.instructions]
        statistics = {"coupled": 1}
    else:
        code = execute_code(module, config, bases)
        (access_op,) = (each for each in module.body.block.ops if isinstance(each, AccessOp))
        layers = [
            layer_of(each, code.tokens, bases)
            for each in access_op.layers.block.ops
            if isinstance(each, LayerOp)
        ]
        access, instructions = AccessProgram(tuple(layers)), code.instructions
        statistics = {"level": last.manner.level}
    return Launch(
        last.launch,
        last.inputs,
        meaning.outputs,
        {**statistics, "program_words": len(instructions)},
        encode(meaning, bases, access, instructions, config),
        config.to_dict(),
        config.digest,
    )
