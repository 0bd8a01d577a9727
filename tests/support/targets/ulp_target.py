"""A target from another package with two launches, three types and a size that each run binds.

Its programs move ``x``, float32 [n], up by ``steps`` + 1 units in the last place. Both launches run
on the adder of ``tests.support.targets.adder``, each on one of its own configuration: the first
adds 1 to ``steps``, the second the 1 to floats' bits that have been moved by ``distance`` - 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gnarl.hw.lib.configuration import TargetConfig, Violation, number_violations
from gnarl.hw.lib.errors import CapacityError, WorkloadError, damaged_as
from gnarl.hw.lib.machine.memory_map import MemoryMap
from gnarl.sw.compiler.passes import Pass, Trace, run_passes
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.program.rows import MachineRun, Rows, Wanted
from gnarl.sw.program.schema import Schema, Section
from gnarl.sw.program.tensor_spec import Array, TensorSpec
from gnarl.sw.runtime.machine.host_machine import HostJob
from gnarl.sw.runtime.target.command_line import CommandLine
from gnarl.sw.runtime.target.compiler import Compiler
from gnarl.sw.runtime.target.contract import Target
from gnarl.sw.runtime.target.generator import Generator
from gnarl.sw.runtime.target.host_executor import HostExecutor
from gnarl.sw.runtime.target.option import TargetOption
from gnarl.sw.runtime.target.presenter import Presenter
from gnarl.sw.runtime.target.reader import Example, FileReader
from tests.support.targets import adder

STEPS = TensorSpec("steps", ("n",), "uint8")
X = TensorSpec("x", ("n",), "float32")
DISTANCE = TensorSpec("distance", ("n",), "int64")
Y = TensorSpec("y", ("n",), "float32")

SIZE = adder.ROWS * adder.WORDS
"""The largest n."""


@dataclass(frozen=True)
class UlpConfig(TargetConfig):
    """``stage``: which launch it runs. ``clock_mhz``: any program runs at any clock."""

    target = "ulp"
    stage: int = 1
    clock_mhz: int = 100

    def violations(self) -> list[Violation]:
        return number_violations(self, [("stage", 1, 2), ("clock_mhz", 1, 500)])


class Moves(NamedTuple):
    """What to move, and how far."""

    name: str
    inputs: dict[str, np.ndarray]


Operands = dict[str, np.ndarray]


class UlpReader(FileReader[Moves, Moves]):
    target = "ulp"

    def examples(self, folder: Path) -> list[Example]:
        path = folder / "moves.txt"
        path.write_text("0 1.0\n1 -2.5\n255 1e-40\n")
        return [Example("moves", str(path))]

    def workload(self, source: Path | Moves, seed: int = 0) -> Moves:
        """A file has a line ``steps x`` for each element."""
        if isinstance(source, Moves):
            return source
        with damaged_as(WorkloadError, source):
            steps, x = np.loadtxt(source, ndmin=2, unpack=True)
        return Moves(
            Path(source).stem, {"steps": steps.astype(np.int64), "x": x.astype(np.float32)}
        )


PASSES: tuple[Pass[np.ndarray, bool], ...] = (  # the words of elements, or of the last one first
    Pass(
        "split",
        "a launch for the distances, a launch for the floats",
        lambda order, reverse: {"txt": "count\nmove\n", "dot": "digraph {count -> move}\n"},
        run=lambda order, reverse: order,
    ),
    Pass(
        "place",
        "elements to words of rows",
        lambda order, reverse: {"txt": "".join(f"{word}\n" for word in order)},
        run=lambda order, reverse: np.arange(SIZE)[:: -1 if reverse else 1].copy(),
    ),
)


class UlpCompiler(Compiler[UlpConfig, Moves]):
    passes = PASSES
    schema = Schema([Section("order", np.int64, ("words",), 0, ("words",))], statistics=["stages"])

    def differences(self, program: Program, config: UlpConfig) -> list[str]:
        clock = program.config.get("clock_mhz", config.clock_mhz)
        return super().differences(program, replace(config, clock_mhz=clock))

    def compile(
        self, workload: Moves, config: UlpConfig, *, seed: int = 0, trace: Trace, **options: Any
    ) -> Program:
        order = run_passes(PASSES, np.zeros(0, np.int64), bool(options.get("reverse")), trace)
        stages = [config, replace(config, stage=2)]
        launches = [
            Launch(name, reads, writes, {"stages": 1}, {"order": order}, own.to_dict(), own.digest)
            for name, reads, writes, own in zip(
                ("count", "move"),
                ((STEPS,), (DISTANCE, X)),
                ((DISTANCE,), (Y,)),
                stages,
                strict=True,
            )
        ]
        return Program(
            "ulp",
            config.to_dict(),
            config.digest,
            workload.name,
            (STEPS, X),
            (DISTANCE, Y),
            tuple(launches),
            self.schema,
        )


class UlpGenerator(Generator[UlpConfig]):
    def build(self, config: UlpConfig) -> adder.Adder:
        return adder.Adder(config.digest)


class UlpExecutor(HostExecutor[UlpConfig, Operands]):
    generator = UlpGenerator()

    def memory_map(self, config: UlpConfig) -> MemoryMap:
        return adder.memory_map()

    def model(self, config: UlpConfig, job: HostJob[Operands], wanted: Wanted) -> MachineRun:
        return adder.model(job.image["table"].words, wanted, job.max_cycles)

    def job(
        self, program: Program, launch: Launch, tensors: Mapping[str, Array], **options: Any
    ) -> HostJob[Operands]:
        most = options.get("most")
        if "steps" in tensors and most is not None and np.max(tensors["steps"]) > most:  # type: ignore[arg-type]
            raise WorkloadError(f"{program.workload}: moves are longer than {most}")
        return super().job(program, launch, tensors, **options)

    def operands(self, launch: Launch, tensors: Mapping[str, Array]) -> Operands:
        arrays = {name: np.asarray(tensor) for name, tensor in tensors.items()}
        (size,) = {len(array) for array in arrays.values()}
        if size > SIZE:
            raise CapacityError(f"n = {size}: at most {SIZE}")
        return arrays

    def image(self, launch: Launch, operands: Operands) -> dict[str, Rows]:
        if launch.name == "count":
            values = operands["steps"].astype(np.uint32)
        else:
            bits = operands["x"].astype(np.float32).view(np.uint32)
            values = bits + (operands["distance"] - 1).astype(np.uint32)
        words = np.zeros(SIZE, np.uint32)
        words[launch.sections["order"][: len(values)]] = values
        return {"table": Rows(np.arange(adder.ROWS), words.reshape(adder.SHAPE))}

    def result_rows(self, launch: Launch, counters: Mapping[str, int]) -> dict[str, np.ndarray]:
        return {"table": np.arange(adder.ROWS)}

    def outputs(
        self, launch: Launch, operands: Operands, memory: Mapping[str, Rows]
    ) -> dict[str, Array]:
        size = len(next(iter(operands.values())))
        words = memory["table"].words.reshape(-1)[launch.sections["order"][:size]]
        if launch.name == "count":
            return {"distance": words.astype(np.int64)}
        return {"y": words.view(np.float32)}

    def golden(self, program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]:
        distance = np.asarray(tensors["steps"], np.int64) + 1
        bits = np.asarray(tensors["x"], np.float32).view(np.uint32) + distance.astype(np.uint32)
        return {"distance": distance, "y": bits.view(np.float32)}


OPTIONS = (
    TargetOption("--most", commands=("run",), type=int, help="Refuse longer moves."),
    TargetOption(
        "--reverse", commands=("compile",), is_flag=True, help="Place the last element first."
    ),
)

TARGET = Target(
    configuration=UlpConfig,
    reader=UlpReader(),
    compiler=UlpCompiler(),
    executor=UlpExecutor(),
    presenter=Presenter[HostJob[Operands]](),
    configurations=Path(__file__).parent / "ulp_configurations",
    command_line=CommandLine("a file of moves, a line each", OPTIONS, {"--max-cycles": ("",)}),
    demo="ulp",
)
