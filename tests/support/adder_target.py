"""The adder of ``tests.support.adder`` as a target of its own, as another package would add one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hw.lib.configuration import TargetConfig
from hw.lib.errors import Violation, WorkloadError
from hw.lib.memory_map import MemoryMap
from sw.golden.words import to_words
from sw.program.program import Program
from sw.program.rows import MachineRun, Rows, Wanted
from sw.program.schema import Schema, Section
from sw.runtime.example import Example
from sw.runtime.report import Chart
from sw.runtime.result import Outputs, Result
from sw.runtime.timeline import Activity
from sw.runtime.verify import Verification, compare
from sw.targets import Target
from tests.support import adder

COUNT = adder.ROWS * adder.WORDS

TARGET = Target(
    name="adder",
    configuration="tests.support.adder_target:AdderConfig",
    build="tests.support.adder_target:build",
    memory_map="tests.support.adder_target:memory_map",
    compile="tests.support.adder_target:compile_table",
    schema="tests.support.adder_target:SCHEMA",
    model="tests.support.adder_target:model",
    runtime="tests.support.adder_target",
)

SCHEMA = Schema([Section("order", np.int64, ("inputs",), 0, ("inputs",))], lambda sections, _: None)


@dataclass(frozen=True)
class AdderConfig(TargetConfig):
    """Its hardware has no parameters."""

    target = "adder"
    digest = adder.DIGEST

    def violations(self) -> list[Violation]:
        return []


@dataclass(frozen=True)
class Table:
    """Numbers to add 1 to."""

    name: str
    inputs: np.ndarray


def build(config: AdderConfig) -> adder.Adder:
    return adder.Adder()


def memory_map(config: AdderConfig) -> MemoryMap:
    return adder.memory_map()


def workload(source: Any, seed: int = 0) -> Table:
    if isinstance(source, Table):
        return source
    text = Path(source).read_text(encoding="utf-8").split()
    if len(text) != COUNT:
        raise WorkloadError(f"{source}: {len(text)} numbers: must be {COUNT}")
    return Table(Path(source).stem, np.array(text, np.float64))


def compile_table(
    workload: Table,
    config: AdderConfig,
    *,
    seed: int = 0,
    progress: Callable[[float], None] = lambda share: None,
) -> Program:
    progress(1.0)
    return Program(
        target="adder",
        config=config.to_dict(),
        digest=config.digest,
        format="fixed32.0",
        workload=workload.name,
        input_names=[f"a{k}" for k in range(COUNT)],
        output_names=[f"y{k}" for k in range(COUNT)],
        statistics={"operations": COUNT},
        sections={"order": np.arange(COUNT)},
    )


def prepare() -> None:
    pass


def examples(folder: Path) -> list[Example]:
    path = folder / "table.txt"
    path.write_text(" ".join(map(str, range(COUNT))))
    return [Example("table", str(path))]


def source(text: str, tensors: Mapping[str, str]) -> Path:
    return Path(text)


def new_inputs(
    program: Program,
    values: Path | None,
    tensors: Mapping[str, str],
    defaults: np.ndarray | None,
    seed: int = 0,
) -> np.ndarray | None:
    return workload(values).inputs if values else defaults


def operands(program: Program, inputs: np.ndarray) -> np.ndarray:
    return to_words(inputs, program.format)


def image(program: Program, leaves: np.ndarray) -> dict[str, Rows]:
    return {"table": Rows(np.arange(adder.ROWS), leaves.reshape(adder.ROWS, adder.WORDS))}


def result_rows(program: Program, counters: Mapping[str, int]) -> dict[str, np.ndarray]:
    return {"table": np.arange(adder.ROWS)}


def outputs(program: Program, leaves: np.ndarray, memory: Mapping[str, Rows]) -> Outputs:
    return Outputs(program.output_names, memory["table"].words.reshape(-1))


def model(config: AdderConfig, image: Mapping[str, Rows], wanted: Wanted) -> MachineRun:
    table = adder.expected(image["table"].words)
    counters = {"starts": 1, "rows": adder.ROWS}
    memory = {name: Rows(rows, table[rows]) for name, rows in wanted(counters).items()}
    return MachineRun(memory, adder.CYCLES, counters)


def verify(program: Program, inputs: np.ndarray, result: Result) -> Verification:
    golden = to_words(inputs + 1, program.format)
    return compare(result.names, result.words, golden, result.outputs, inputs + 1)


def cycle_limit(program: Program) -> int:
    return adder.CYCLES


written_rows = result_rows


def first_difference(
    program: Program, rtl: Mapping[str, Rows], model: Mapping[str, Rows]
) -> str | None:
    wrong = np.argwhere(rtl["table"].words != model["table"].words)
    return f"row {wrong[0][0]} differs" if len(wrong) else None


def operations(program: Program, operands: np.ndarray) -> int:
    return COUNT


def statistics(program: Program, result: Result) -> dict[str, int]:
    return program.statistics


def units(program: Program) -> tuple[str, int]:
    return "adders", adder.WORDS


def activity(program: Program, operands: np.ndarray) -> Activity:
    writes = np.arange(adder.CYCLES) % 2 == 1
    return Activity("adders", adder.WORDS, adder.WORDS * writes, {"write": writes, "read": ~writes})


def charts(program: Program, result: Result) -> list[Chart]:
    return [Chart("Cycles", [("write", adder.ROWS), ("read", adder.ROWS)], result.cycles)]


def dot(program: Program) -> str:
    return "digraph {}"


def listing(program: Program) -> Iterator[str]:
    yield "add 1 to all"
