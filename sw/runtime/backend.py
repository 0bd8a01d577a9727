"""What runs programs: the Verilated RTL, or the model. Both are given rows of memories, and return
rows of memories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import numpy as np

from sw.program.rows import MachineRun, Rows, Wanted, row_spans
from sw.runtime.configuration import NamedConfiguration
from sw.runtime.host import HostDriver, HostError
from sw.runtime.simulator import Simulator
from sw.runtime.stages import Stages
from sw.runtime.verilog import module_name, verilog


class Backend(Protocol):
    """A machine of one configuration, empty at first."""

    def run(self, image: Mapping[str, Rows], wanted: Wanted, cycle_limit: int) -> MachineRun:
        """Fills memories with ``image``, runs to the end, reads the ``wanted`` rows.

        Raises ``GnarlError`` where the machine stops with an error, or is not done after
        ``cycle_limit`` cycles.
        """

    def close(self) -> None:
        """Ends the machine."""


class RtlBackend:
    """The Verilated RTL behind the common host port, built here or taken from the cache."""

    def __init__(
        self, configuration: NamedConfiguration, waves: Path | None, stages: Stages
    ) -> None:
        config = configuration.config
        with stages("generate Verilog"):
            text = verilog(configuration)
        with stages("build simulator"):
            self._simulator = Simulator(text, module_name(configuration), wave=waves)
        memory_map = configuration.target.part("memory_map")(config)
        self._driver = HostDriver(self._simulator, memory_map, config.digest)

    def run(self, image: Mapping[str, Rows], wanted: Wanted, cycle_limit: int) -> MachineRun:
        driver = self._driver
        for window, rows in image.items():
            for first, words in rows.spans():
                driver.write_window(window, words, first)
        try:
            driver.run(cycle_limit)
        except HostError:
            driver.stop()
            driver.clear()
            raise
        counters = driver.counters()
        memory = {
            window: Rows(rows, self._read(window, rows))
            for window, rows in wanted(counters).items()
        }
        return MachineRun(memory, driver.cycles(), counters)

    def close(self) -> None:
        self._simulator.close()

    def _read(self, window: str, rows: np.ndarray) -> np.ndarray:
        spans = row_spans(rows)
        parts = [
            self._driver.read_window(window, int(rows[first]), last - first)
            for first, last in spans
        ]
        return np.concatenate(parts) if parts else np.zeros((0, 0), np.uint32)


class ModelBackend:
    """The target's interpreter of its binary."""

    def __init__(
        self, configuration: NamedConfiguration, waves: Path | None, stages: Stages
    ) -> None:
        if waves is not None:
            raise ValueError("the model has no signals: waves are of the RTL")
        self._config = configuration.config
        self._model = configuration.target.part("model")

    def run(self, image: Mapping[str, Rows], wanted: Wanted, cycle_limit: int) -> MachineRun:
        return self._model(self._config, image, wanted)

    def close(self) -> None:
        pass


BACKENDS: dict[str, Callable[[NamedConfiguration, Path | None, Stages], Backend]] = {
    "rtl": RtlBackend,
    "model": ModelBackend,
}
"""Who runs programs, by the name that reports give it."""
