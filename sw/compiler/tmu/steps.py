"""What the passes make of a nest, one after the other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp

from gnarl.hw.lib.encoding.execute_isa import Instruction
from gnarl.hw.tmu.access_program import AccessProgram
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.nests.coupled.pipeline import STEPS, couple
from gnarl.sw.compiler.nests.execute.unroll import SHARES
from gnarl.sw.compiler.nests.lane_sums import renumbered, summed_loops
from gnarl.sw.compiler.nests.scf import to_scf
from gnarl.sw.compiler.tmu.dialects.dlc import AccessOp, LayerOp, layer_of
from gnarl.sw.compiler.tmu.execute.code import execute_code
from gnarl.sw.compiler.tmu.layout import layout
from gnarl.sw.compiler.tmu.meaning import Meaning
from gnarl.sw.compiler.tmu.passes.halve_sums import halved_loops
from gnarl.sw.compiler.tmu.passes.partial_sums import loops_of_partial_sums
from gnarl.sw.compiler.tmu.pipeline import LEVELS, SCF_PASSES, pipeline
from gnarl.sw.compiler.tmu.sections import encode
from gnarl.sw.program.program import Launch
from gnarl.sw.workloads.embedding.program_tensors import Specs
from gnarl.sw.workloads.loops.ir.lane_sums import sum_by_lanes

PASSES_OF = {
    False: ("scf", *pipeline(TmuConfig(), (), max(LEVELS))),
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
    """A module, made by the pass ``name``.

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
    module = to_scf(meaning.nest, meaning.sizes)
    return Step("scf", module, launch, meaning, given, manner)


def in_order(first: Sequence[Step]) -> list[Step]:
    """Orders a program's launches: each knows what those before it write."""
    ordered: list[Step] = []
    for step in first:
        written = [spec.name for each in ordered for spec in each.meaning.outputs]
        ordered.append(replace(step, earlier=tuple(dict.fromkeys(written))))
    return ordered


def steps(first: Step, config: TmuConfig) -> Iterator[Step]:
    """``first``, and what the passes after it make of it.

    Raises ``WorkloadError`` naming the line that cannot be compiled, and ``CapacityError``.
    """
    step = first
    if step.manner.coupled:
        yield from _coupled_steps(first, config)
        return
    yield step
    manner, order = step.manner, PASSES_OF[False]
    passes = pipeline(config, step.zeros, manner.level, manner.reassociate)
    for name, run in passes.items():
        if order.index(name) > order.index(first.name):
            step = step.after(name, run(step.module), config)
            yield step


def _coupled_steps(first: Step, config: TmuConfig) -> Iterator[Step]:
    bases = layout(first.meaning.specs.values(), config)
    done = "" if first.name == "scf" else first.name
    shares = SHARES if first.share < 0 else (first.share,)
    if first.name != PASSES_OF[True][-1]:
        yield first
    modules, share, code = couple(
        first.module, config, first.zeros, bases, done, shares, first.manner.reassociate
    )
    step = replace(first, share=share, instructions=code)
    if not modules:
        yield step
    for name, module in modules.items():
        step = step.after(name, module, config)
        yield step


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
