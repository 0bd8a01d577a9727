"""What executes on machines behind the common host port."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, cast

import numpy as np

from gnarl.hw.lib.errors import ConfigError
from gnarl.hw.lib.machine.memory_map import NO_LIMIT, MemoryMap
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.program.rows import MachineRun, Rows, Wanted
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.machine.board.serial_address import SerialAddress
from gnarl.sw.runtime.machine.host import HostError
from gnarl.sw.runtime.machine.host_machine import (
    HostJob,
    HostMachine,
    ModelMachine,
    OperandsT,
    on_model,
)
from gnarl.sw.runtime.machine.machine import LaunchRun, Machine
from gnarl.sw.runtime.machine.waves.view import Unit
from gnarl.sw.runtime.report.stages import Stages
from gnarl.sw.runtime.target.compiler import ConfigT
from gnarl.sw.runtime.target.executor import Executor
from gnarl.sw.runtime.target.generator import Generator, Hardware


class HostExecutor(Executor[ConfigT, HostJob[OperandsT]], Generic[ConfigT, OperandsT]):
    """An executor on generated hardware with the host port of ``gnarl.hw.lib.machine.host``."""

    backends: ClassVar[tuple[str, ...]] = ("rtl", "fpga", "model")
    limits_cycles: ClassVar[bool] = True
    generator: Generator[ConfigT]

    @property
    def units(self) -> Sequence[Unit]:
        return self.generator.units

    @abstractmethod
    def memory_map(self, config: ConfigT) -> MemoryMap:
        """Windows, counters and causes of errors behind the host port."""

    @abstractmethod
    def model(self, config: ConfigT, job: HostJob[OperandsT], wanted: Wanted) -> MachineRun:
        """Runs ``job.image`` on an interpreter of the binary; ``wanted`` rows at the end.

        Raises ``GnarlError`` where the hardware would stop with an error; ``CycleLimitError`` where
        ``job.max_cycles`` are not enough, for what the model knows of cycles. Its work and its
        memory are bounded by them, too.
        """

    def operands(self, launch: Launch, tensors: Mapping[str, Array]) -> OperandsT:
        """What ``image`` needs of the launch's inputs; checks them. Raises ``WorkloadError``.

        By default the arrays themselves, by name.
        """
        return cast(OperandsT, tensors)

    @abstractmethod
    def image(self, launch: Launch, operands: OperandsT) -> Mapping[str, Rows]:
        """What to write to the machine's memories, by window."""

    @abstractmethod
    def result_rows(self, launch: Launch, counters: Mapping[str, int]) -> Mapping[str, np.ndarray]:
        """Rows that hold outputs after a run, by window: int [n], ascending."""

    @abstractmethod
    def outputs(
        self, launch: Launch, operands: OperandsT, memory: Mapping[str, Rows]
    ) -> Mapping[str, Array]:
        """The outputs in those rows."""

    def cycle_limit(self, job: HostJob[OperandsT]) -> int:
        """Cycles after which a run that has not ended never will; by default it always ends."""
        return NO_LIMIT

    def limited(self, job: HostJob[OperandsT], max_cycles: int | None) -> HostJob[OperandsT]:
        return replace(job, max_cycles=max_cycles or min(self.cycle_limit(job), NO_LIMIT))

    def drawn_counters(self, launch: Launch) -> Sequence[str]:
        """Counters that a picture needs in the course of a run; by default none."""
        return ()

    def sampled(self, job: HostJob[OperandsT]) -> HostJob[OperandsT]:
        return replace(job, sampled=self.drawn_counters(job.launch))

    def written_rows(self, launch: Launch, counters: Mapping[str, int]) -> Mapping[str, np.ndarray]:
        """Rows that the launch writes to, by window: int [n], ascending."""
        return self.result_rows(launch, counters)

    def volatile_rows(self, launch: Launch) -> Mapping[str, np.ndarray] | None:
        """Rows that a run may leave changed, by window, known before it; ``None``: any."""
        return None

    def first_difference(
        self, launch: Launch, found: Mapping[str, Rows], model: Mapping[str, Rows]
    ) -> str | None:
        """The first event after which the written rows differ, in words; ``None`` if they don't."""
        for window, rows in found.items():
            other = model[window]
            if len(rows.numbers) != len(other.numbers):
                return (
                    f"{window} has {len(rows.numbers)} rows, the model writes {len(other.numbers)}"
                )
            wrong = np.argwhere(rows.words != other.words)
            if len(wrong):
                row, word = wrong[0].tolist()
                return (
                    f"{window}[{rows.numbers[row]}, {word}] is {rows.words[row, word]:#x}, the "
                    f"model writes {other.words[row, word]:#x}"
                )
        return None

    def job(
        self, program: Program, launch: Launch, tensors: Mapping[str, Array], **options: Any
    ) -> HostJob[OperandsT]:
        operands = self.operands(launch, tensors)
        return HostJob(launch, operands, self.image(launch, operands), program=program)

    def model_machine(self, config: ConfigT) -> ModelMachine[OperandsT]:
        """What stands in for the hardware; by default each run is on its own."""
        return ModelMachine(self, config)

    def machine(
        self,
        hardware: Hardware[ConfigT],
        backend: str,
        *,
        waves: Path | None,
        port: SerialAddress | None,
        stages: Stages,
    ) -> Machine[HostJob[OperandsT]]:
        if waves is not None and backend != "rtl":
            raise ConfigError([f"waves: backend {backend} shows no signals: must be left out"])
        if backend == "model":
            return self.model_machine(hardware.config)
        if port is not None:
            with stages("connect to board"):
                return self._on_board(hardware.config, port)
        from gnarl.sw.runtime.machine.simulator import Simulator
        from gnarl.sw.runtime.target.verilog import module_name, verilog

        with stages("generate Verilog"):
            text = verilog(hardware)
        with stages("build simulator"):
            simulator = Simulator(text, module_name(hardware), wave=waves)
        return HostMachine(self, hardware.config, simulator, simulator.close)

    def _on_board(self, config: ConfigT, port: SerialAddress) -> HostMachine[OperandsT]:
        from gnarl.sw.runtime.machine.board.frame_port import LinkError
        from gnarl.sw.runtime.machine.board.serial_port import SerialPort

        board = SerialPort(*port)
        try:
            machine = HostMachine(self, config, board, board.close)
            # An earlier host may have left it in the middle of a run.
            machine.driver.stop()
            machine.driver.clear()
        except BaseException as error:
            board.close()
            if isinstance(error, HostError) and not isinstance(error, LinkError):
                raise HostError(f"{port.device}: {error}") from None
            raise
        return machine

    def diagnose(
        self,
        hardware: Hardware[ConfigT],
        run: LaunchRun[HostJob[OperandsT]],
        machine: Machine[HostJob[OperandsT]],
    ) -> str:
        if not isinstance(machine, HostMachine):
            return ""
        wanted = partial(self.written_rows, run.launch)
        rows = machine.rows(wanted(run.finished.counters))
        model = on_model(self, hardware.config, run.job, run.finished.cycles or 0, wanted)
        if isinstance(model, str):
            return model
        event = self.first_difference(run.launch, rows, model.memory)
        return event or "machine and model store the same words: the program is wrong"
