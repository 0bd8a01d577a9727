"""One run from a file to its report: what ``gnarl run`` does."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.program.archive import is_archive, is_sparse_matrix
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.machine.waves.wave_files import WaveFiles, whole_wave_files
from gnarl.sw.runtime.report.output_files import check_output_path, save_outputs
from gnarl.sw.runtime.report.output_summary import summarise
from gnarl.sw.runtime.report.report import Report
from gnarl.sw.runtime.report.source_lines import SourceLines
from gnarl.sw.runtime.report.stages import Stages, TimedStages, quiet
from gnarl.sw.runtime.report.vanished import vanished
from gnarl.sw.runtime.report.verify import Verification
from gnarl.sw.runtime.run.device import Device, run_name
from gnarl.sw.runtime.run.programs import load_program
from gnarl.sw.runtime.target.configuration import NamedConfiguration
from gnarl.sw.runtime.target.contract import AnyTarget
from gnarl.sw.runtime.target.reader import RunArguments


def run_once(
    configuration: NamedConfiguration,
    source: str,
    *,
    backend: str | None = None,
    values: Path | None = None,
    tensors: Mapping[str, str] = {},
    sizes: Mapping[str, int] = {},
    seed: int = 0,
    options: Mapping[str, Any] = {},
    max_cycles: int | None = None,
    waves: Path | None = None,
    port: str | None = None,
    baud: int | None = None,
    timeline: Path | None = None,
    lines: bool = False,
    output: Path | None = None,
    stages: Stages = quiet,
    begun: float | None = None,
) -> Report:
    """Runs a workload, or a program's file, and compares the result with the golden model.

    source
        path of a workload or program, or what else the target takes: an expression.
    backend
        one of the target's.
    values, tensors
        file of input values, files of tensors by name; without, the inputs are those of the
        workload, which a program does not have.
    sizes
        of loop nests, by name: those that no array has.
    options
        the target's own, of compilers and runs.
    max_cycles
        see ``Device.run``.
    port, baud
        of the board, for backend ``fpga``.
    lines
        whether the report says which lines of the source the cycles went to.
    waves, timeline, output
        files to write, each whole or not at all; ``waves``: and its views, see ``Device``;
        ``output``: see ``save_outputs``.
    begun
        when the work began of which this is the rest, see ``TimedStages``.

    Raises ``GnarlError`` for bad input of any kind.
    """
    timed = TimedStages(stages, begun)
    target = configuration.target
    with ExitStack() as stack:
        files: WaveFiles | None = None
        if waves is not None:
            files = stack.enter_context(whole_wave_files(waves))
        device = stack.enter_context(
            Device(configuration, backend, waves=files, port=port, baud=baud, stages=timed)
        )
        session = Session(
            device,
            source,
            values=values,
            tensors=tensors,
            sizes=sizes,
            seed=seed,
            options=options,
            max_cycles=max_cycles,
        )
        if output is not None:
            check_output_path(output, session.program.outputs)
        result = session.run(sampled=timeline is not None)
        report = session.report(result, device.verify(result), timed.seconds, lines=lines)
    if timeline is not None:
        with timed("draw"):
            name = run_name(report.workload, report.config)
            target.presenter.draw(result.program, result, name, timeline)
    if output is not None:
        with timed("write"):
            save_outputs(output, result.program.outputs, result.outputs)
    return report


class Session:
    """A workload compiled for a device, or a program's file, and its runs; arguments are those of
    ``run_once``.

    program
        what runs.

    Raises ``GnarlError`` for bad input of any kind.
    """

    def __init__(
        self,
        device: Device,
        source: str,
        *,
        values: Path | None = None,
        tensors: Mapping[str, str] = {},
        sizes: Mapping[str, int] = {},
        seed: int = 0,
        options: Mapping[str, Any] = {},
        max_cycles: int | None = None,
    ) -> None:
        self._device, self._values, self._tensors, self._seed = device, values, tensors, seed
        self._sizes, self._max_cycles = sizes, max_cycles
        target = device.target
        compile_options, self._options = (
            _options_of(target, command, options) for command in ("compile", "run")
        )
        self._workload = None
        if is_program(source):
            for each in target.command_line.options:
                if each.name in compile_options and each.name not in target.compiler.changeable:
                    raise WorkloadError(
                        f"{each.flag}: {source} is compiled already: must be left out"
                    )
            with device.stages("load"):
                self.program = load_program(source, device.configuration)
            if compile_options:
                with device.stages("compile"):
                    config = device.configuration.config
                    self.program = target.compiler.changed(self.program, config, **compile_options)
        else:
            with device.stages("load"):
                self._workload = read_workload(
                    target, source, values=values, tensors=tensors, sizes=sizes, seed=seed
                )
            self.program = device.compile_workload(self._workload, seed=seed, **compile_options)

    def run(self, *, sampled: bool = False) -> Result[Any]:
        """Runs the program once. ``sampled``: see ``Device.run``."""
        reader, program = self._device.target.reader, self.program
        arguments = RunArguments(self._values, self._tensors, self._seed, self._options)
        with self._device.stages("load"):
            self._given = reader.inputs(program, self._workload, arguments)
            self._made_up = reader.made_up(program, self._workload, arguments)
            if self._workload is None:
                self._given = reader.sized_inputs(program, self._given, self._sizes)
        return self._device.run(
            self.program,
            self._given,
            max_cycles=self._max_cycles,
            sampled=sampled,
            **self._options,
        )

    def report(
        self,
        result: Result[Any],
        verification: Verification,
        seconds: Mapping[str, float],
        *,
        lines: bool = False,
    ) -> Report:
        """A report on the last run. ``seconds``: of stages, by name; ``lines``: as ``run_once`` has
        it."""
        by_line = None
        if lines:
            with self._device.stages("lines"):
                by_line = self._device.target.presenter.source_lines(result.program, result)
        with self._device.stages("report"):
            return self._report(result, verification, seconds, by_line)

    def _report(
        self,
        result: Result[Any],
        verification: Verification,
        seconds: Mapping[str, float],
        lines: SourceLines | None,
    ) -> Report:
        device, program = self._device, result.program
        target, configuration = device.target, device.configuration
        return Report(
            config=configuration.name,
            target=target.name,
            workload=program.workload,
            backend=device.backend,
            digest=device.hardware(program).config.digest,
            overrides=configuration.overrides,
            cycles=result.cycles,
            counters=result.counters,
            figures=target.presenter.figures(program, result),
            verification=verification,
            outputs=summarise(program.outputs, result.outputs),
            launches={run.launch.name: run.finished for run in result.launches},
            vanished=vanished(target.executor.given(program, self._given)),
            seconds=seconds,
            made_up=self._made_up,
            note=target.presenter.note(device.backend),
            lines=lines,
        )


def read_workload(
    target: AnyTarget,
    source: str,
    *,
    values: Path | None = None,
    tensors: Mapping[str, str] = {},
    sizes: Mapping[str, int] = {},
    seed: int = 0,
) -> Any:
    """What a target's compiler takes, for the arguments of ``run_once``.

    Raises ``WorkloadError`` that names the file, and the place in it.
    """
    reader = target.reader
    sized = reader.sized_source(reader.source(source, tensors), sizes)
    workload = reader.workload(sized, seed)
    return workload if values is None else reader.valued(workload, values)


def is_program(source: str) -> bool:
    """Whether a file is a program rather than a workload, or says that it is one."""
    if os.path.isfile(source):
        return is_archive(source) or (source.endswith(".npz") and not is_sparse_matrix(source))
    return source.endswith(".npz")


def _options_of(target: AnyTarget, command: str, given: Mapping[str, Any]) -> dict[str, Any]:
    names = {each.name for each in target.command_line.options if command in each.commands}
    return {name: value for name, value in given.items() if name in names}
