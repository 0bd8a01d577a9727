"""One way to every machine: compile for it, run on it, check what it returned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnarl.hw.fpga.baud import BAUD
from gnarl.hw.lib.errors import ConfigError, GnarlError, ProgramError, WorkloadError
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.program.host_step import with_made
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.program.tensor_spec import Array, bind
from gnarl.sw.runtime.machine.board.serial_address import SerialAddress
from gnarl.sw.runtime.machine.machine import LaunchRun, Machine
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.machine.waves.wave_files import WaveFiles
from gnarl.sw.runtime.report.stages import Stages, quiet
from gnarl.sw.runtime.report.verify import Verification
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from gnarl.sw.runtime.target.presenter import Presenter
from gnarl.sw.runtime.target.unsupported import unsupported

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Device:
    """A machine of one configuration.

    configuration
        its name or the path of its file, or one that is loaded already.
    backend
        one of its target's: ``rtl``, the Verilated simulator, built at the first run or taken from
        the cache; ``model``, the interpreter of the program; ``cuda``, a GPU; ``emulation``, of a
        GPU on the CPU. By default the target's choice. The models of a DPU and of SAM count
        the RTL's cycles. ``fpga``, a board with the configuration's bitstream.
    waves
        file for the RTL's signals, in FST format. Beside ``x.fst``, ``x.gtkw`` for GTKWave and
        ``x.sucl`` for Surfer say which of them viewers show first; a ``.saif`` file has how often
        signals change, and no views.
    port, baud
        of backend ``fpga``: the board's serial port, e.g. ``/dev/ttyUSB0``, and its bits a second,
        if it is built for others than usual.
    stages
        called with the progress of work.

    Close it, or use it in a ``with`` block, so that waves are complete. Raises ``ConfigError`` for
    a backend that the target does not have, and for ``fpga`` without a port or another with one.
    """

    def __init__(
        self,
        configuration: str | Path | NamedConfiguration,
        backend: str | None = None,
        *,
        waves: Path | WaveFiles | None = None,
        port: str | None = None,
        baud: int | None = None,
        stages: Stages = quiet,
    ) -> None:
        if not isinstance(configuration, NamedConfiguration):
            configuration = load_configuration(configuration)
        self.configuration = configuration
        self.target = configuration.target
        with stages("start"):
            self.backend = backend or self.target.executor.default_backend()
        if self.backend not in self.target.executor.backends:
            raise ConfigError(
                [
                    f"backend {backend}: target {self.target.name} runs on "
                    f"{' or '.join(self.target.executor.backends)}"
                ]
            )
        self._waves: WaveFiles | None = (
            WaveFiles.beside(waves) if isinstance(waves, Path) else waves
        )
        self._port = _address(self.backend, port, baud)
        self.stages = stages
        self._machines: dict[str, Machine[Any]] = {}
        self._last: Result[Any] | None = None

    def workload(self, source: Any, seed: int = 0) -> Any:
        """The target's workload from a path or from what else its frontends take.

        Raises ``WorkloadError`` that names the place in it. ``seed`` is for values it lacks.
        """
        with self.stages("load"):
            return self.target.reader.workload(source, seed)

    def compile(
        self, source: Any, *, seed: int = 0, trace: Trace | None = None, **options: Any
    ) -> Program:
        """A program for this configuration from what ``workload`` takes, or its result.

        trace
            observer of the compiler's passes.
        options
            the target's compiler's own.

        Raises ``WorkloadError``, and ``CapacityError`` that names what the configuration has too
        little of.
        """
        return self.compile_workload(self.workload(source, seed), seed=seed, trace=trace, **options)

    def compile_workload(
        self, workload: Any, *, seed: int = 0, trace: Trace | None = None, **options: Any
    ) -> Program:
        """The program of what ``workload`` gave, see ``compile``."""
        with self.stages("prepare compiler"):
            self.target.compiler.warm_up()
        with self.stages("compile") as advance:
            trace = trace or Trace()
            trace.progress = advance
            return self.target.compiler.compile(
                workload, self.configuration.config, seed=seed, trace=trace, **options
            )

    def run(
        self,
        program: Program,
        inputs: Any,
        *,
        max_cycles: int | None = None,
        sampled: bool = False,
        **options: Any,
    ) -> Result[Any]:
        """Runs all launches of a program.

        inputs
            arrays by name, or any other form that the target takes.
        max_cycles
            a launch that takes more is an error; by default what no right program takes, which the
            target knows from the program and its inputs. Not for CUDA.
        sampled
            whether counters that pictures need are read in the course of the run, where hardware
            is simulated. The run takes as many cycles.
        options
            the target's own for runs.

        The result's program is the one that ran: what a target lowers for shapes is lowered here.
        Raises ``ProgramError`` if the program is for another configuration, or if the machine stops
        with an error or not at all; ``WorkloadError`` for values that are missing or do not fit;
        ``CapacityError`` for shapes that this configuration has no room for.
        """
        self.configuration.require(program)
        self._last = None
        if max_cycles is not None and max_cycles < 1:
            raise WorkloadError(f"max_cycles = {max_cycles}: must be at least 1")
        config = self.configuration.config
        program = self.target.compiler.lowered(program, inputs, config, self.stages)
        with self.stages("bind"):
            tensors = self.target.executor.bind(program, inputs)
            sizes = bind(program.inputs, tensors)
        known = self._with_made(program, tensors)
        runs = []
        for launch in program.launches:
            launch_inputs = {spec.name: known[spec.name] for spec in launch.inputs}
            with self.stages("bind"):
                sizes = bind(launch.inputs, launch_inputs, sizes)
                job = self._job(program, launch, launch_inputs, max_cycles, options)
                if sampled:
                    job = self.target.executor.sampled(job)
            run = self._launch(program, launch, launch_inputs, job)
            known = self._with_made(program, {**known, **run.finished.outputs})
            runs.append(run)
        outputs = {spec.name: known[spec.name] for spec in program.outputs}
        bind(program.outputs, outputs, sizes)
        plotter = partial(_plot, self.target.presenter, self.configuration.name)
        self._last = Result(program, tensors, outputs, tuple(runs), plotter)
        return self._last

    def verify(self, result: Result[Any]) -> Verification:
        """Compares a result with the golden model, bit for bit, and with float64: its fields
        ``lost`` and ``not_finite`` count outputs that are 0, infinite or NaN.

        If they differ, the text also says where the last launch left the model, where the target
        can tell and the machines have run nothing since.
        """
        with self.stages("verify"):
            program = result.program
            verification = self.target.executor.verify(program, result.tensors, result.outputs)
            if not verification.difference or result is not self._last:
                return verification
            run = result.launches[-1]
            machine = self._machine(program, run.launch)
            reason = self.target.executor.diagnose(self.hardware(program, run.launch), run, machine)
            return replace(
                verification, difference="; ".join(filter(None, [verification.difference, reason]))
            )

    def hardware(self, program: Program, launch: Launch | None = None) -> NamedConfiguration:
        """The hardware that a launch, by default the first, runs on.

        It is this device's configuration, with what the program fills in.
        """
        launch = launch or program.launches[0]
        own = self.configuration.config
        brings_its_own = self.target.compiler.filled_in or launch.digest != program.digest
        if launch.digest == own.digest or not brings_its_own:
            return self.configuration
        config = type(own).from_dict(dict(launch.config))
        return replace(self.configuration, config=config)

    def one_hardware(self, program: Program) -> NamedConfiguration:
        """The hardware that all of a program's launches run on.

        Raises ``WorkloadError`` if they do not share one.
        """
        machines = [self.hardware(program, launch) for launch in program.launches]
        if len({machine.config.digest for machine in machines}) > 1:
            raise WorkloadError(
                f"its {len(machines)} launches have hardware of their own: must have one machine, "
                "as a single expression or graph has"
            )
        return machines[0]

    def close(self) -> None:
        """Ends all machines, and completes the wave file and its views."""
        self._last = None
        with self.stages("close"):
            units = self.target.executor.units if self._machines else None
            while self._machines:
                self._machines.popitem()[1].close()
            if self._waves is not None and units is not None:
                self._waves.write_views(units)

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _with_made(self, program: Program, known: Mapping[str, Array]) -> dict[str, Array]:
        if not program.steps:
            return dict(known)
        with self.stages("move elements"):
            return with_made(program.steps, known, self.target.executor.made)

    def _job(
        self,
        program: Program,
        launch: Launch,
        tensors: Mapping[str, Array],
        max_cycles: int | None,
        options: Mapping[str, Any],
    ) -> Any:
        executor = self.target.executor
        job = executor.job(program, launch, tensors, **options)
        with self.stages("simulate"):  # by which some targets check and limit it: their model
            executor.check(job)
            if max_cycles is not None and not executor.limits_cycles:
                raise unsupported(f"--max-cycles {max_cycles}", self.target.name)
            return executor.limited(job, max_cycles)

    def _launch(
        self, program: Program, launch: Launch, tensors: Mapping[str, Array], job: Any
    ) -> LaunchRun[Any]:
        machine = self._machine(program, launch)
        place, stage = program.workload, "simulate"
        if len(program.launches) > 1:
            place, stage = f"{place}, launch {launch.name}", f"{stage} {launch.name}"
        with self.stages(stage):
            try:
                machine.load(job)
                machine.start()
                machine.wait()
            except WorkloadError:
                raise
            except GnarlError as error:
                cause = self.target.executor.cause(program, tensors)
                text = "; ".join(filter(None, [f"{place}: {self.backend} {error}", cause]))
                raise ProgramError(text) from error
            return LaunchRun(launch, job, machine.read())

    def _machine(self, program: Program, launch: Launch) -> Machine[Any]:
        hardware = self.hardware(program, launch)
        digest = hardware.config.digest
        if digest not in self._machines:
            for name, value in (("waves", self._waves), ("port", self._port)):
                if value is not None and self._machines:
                    raise ConfigError(
                        [f"{name}: not supported where launches have different hardware"]
                    )
            self._machines[digest] = self.target.executor.machine(
                hardware,
                self.backend,
                waves=None if self._waves is None else self._waves.trace,
                port=self._port,
                stages=self.stages,
            )
        return self._machines[digest]


def run_name(workload: str, config: str) -> str:
    """What ran where, for titles. No numbers: what a picture shows may be another run's, the
    model's."""
    # Names of files may have bytes that are no characters, which pictures cannot show.
    return f"{workload} on {config}".encode(errors="replace").decode()


def _plot(presenter: Presenter[Any], config: str, result: Result[Any], axes: Axes | None) -> Figure:
    program = result.program
    return presenter.plot(program, result, run_name(program.workload, config), axes)


def _address(backend: str, port: str | None, baud: int | None) -> SerialAddress | None:
    """The address of the board. Raises ``ConfigError`` where one is needed or given in vain."""
    if backend == "fpga":
        if port is None:
            raise ConfigError(
                ["backend fpga: a port must be given, the board's, such as /dev/ttyUSB0"]
            )
        return SerialAddress(port, BAUD if baud is None else baud)
    for name, value in (("port", port), ("baud", baud)):
        if value is not None:
            raise ConfigError(
                [f"{name} {value}: only for backend fpga: with {backend} must be left out"]
            )
    return None
