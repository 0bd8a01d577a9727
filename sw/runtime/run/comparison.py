"""One workload on several configurations: what ``gnarl compare`` does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gnarl.hw.lib.errors import CapacityError, ProgramError, WorkloadError
from gnarl.sw.program.tensor_spec import Array, TensorSpec
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.report.report import Report
from gnarl.sw.runtime.report.stages import Stages, TimedStages, quiet
from gnarl.sw.runtime.report.verify import Verification, compare_closely
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.run.session import Session, is_program
from gnarl.sw.runtime.target.configuration import NamedConfiguration


@dataclass(frozen=True)
class Comparison:
    """Runs of one workload, in the order of the configurations.

    The first one's golden model gave the results that all are compared with.
    """

    reports: Sequence[Report]

    @property
    def matches(self) -> bool:
        return all(report.matches for report in self.reports)


@dataclass(frozen=True)
class _Run:
    """One configuration's part."""

    configuration: NamedConfiguration
    device: Device
    session: Session
    timed: TimedStages

    def golden(self, result: Result[Any]) -> tuple[Mapping[str, Array], Mapping[str, Array]]:
        """What the results must be, and the same in float64."""
        executor, arguments = self.device.target.executor, (result.program, result.tensors)
        with self.timed("verify"):
            return executor.golden(*arguments), executor.reference(*arguments)


def run_all(
    configurations: Sequence[NamedConfiguration],
    source: str,
    *,
    backends: Sequence[str] = (),
    values: Path | None = None,
    tensors: Mapping[str, str] = {},
    sizes: Mapping[str, int] = {},
    seed: int = 0,
    options: Mapping[str, Any] = {},
    max_cycles: int | None = None,
    stages: Stages = quiet,
    begun: float | None = None,
) -> Comparison:
    """Runs a workload on every configuration, after compiling it for all of them.

    Results are compared with the golden model of the first configuration, see
    ``gnarl.sw.runtime.report.verify.compare_closely``; besides, each target's own model must find
    them right, which adds up in that target's order.

    backends
        each configuration runs on the first of them that its target has, or else on its target's
        default.
    options
        of targets: each takes its own.
    max_cycles
        of targets that limit them.
    begun
        when the work began of which this is the rest; what was before is in the first report.

    Other arguments are those of ``gnarl.sw.runtime.run.session.run_once``. Raises ``GnarlError``
    that begins with the name of the configuration that does not run the workload.
    """
    if is_program(source):
        raise WorkloadError(f"{source}: is compiled already: must be a workload")
    with ExitStack() as stack:
        runs: list[_Run] = []
        for configuration in configurations:
            timed = TimedStages(_Named(stages, configuration.name), None if runs else begun)
            with _blamed(configuration):
                executor = configuration.target.executor
                backend = next((each for each in backends if each in executor.backends), None)
                device = stack.enter_context(Device(configuration, backend, stages=timed))
                session = Session(
                    device,
                    source,
                    values=values,
                    tensors=tensors,
                    sizes=sizes,
                    seed=seed,
                    options=options,
                    max_cycles=max_cycles if executor.limits_cycles else None,
                )
                runs.append(_Run(configuration, device, session, timed))
        return Comparison(_reports(runs))


def _reports(runs: Sequence[_Run]) -> list[Report]:
    reports = []
    for at, run in enumerate(runs):
        with _blamed(run.configuration):
            result = run.session.run()
            verification = run.device.verify(result)
            if not at:
                golden, reference = run.golden(result)
                first = result.outputs
            elif not verification.difference:
                with run.timed("verify"):
                    _require_same(result.program.outputs, result.outputs, first, runs[0])
                    verification = _closely(run, result, golden, reference, runs[0])
            reports.append(run.session.report(result, verification, run.timed.seconds))
    return reports


def _closely(
    run: _Run,
    result: Result[Any],
    golden: Mapping[str, Array],
    reference: Mapping[str, Array],
    first: _Run,
) -> Verification:
    outputs, types = result.program.outputs, first.session.program.outputs
    verification = compare_closely(outputs, types, result.outputs, golden, reference)
    if not verification.difference:
        return verification
    name = first.configuration.name
    return replace(
        verification, difference=f"{verification.difference}, by the golden model of {name}"
    )


def _require_same(
    specs: Sequence[TensorSpec],
    outputs: Mapping[str, Array],
    wanted: Mapping[str, Array],
    first: _Run,
) -> None:
    """Raises ``WorkloadError`` for results of other names or shapes: of another workload."""
    here, there = (
        {name: tuple(array.shape) for name, array in each.items()} for each in (outputs, wanted)
    )
    if here != there:
        raise WorkloadError(
            f"results are {_shown(here)}: must be those of {first.configuration.name}, "
            f"{_shown(there)}"
        )


def _shown(shapes: Mapping[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{name} {list(shape)}" for name, shape in sorted(shapes.items()))


@contextmanager
def _blamed(configuration: NamedConfiguration) -> Iterator[None]:
    """Errors begin with the configuration's name."""
    try:
        yield
    except (WorkloadError, ProgramError, CapacityError) as error:
        raise type(error)(f"{configuration.name}: {error}") from error


class _Named:
    """Stages that show whose they are."""

    def __init__(self, stages: Stages, owner: str) -> None:
        self._stages, self._owner = stages, owner

    def __call__(self, name: str) -> AbstractContextManager[Callable[[float], None]]:
        return self._stages(f"{self._owner}: {name}")
