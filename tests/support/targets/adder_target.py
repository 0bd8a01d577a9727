"""The adder of ``tests.support.targets.adder`` as a target, as another package would add one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gnarl.hw.lib.configuration import TargetConfig
from gnarl.hw.lib.errors import WorkloadError, damaged_as
from gnarl.hw.lib.machine.memory_map import MemoryMap
from gnarl.sw.compiler.passes import Pass, Trace, run_passes
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.program.rows import MachineRun, Rows, Wanted
from gnarl.sw.program.schema import Schema
from gnarl.sw.program.tensor_spec import Array, TensorSpec
from gnarl.sw.runtime.machine.host_machine import HostJob
from gnarl.sw.runtime.target.compiler import Compiler
from gnarl.sw.runtime.target.contract import Target
from gnarl.sw.runtime.target.generator import Generator
from gnarl.sw.runtime.target.host_executor import HostExecutor
from gnarl.sw.runtime.target.presenter import Presenter
from gnarl.sw.runtime.target.reader import FileReader
from tests.support.targets import adder


class AdderConfig(TargetConfig):
    """Its hardware has no parameters."""

    target = "adder"


class Table(NamedTuple):  # numbers to add 1 to: uint32 [rows, words]
    name: str
    inputs: dict[str, np.ndarray]


class AdderReader(FileReader[Table, Table]):
    target = "adder"

    def workload(self, source: Path | Table, seed: int = 0) -> Table:
        if isinstance(source, Table):
            return source
        with damaged_as(WorkloadError, source):
            return Table(Path(source).stem, {"table": np.loadtxt(source, np.uint32, ndmin=2)})


PASSES: tuple[Pass[int, AdderConfig], ...] = (  # from no rows to all
    Pass(
        "place",
        "a row of the table to a row of memory",
        lambda rows, config: {"txt": f"{rows} rows\n"},
        run=lambda rows, config: adder.ROWS,
    ),
)


class AdderCompiler(Compiler[AdderConfig, Table]):
    passes = PASSES
    schema = Schema(())

    def compile(
        self, workload: Table, config: AdderConfig, *, seed: int = 0, trace: Trace, **options: Any
    ) -> Program:
        run_passes(PASSES, 0, config, trace)
        table, sums = (TensorSpec(name, adder.SHAPE, "uint32") for name in ("table", "sums"))
        counts = {"operations": adder.ROWS * adder.WORDS}
        return Program.of_one_launch(
            config, workload.name, (table,), (sums,), statistics=counts, schema=self.schema
        )


class AdderGenerator(Generator[AdderConfig]):
    def build(self, config: AdderConfig) -> adder.Adder:
        return adder.Adder(config.digest)


class AdderExecutor(HostExecutor[AdderConfig, Mapping[str, Array]]):
    generator = AdderGenerator()

    def memory_map(self, config: AdderConfig) -> MemoryMap:
        return adder.memory_map()

    def image(self, launch: Launch, operands: Mapping[str, Array]) -> dict[str, Rows]:
        return {"table": Rows(np.arange(adder.ROWS), np.asarray(operands["table"], np.uint32))}

    def result_rows(self, launch: Launch, counters: Mapping[str, int]) -> dict[str, np.ndarray]:
        return {"table": np.arange(adder.ROWS)}

    def outputs(self, launch: Launch, operands: Any, memory: Mapping[str, Rows]) -> dict[str, Any]:
        return {"sums": memory["table"].words}

    def model(self, config: AdderConfig, job: HostJob[Any], wanted: Wanted) -> MachineRun:
        return adder.model(job.image["table"].words, wanted, job.max_cycles)

    def golden(self, program: Program, tensors: Mapping[str, Array]) -> dict[str, Any]:
        return {"sums": adder.expected(np.asarray(tensors["table"], np.uint32))}


TARGET = Target(
    configuration=AdderConfig,
    reader=AdderReader(),
    compiler=AdderCompiler(),
    executor=AdderExecutor(),
    presenter=Presenter[HostJob[Mapping[str, Array]]](),
    configurations=Path(__file__).parent / "adder_configurations",
)
