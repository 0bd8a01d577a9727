"""The table of targets. The command line, devices and benchmarks go through it.

A new target is one folder in ``hw/``, one in ``sw/compiler/``, one golden model, and one line here
(or, from another package, ``TARGETS["name"] = Target(…)``). Nothing is imported before it is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import numpy as np

    from sw.runtime.program import Program
    from sw.runtime.report import Chart
    from sw.runtime.rows import Rows
    from sw.runtime.timeline import Activity


class Configuration(Protocol):
    """What every target's configuration class offers, ``hw.dpu.config.DpuConfig`` for one.

    It is a frozen dataclass with a default for every field, whose constructor raises
    ``ConfigError`` with a line ``field = value: what is allowed`` for each bad field.
    """

    target: str

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Configuration:
        """From a configuration file's fields; unknown ones raise ``ConfigError``."""

    def to_dict(self) -> dict[str, Any]:
        """All fields, JSON's types only."""

    @property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of target and fields."""


class Runtime(Protocol):
    """What devices and reports need of a target besides: functions of one module.

    A workload is whatever the target's compiler takes; it has ``inputs``, float64 [n_inputs].
    Leaves are the words, uint32, that inputs and constants become.
    """

    def workload(self, source: Any, seed: int = 0) -> Any:
        """The workload in a file, or from what else the target's users have, or as it is."""

    def prepare(self) -> None:
        """Whatever the compiler needs to be done once in a process."""

    def input_values(
        self, program: Program, path: Path, defaults: np.ndarray | None, seed: int = 0
    ) -> np.ndarray:
        """New input values, float64 [n_inputs], from a file."""

    def leaf_words(self, program: Program, inputs: np.ndarray) -> np.ndarray:
        """The leaves for values of the inputs, float64 [n_inputs]."""

    def image(self, program: Program, leaves: np.ndarray) -> dict[str, Rows]:
        """What to write to the machine's memories, by window."""

    def result_rows(self, program: Program) -> dict[str, np.ndarray]:
        """Rows that hold outputs, by window: int [n], ascending."""

    def outputs(
        self, program: Program, leaves: np.ndarray, memory: Mapping[str, Rows]
    ) -> np.ndarray:
        """Words of the outputs, uint32 [k], from those rows."""

    def golden(self, program: Program, leaves: np.ndarray) -> np.ndarray:
        """Words that the outputs must have, uint32 [k]."""

    def reference(self, program: Program, inputs: np.ndarray) -> np.ndarray:
        """The outputs in float64, [k]."""

    def cycle_limit(self, program: Program) -> int:
        """Cycles after which a run that has not ended never will."""

    def written_rows(self, program: Program) -> dict[str, np.ndarray]:
        """Rows that the program writes to, by window: int [n], ascending."""

    def first_difference(
        self, program: Program, rtl: Mapping[str, Rows], model: Mapping[str, Rows]
    ) -> str | None:
        """The first event after which those rows differ, in words; ``None`` if they don't."""

    def units(self, config: Any) -> tuple[str, int]:
        """What computes, in the plural, and how many there are."""

    def activity(self, program: Program) -> Activity:
        """What each cycle of a run is spent on."""

    def charts(self, program: Program, cycles: int) -> list[Chart]:
        """The figures of a run that its page shows."""

    def listing(self, program: Program) -> Iterator[str]:
        """The program's instructions, a line each."""


@dataclass(frozen=True)
class Target:
    """Where the parts of a target are, each as ``"module:name"``.

    configuration
        the class of its configurations, see ``Configuration``.
    build
        ``build(config) -> wiring.Component``, the top of the hardware with the common host port.
    memory_map
        ``memory_map(config) -> hw.lib.host.MemoryMap``, the windows behind the host port.
    compile
        ``compile(workload, config, *, seed=0, reassociate=True, progress=None) -> Program``.
    schema
        ``sw.runtime.sections.Schema`` of its programs.
    model
        ``model(config, image, wanted) -> MachineRun``, an interpreter of the binary.
    runtime
        the module that is a ``Runtime``.
    """

    name: str
    configuration: str
    build: str
    memory_map: str
    compile: str
    schema: str
    model: str
    runtime: str

    def part(self, name: str) -> Any:
        """The object that field ``name`` refers to, imported now."""
        module, _, attribute = getattr(self, name).partition(":")
        found = import_module(module)
        return getattr(found, attribute) if attribute else found


TARGETS: dict[str, Target] = {
    "dpu": Target(
        name="dpu",
        configuration="hw.dpu.config:DpuConfig",
        build="hw.dpu.top:build",
        memory_map="hw.dpu.memory_map:memory_map",
        compile="sw.compiler.dpu:compile",
        schema="sw.runtime.dpu_sections:DPU_SCHEMA",
        model="sw.runtime.dpu:model",
        runtime="sw.runtime.dpu",
    ),
}
