"""One way to every machine: compile for it, run on it, check what it returned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from hw.lib.errors import GnarlError, ProgramError, WorkloadError
from sw.golden.words import from_words
from sw.runtime.backend import BACKENDS, Backend
from sw.runtime.configuration import NamedConfiguration, load_configuration
from sw.runtime.program import Program
from sw.runtime.rows import Rows
from sw.runtime.stages import Stages, quiet
from sw.runtime.verify import Verification, verify
from sw.targets import Runtime

Inputs = Sequence[float] | np.ndarray | Mapping[str, float]


@dataclass(frozen=True)
class Result:
    """What a run returned.

    outputs
        float64 [k], exactly what ``words`` stand for, in the order of ``Program.output_names``.
    words
        uint32 [k], in the program's number format.
    cycles
        from start to done.
    counters
        the target's own, by name.
    """

    outputs: np.ndarray
    words: np.ndarray
    cycles: int
    counters: dict[str, int]


class Device:
    """A machine of one configuration.

    configuration
        its name or the path of its file, or one that is loaded already.
    backend
        ``rtl``, the Verilated simulator, built at the first run or taken from the cache; or
        ``model``, the interpreter of the program's instructions. Both count the same cycles.
    waves
        file for the RTL's signals, in FST format.
    stages
        told how far work is.

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
        if not isinstance(configuration, NamedConfiguration):
            configuration = load_configuration(configuration)
        self.configuration = configuration
        self.backend = backend
        self._runtime: Runtime = configuration.target.part("runtime")
        self._waves = waves
        self._stages = stages

    def workload(self, source: Any, seed: int = 0) -> Any:
        """The target's workload from a path or from what else its frontends take.

        Raises ``WorkloadError`` that names the place in it. ``seed`` is for values it lacks.
        """
        with self._stages("load"):
            return self._runtime.workload(source, seed)

    def compile(self, source: Any, **options: Any) -> Program:
        """A program for this configuration from what ``workload`` takes, or its result.

        ``options`` are the target's compiler's own, ``seed`` for one. Raises ``WorkloadError``, and
        ``CapacityError`` that names what the configuration has too little of.
        """
        workload = self.workload(source, options.get("seed", 0))
        compiler = self.configuration.target.part("compile")
        with self._stages("prepare compiler"):
            self._runtime.prepare()
        with self._stages("compile") as advance:
            return compiler(workload, self.configuration.config, progress=advance, **options)

    def run(self, program: Program, inputs: Inputs) -> Result:
        """Runs a program on values for its inputs, in their order or by name.

        Raises ``ProgramError`` if the program is for another configuration, or if the machine stops
        with an error or not at all; ``WorkloadError`` for values that are missing or no numbers.
        """
        program.require(self.configuration.config)
        leaves = self._runtime.leaf_words(program, input_values(program, inputs))
        image = self._runtime.image(program, leaves)
        wanted = self._runtime.result_rows(program)
        limit = self._runtime.cycle_limit(program)
        machine = self._machine
        with self._stages("simulate"):
            try:
                run = machine.run(image, wanted, limit)
            except GnarlError as error:
                reason = f"{program.workload}: {self.backend} {error}"
                if self.backend != "model":
                    reason += f"; {self._on_model(image)}"
                raise ProgramError(reason) from error
        words = self._runtime.outputs(program, leaves, run.memory)
        outputs = from_words(words, program.format)
        return Result(outputs, words, run.cycles, run.counters)

    def verify(self, program: Program, inputs: Inputs, result: Result) -> Verification:
        """Compares a result with the golden model, bit for bit, and with float64."""
        values = input_values(program, inputs)
        leaves = self._runtime.leaf_words(program, values)
        with self._stages("verify"):
            return verify(
                program.output_names,
                result.words,
                self._runtime.golden(program, leaves),
                result.outputs,
                self._runtime.reference(program, values),
            )

    def diagnose(self, program: Program, inputs: Inputs) -> str:
        """Why a result differs from the golden model: the first event that differs, if any.

        Runs the program again, on this device and on the model.
        """
        leaves = self._runtime.leaf_words(program, input_values(program, inputs))
        image = self._runtime.image(program, leaves)
        wanted = self._runtime.written_rows(program)
        limit = self._runtime.cycle_limit(program)
        here = self._machine.run(image, wanted, limit)
        model = BACKENDS["model"](self.configuration, None, self._stages).run(image, wanted, limit)
        event = self._runtime.first_difference(program, here.memory, model.memory)
        return event or f"{self.backend} and model store the same words: the program is wrong"

    def _on_model(self, image: Mapping[str, Rows]) -> str:
        """What the model makes of a program that the hardware stops at."""
        try:
            BACKENDS["model"](self.configuration, None, self._stages).run(image, {}, 0)
        except GnarlError as error:
            return f"model {error}"
        return "the model runs to the end"

    def close(self) -> None:
        """Ends the simulation, and completes the wave file."""
        if "_machine" in self.__dict__:
            self._machine.close()
            del self._machine

    def __enter__(self) -> Device:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @cached_property
    def _machine(self) -> Backend:
        return BACKENDS[self.backend](self.configuration, self._waves, self._stages)


def input_values(program: Program, inputs: Inputs) -> np.ndarray:
    """Values in the order of the program's inputs, float64 [n_inputs].

    Raises ``WorkloadError`` that names the first input without a number.
    """
    names = program.input_names
    if isinstance(inputs, Mapping):
        known = set(names)
        unknown = [name for name in inputs if name not in known]
        if unknown:
            raise WorkloadError(f"{program.workload}: no input is called {unknown[0]!r}")
        missing = [name for name in names if name not in inputs]
        if missing:
            raise WorkloadError(f"{program.workload}: no value for input {missing[0]}")
        inputs = [inputs[name] for name in names]
    values = np.asarray(inputs, np.float64)
    if values.shape != (len(names),):
        raise WorkloadError(
            f"{program.workload}: inputs have shape {list(values.shape)}: must be [{len(names)}]"
        )
    if np.isnan(values).any():
        at = int(np.argmax(np.isnan(values)))
        raise WorkloadError(f"{program.workload}: input {names[at]} is NaN: must be a number")
    return values
