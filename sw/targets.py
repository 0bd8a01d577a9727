"""The table of targets. The command line, devices and benchmarks go through it.

A new target is one folder in ``hw/``, one in ``sw/compiler/``, one golden model, and one entry here
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

    from sw.program.program import Program
    from sw.program.rows import Rows
    from sw.runtime.example import Example
    from sw.runtime.report import Chart
    from sw.runtime.result import Outputs, Result
    from sw.runtime.timeline import Activity
    from sw.runtime.verify import Verification


class Frontend(Protocol):
    """What every command needs of a target: functions of one module.

    A workload is whatever the target's compiler takes.
    """

    def examples(self, folder: Path) -> list[Example]:
        """Workloads that ship with the project; what they need is written into a folder."""

    def source(self, text: str, tensors: Mapping[str, str]) -> Any:
        """What ``workload`` takes, from the command line's WORKLOAD and its ``--tensor NAME=PATH``.

        Raises ``WorkloadError`` for what the target has no use for, and files that are not there.
        """

    def workload(self, source: Any, seed: int = 0) -> Any:
        """The workload in a file, or from what else the target's users have, or as it is."""

    def prepare(self) -> None:
        """Whatever the compiler needs to be done once in a process."""

    def dot(self, program: Program) -> str:
        """The program's graph as Graphviz DOT. Raises ``WorkloadError`` where it has none."""

    def listing(self, program: Program) -> Iterator[str]:
        """The program's instructions, a line each."""


class Runtime(Frontend, Protocol):
    """What devices and reports need besides of a target behind the host port.

    Its workloads have ``inputs``, in any form that the functions below agree on, and a program's
    users may give others. Operands are what the machine is given for them.
    """

    def new_inputs(
        self,
        program: Program,
        values: Path | None,
        tensors: Mapping[str, str],
        defaults: Any,
        seed: int = 0,
    ) -> Any:
        """Inputs from files, in place of the workload's own, ``defaults`` (``None``: a program)."""

    def operands(self, program: Program, inputs: Any) -> Any:
        """What the machine is given for ``inputs``; checks them. Raises ``WorkloadError``."""

    def image(self, program: Program, operands: Any) -> dict[str, Rows]:
        """What to write to the machine's memories, by window."""

    def result_rows(self, program: Program, counters: Mapping[str, int]) -> dict[str, np.ndarray]:
        """Rows that hold outputs after a run, by window: int [n], ascending."""

    def outputs(self, program: Program, operands: Any, memory: Mapping[str, Rows]) -> Outputs:
        """The outputs in those rows."""

    def verify(self, program: Program, inputs: Any, result: Result) -> Verification:
        """Compares a result with the golden model and with float64."""

    def cycle_limit(self, program: Program) -> int:
        """Cycles after which a run that has not ended never will."""

    def written_rows(self, program: Program, counters: Mapping[str, int]) -> dict[str, np.ndarray]:
        """Rows that the program writes to, by window: int [n], ascending."""

    def first_difference(
        self, program: Program, rtl: Mapping[str, Rows], model: Mapping[str, Rows]
    ) -> str | None:
        """The first event after which those rows differ, in words; ``None`` if they don't."""

    def operations(self, program: Program, operands: Any) -> int:
        """Operations that a run executes."""

    def statistics(self, program: Program, result: Result) -> dict[str, int]:
        """Whole numbers about a run by name, those of the compiler and lower bounds among them."""

    def units(self, program: Program) -> tuple[str, int]:
        """What computes, in the plural, and how many there are; at least 1."""

    def activity(self, program: Program, operands: Any) -> Activity:
        """What each cycle of a run is spent on."""

    def charts(self, program: Program, result: Result) -> list[Chart]:
        """The figures of a run that its page shows."""


@dataclass(frozen=True)
class Target:
    """Where the parts of a target are, each as ``"module:name"``.

    configuration
        the class of its configurations, a ``hw.lib.configuration.TargetConfig``.
    compile
        ``compile(workload, config, *, seed=0, progress=None, **options) -> Program``.
    schema
        ``sw.program.schema.Schema`` of its programs.
    runtime
        the module that is a ``Runtime``, or a ``Frontend`` where there is no host port.
    build
        ``build(config) -> wiring.Component``, the top of the hardware with the common host port;
        empty for targets without.
    memory_map
        ``memory_map(config) -> hw.lib.host.MemoryMap``, the windows behind the host port.
    model
        ``model(config, image, wanted) -> MachineRun``, an interpreter of the binary; ``wanted``
        gives rows by window for the run's counters.
    run
        ``sw.runtime.session.run_once``, or a function like it.
    backends
        what can run its programs; the first that is there is taken if none is asked for.
    tune
        ``tune(configuration, source, output, …)``, behind ``gnarl tune``, if there is one.
    options
        names of further options of its compiler and runs.
    own_workload
        the configuration's field that may name a workload, if there is one.
    filled_in
        fields that are part of the program, where a configuration leaves them ``None`` or empty.
    resolve
        ``resolve(config) -> config``, fills in fields that follow from others by compilation.
    """

    name: str
    configuration: str
    compile: str
    schema: str
    runtime: str
    build: str = ""
    memory_map: str = ""
    model: str = ""
    run: str = "sw.runtime.session:run_once"
    backends: tuple[str, ...] = ("rtl", "model")
    tune: str = ""
    options: tuple[str, ...] = ()
    own_workload: str = ""
    filled_in: tuple[str, ...] = ()
    resolve: str = ""

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
        schema="sw.compiler.dpu.sections:DPU_SCHEMA",
        model="sw.runtime.dpu:model",
        runtime="sw.runtime.dpu",
        options=("reassociate",),
    ),
    "sam": Target(
        name="sam",
        configuration="hw.sam.config:SamConfig",
        build="hw.sam.top:build",
        memory_map="hw.sam.memory_map:memory_map",
        compile="sw.compiler.sam.compile:compile",
        schema="sw.compiler.sam.sections:SAM_SCHEMA",
        model="sw.runtime.sam.model.interpreter:model",
        runtime="sw.runtime.sam",
        own_workload="expression",
        filled_in=("expression", "graph"),
        resolve="sw.compiler.sam.compile:resolve",
    ),
    "cuda": Target(
        name="cuda",
        configuration="sw.compiler.cuda.config:CudaConfig",
        compile="sw.compiler.cuda.compile:compile",
        schema="sw.compiler.cuda.sections:CUDA_SCHEMA",
        runtime="sw.runtime.cuda.frontend",
        run="sw.runtime.cuda.session:run_once",
        backends=("cuda", "emulation"),
        tune="sw.runtime.cuda.tuning:tune",
        options=("schedules", "batch", "mapping"),
    ),
}
