"""The passes from nests to DLC, or to the execute unit's program alone, on all launches at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from gnarl.hw.lib.errors import GnarlError, one_line
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.nests.coupled.pipeline import couple
from gnarl.sw.compiler.nests.execute.unroll import SHARES
from gnarl.sw.compiler.nests.scf import to_scf
from gnarl.sw.compiler.passes import AnyPass, Pass, PassResult, Search, Trace, results, states
from gnarl.sw.compiler.tmu.layout import layout
from gnarl.sw.compiler.tmu.pipeline import LEVELS, PIPELINE, ModuleOptions, PipelinePass
from gnarl.sw.compiler.tmu.record import dumped
from gnarl.sw.compiler.tmu.steps import Step

Steps = tuple[Step, ...]


@dataclass(frozen=True)
class TmuOptions:
    """What the passes are told.

    name
        what reports call the program.
    left_out
        names of passes that do not run, whatever the level.
    """

    name: str
    config: TmuConfig
    left_out: Collection[str] = ()

    def of_module(self, step: Step) -> ModuleOptions:
        """What the passes are told for one launch."""
        manner = step.manner
        return ModuleOptions(
            self.config, step.zeros, manner.level, manner.reassociate, self.left_out
        )


TmuPass = Pass[Steps, TmuOptions]
AnyTmuPass = AnyPass[Steps, TmuOptions]


def verify(module: ModuleOp) -> None:
    """Raises ``GnarlError`` for what a dialect does not allow."""
    try:
        module.verify()
    except VerifyException as error:
        raise GnarlError(one_line(error)) from error


def _check(after: Steps, options: TmuOptions) -> None:
    for each in after:
        verify(each.module)


def _texts(after: Steps, options: TmuOptions) -> dict[str, str]:
    return {"mlir": dumped(options.name, after, options.config)}


def _to_scf(first: Steps, options: TmuOptions) -> Steps:
    return tuple(
        replace(each, name="scf", module=to_scf(each.meaning.nest, each.meaning.sizes))
        for each in first
    )


def _of_module(each: PipelinePass) -> TmuPass:
    """A pass of modules on those of all launches."""

    def run(before: Steps, options: TmuOptions) -> Steps:
        return tuple(
            step.after(each.name, each.run(step.module, options.of_module(step)), options.config)
            for step in before
        )

    return Pass(
        each.name,
        each.does,
        _texts,
        run=run,
        check=_check,
        is_needed=lambda before, options: before[0].manner.level >= each.level,
        optional=each.level > min(LEVELS),
    )


SCF: TmuPass = Pass(
    "scf",
    "loops, arithmetic and memory accesses, in MLIR's own dialects",
    _texts,
    run=_to_scf,
    check=_check,
)

PASSES: tuple[TmuPass, ...] = (SCF, *map(_of_module, PIPELINE))
"""Passes of decoupled programs."""


def _scf_that_fits(first: Steps, options: TmuOptions) -> Steps:
    return _require_room(_to_scf(first, options), options)


def _require_room(after: Steps, options: TmuOptions) -> Steps:
    """Raises ``CapacityError`` where the memory has no room for arrays."""
    for each in after:
        layout(each.meaning.specs.values(), options.config)
    return after


def _couple(before: Steps, options: TmuOptions, trace: Trace) -> Iterator[Steps]:
    """All passes of each launch, until what they make fits the execute unit."""
    return zip(*(_coupled(each, options.config, trace) for each in before), strict=True)


def _coupled(first: Step, config: TmuConfig, trace: Trace) -> list[Step]:
    modules, share, code = couple(
        first.module,
        config,
        first.zeros,
        layout(first.meaning.specs.values(), config),
        "" if first.name == "scf" else first.name,
        SHARES if first.share < 0 else (first.share,),
        first.manner.reassociate,
        trace.timed,
    )
    step = replace(first, share=share, instructions=code)
    coupled = []
    for name, module in modules.items():
        step = step.after(name, module, config)
        coupled.append(step)
    return coupled or [step]


COUPLED: tuple[AnyTmuPass, ...] = (
    replace(SCF, run=_scf_that_fits),
    Search(
        (
            PassResult("hoist", "loops in another order, and out of them", _texts, check=_check),
            PassResult("vectorize", "loops in steps of a vector", _texts, check=_check),
            PassResult("keep_sums", "results in registers, loops unrolled", _texts, check=_check),
            PassResult("lower", "one loop after the other, with addresses", _texts, check=_check),
        ),
        run=_couple,
    ),
)
"""Passes of programs for the execute unit alone."""


def passes_from(step: Step, passes: Iterable[TmuPass] = PASSES) -> tuple[AnyTmuPass, ...]:
    """The passes that a launch needs yet, of ``passes`` where it is decoupled, for itself or others
    like it; before them, the one that has made it already, which is reported again."""
    if step.manner.coupled:
        return _coupled_from(step.name)
    left = list(passes)
    if not step.name:
        return tuple(left)
    order = [each.name for each in PASSES]
    done = order.index(step.name)
    later = [each for each in left if order.index(each.name) > done]
    return (_taken(PASSES[done]), *later)


def _coupled_from(done: str) -> tuple[AnyTmuPass, ...]:
    if not done:
        return COUPLED
    order = results(COUPLED)
    number = [each.name for each in order].index(done)
    left = order[number + 1 :]
    if not left:
        return (Search(order[number:], run=_couple),)
    return (_taken(order[number], _require_room), Search(left, run=_couple))


def _taken(
    done: PassResult[Steps, TmuOptions],
    checked: Callable[[Steps, TmuOptions], Steps] = lambda before, options: before,
) -> AnyTmuPass:
    """A pass that has run already: what it left is reported, and nothing is timed."""
    return Search((done,), run=lambda before, options, trace: (checked(before, options),))


def steps(first: Step, config: TmuConfig) -> Iterator[Step]:
    """What each of a launch's passes makes of it, from ``first`` on, that included.

    Raises ``WorkloadError`` naming the line that cannot be compiled, and ``CapacityError``.
    """
    options = TmuOptions(first.launch, config)
    for _, (step,) in states(passes_from(first), (first,), options, Trace()):
        yield step
