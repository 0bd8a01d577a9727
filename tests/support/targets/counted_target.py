"""A target from another package whose runs are counted, and wait or kill their process if asked.

A workload is a JSON file: ``log``, a file that each run appends its ``number`` to; ``waits``,
numbers of runs that wait for the file ``log`` with ``.go`` behind it; ``kills``, those that kill
their process as often as it says, by number; ``refuses``, numbers for which it has no room;
``plans``, by name, those that a search finds: ``times`` which cycles they take, what they are
``estimated`` to take, and their ``blocks``.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gnarl.hw.lib.configuration import TargetConfig, Violation, number_violations
from gnarl.hw.lib.errors import CapacityError, WorkloadError, damaged_as
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.program.program import Program
from gnarl.sw.program.schema import Schema
from gnarl.sw.program.tensor_spec import TensorSpec
from gnarl.sw.runtime.machine.machine import Finished
from gnarl.sw.runtime.target.command_line import CommandLine
from gnarl.sw.runtime.target.compiler import Compiler
from gnarl.sw.runtime.target.contract import Target
from gnarl.sw.runtime.target.executor import Executor
from gnarl.sw.runtime.target.explorer import Alternative, Estimated, Explorer
from gnarl.sw.runtime.target.option import TargetOption
from gnarl.sw.runtime.target.presenter import Presenter
from gnarl.sw.runtime.target.reader import FileReader


@dataclass(frozen=True)
class CountedConfig(TargetConfig):
    """``number``: of the run, which takes ten times as many cycles. ``lanes``: by which these are
    divided, at most ``number``."""

    target = "counted"
    number: int = 1
    lanes: int = 1

    def violations(self) -> list[Violation]:
        wrong = number_violations(self, [("number", 1, 99), ("lanes", 1, 8)])
        if not wrong and self.lanes > self.number:
            wrong.append(Violation("lanes", f" = {self.lanes}: must be at most {self.number}"))
        return wrong


class Order(NamedTuple):
    """What runs are to do."""

    name: str
    text: dict[str, Any]
    inputs: dict[str, np.ndarray]


class CountedReader(FileReader[Order, Order]):
    target = "counted"

    def workload(self, source: Any, seed: int = 0) -> Order:
        with damaged_as(WorkloadError, source):
            text = json.loads(Path(source).read_text())
            return Order(Path(source).stem, text, {"x": np.arange(3, dtype=np.float32)})


class CountedCompiler(Compiler[CountedConfig, Order]):
    passes = ()
    schema = Schema(())

    def compile(
        self,
        workload: Order,
        config: CountedConfig,
        *,
        seed: int = 0,
        trace: Trace,
        **options: Any,
    ) -> Program:
        if config.number in workload.text.get("refuses", ()):
            raise CapacityError(f"number = {config.number}: this order has no room")
        _act(workload.text, config.number)
        x, y = (TensorSpec(name, (3,), "float32") for name in ("x", "y"))
        plan = options.get("plan")
        counts = {"operations": 3, "times": workload.text["plans"][plan]["times"] if plan else 1}
        return Program.of_one_launch(
            config, workload.name, (x,), (y,), statistics=counts, schema=self.schema
        )


class Job(NamedTuple):
    """What a run is given: ``times`` what its configuration takes."""

    numbers: np.ndarray
    times: int


class CountedMachine:
    def __init__(self, config: CountedConfig) -> None:
        self._config = config

    def load(self, job: Job) -> None:
        self._job = job

    def start(self) -> None:
        pass

    def wait(self) -> None:
        pass

    def read(self) -> Finished:
        return Finished({"y": self._job.numbers}, cycles_of(self._config, self._job.times), {})

    def close(self) -> None:
        pass


class CountedExecutor(Executor[CountedConfig, Job]):
    backends = ("model",)

    def job(self, program: Any, launch: Any, tensors: Any, **options: Any) -> Job:
        return Job(np.asarray(tensors["x"], np.float32), launch.statistics["times"])

    def machine(
        self, hardware: Any, backend: str, *, waves: Any, port: Any, stages: Any
    ) -> CountedMachine:
        return CountedMachine(hardware.config)

    def golden(self, program: Program, tensors: Any) -> dict[str, np.ndarray]:
        return {"y": np.asarray(tensors["x"], np.float32)}


class CountedExplorer(Explorer):
    """Finds an order's plans, and notes that it has searched."""

    fields = ("plan",)
    suffix = ".txt"

    def alternatives(
        self,
        workload: Order,
        config: TargetConfig,
        *,
        lanes: Sequence[int],
        words: Sequence[int],
        sparsities: Mapping[str, float] | None,
        advance: Callable[[float], None],
    ) -> list[Alternative]:
        assert isinstance(config, CountedConfig)
        with Path(workload.text["log"]).with_suffix(".searches").open("a") as file:
            file.write(f"{json.dumps([config.number, list(lanes), sparsities])}\n")
        plans = workload.text.get("plans", {})
        if not plans:
            raise WorkloadError(f"{workload.name}: has no plans")
        advance(1.0)
        return [
            Alternative(
                {"plan": name},
                name,
                Estimated(cycles_of(config, plan["estimated"]), 3, 24, plan["blocks"]),
            )
            for name, plan in plans.items()
        ]

    def options(self, schedule: str, name: str) -> dict[str, Any]:
        return {"plan": schedule}


def cycles_of(config: CountedConfig, times: int) -> int:
    return 10 * times * config.number // config.lanes


def _act(order: dict[str, Any], number: int) -> None:
    log = Path(order["log"])
    with log.open("a") as file:
        file.write(f"{number}\n")
    begun = log.read_text().split().count(str(number))
    if begun <= order.get("kills", {}).get(str(number), 0):
        os.kill(os.getpid(), signal.SIGKILL)
    while number in order.get("waits", ()) and not log.with_suffix(".go").exists():
        time.sleep(0.01)


_PLAN = TargetOption("--plan", commands=("compile",), help="What a run takes.")

TARGET = Target(
    configuration=CountedConfig,
    reader=CountedReader(),
    compiler=CountedCompiler(),
    executor=CountedExecutor(),
    presenter=Presenter[Job](),
    configurations=Path(__file__).parent / "counted_configurations",
    command_line=CommandLine("a file of what runs do", (_PLAN,)),
    explorer=CountedExplorer(),
)
