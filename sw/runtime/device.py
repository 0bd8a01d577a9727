"""One way to every machine: compile for it, run on it, check what it returned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from hw.lib.errors import ConfigError, GnarlError, ProgramError
from sw.golden.words import from_words
from sw.program.program import Program
from sw.program.rows import Rows
from sw.runtime.backend import BACKENDS, Backend
from sw.runtime.compiling import Compiling
from sw.runtime.configuration import NamedConfiguration
from sw.runtime.result import Result
from sw.runtime.stages import Stages, quiet
from sw.runtime.verify import Verification
from sw.targets import Runtime


class Device(Compiling):
    """A machine of one configuration, behind the common host port.

    configuration
        its name or the path of its file, or one that is loaded already.
    backend
        ``rtl``, the Verilated simulator, built at the first run or taken from the cache; or
        ``model``, the interpreter of the program. Both count the same cycles on a DPU; on SAM the
        model leaves some things out, see ``sw.runtime.sam.model.timing``.
    waves
        file for the RTL's signals, in FST format.
    stages
        told how far work is.

    Raises ``ConfigError`` for targets that are not behind the host port.

    Close it, or use it in a ``with`` block, so that waves are complete.
    """

    def __init__(
        self,
        configuration: str | Path | NamedConfiguration,
        backend: str = "rtl",
        *,
        waves: Path | None = None,
        stages: Stages = quiet,
    ) -> None:
        if backend not in BACKENDS:
            raise ValueError(f"no backend {backend!r}; there are {', '.join(BACKENDS)}")
        super().__init__(configuration, stages=stages)
        target = self.configuration.target
        if not target.build:
            raise ConfigError(
                [
                    f"{self.configuration.name}: target {target.name} has no host port: "
                    f"its devices are in {target.run.rpartition('.')[0]}"
                ]
            )
        self.backend = backend
        self._runtime: Runtime = self.configuration.target.part("runtime")
        self._waves = waves
        self._machines: dict[str, Backend] = {}

    def run(self, program: Program, inputs: Any) -> Result:
        """Runs a program on inputs in any form that its target takes: values in order or by name.

        Raises ``ProgramError`` if the program is for another configuration, or if the machine stops
        with an error or not at all; ``WorkloadError`` for values that are missing or no numbers.
        """
        program.require(self.configuration.config)
        operands = self._runtime.operands(program, inputs)
        image = self._runtime.image(program, operands)
        limit = self._runtime.cycle_limit(program)
        machine = self._machine(program)
        with self._stages("simulate"):
            try:
                run = machine.run(image, partial(self._runtime.result_rows, program), limit)
            except GnarlError as error:
                reason = f"{program.workload}: {self.backend} {error}"
                if self.backend != "model":
                    reason += f"; {self._on_model(program, image)}"
                raise ProgramError(reason) from error
        found = self._runtime.outputs(program, operands, run.memory)
        outputs = from_words(found.words, program.format)
        return Result(found.names, outputs, found.words, run.cycles, run.counters)

    def verify(self, program: Program, inputs: Any, result: Result) -> Verification:
        """Compares a result with the golden model, bit for bit, and with float64."""
        with self._stages("verify"):
            return self._runtime.verify(program, inputs, result)

    def diagnose(self, program: Program, inputs: Any) -> str:
        """Why a result differs from the golden model: the first event that differs, if any.

        Runs the program again, on this device and on the model.
        """
        image = self._runtime.image(program, self._runtime.operands(program, inputs))
        wanted = partial(self._runtime.written_rows, program)
        limit = self._runtime.cycle_limit(program)
        here = self._machine(program).run(image, wanted, limit)
        model = self._model(program).run(image, wanted, limit)
        event = self._runtime.first_difference(program, here.memory, model.memory)
        return event or f"{self.backend} and model store the same words: the program is wrong"

    def _on_model(self, program: Program, image: Mapping[str, Rows]) -> str:
        """What the model makes of a program that the hardware stops at."""
        try:
            self._model(program).run(image, lambda counters: {}, 0)
        except GnarlError as error:
            return f"model {error}"
        return "the model runs to the end"

    def close(self) -> None:
        """Ends the simulation, and completes the wave file."""
        while self._machines:
            self._machines.popitem()[1].close()

    def __enter__(self) -> Device:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def hardware(self, program: Program) -> NamedConfiguration:
        """This configuration, with what a program fills in: that of the hardware that runs it."""
        if not self.configuration.target.filled_in:
            return self.configuration
        config = type(self.configuration.config).from_dict(program.config)
        return replace(self.configuration, config=config)

    def _machine(self, program: Program) -> Backend:
        hardware = self.hardware(program)
        digest = hardware.config.digest
        if digest not in self._machines:
            make = BACKENDS[self.backend]
            self._machines[digest] = make(hardware, self._waves, self._stages)
        return self._machines[digest]

    def _model(self, program: Program) -> Backend:
        return BACKENDS["model"](self.hardware(program), None, self._stages)
