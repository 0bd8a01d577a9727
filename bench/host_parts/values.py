"""Seconds that values cost on their way through a target's model, besides what computes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from bench.lib.measurements import measure_all
from bench.lib.plots import bars, line_at, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells, mark
from bench.lib.tables import Cells
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.report.output_files import save_outputs
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from gnarl.sw.runtime.target.host_executor import HostExecutor
from gnarl.sw.workloads.dag.builder import DagBuilder
from gnarl.sw.workloads.dag.dag import Op
from gnarl.sw.workloads.dag.workload import DagWorkload
from gnarl.sw.workloads.tensor.tensor_files import load_tensor

BENCH = "host.values"

VALUES = 10**6
LIMIT_S = 2.0
"""Beyond interpreter and compiler."""

_QUICK_VALUES = 1000
_FAN_IN = 4
_EXPRESSION = "X(i,j)=B(i,j) -f=X:ss -f=B:ss"

METRICS = {
    "read_s": Metric("s", "lower"),
    "run_s": Metric("s", "lower"),
    "write_s": Metric("s", "lower"),
    "beyond_s": Metric("s", "lower"),
    "interpret_s": Metric("s", "none"),
    "compile_s": Metric("s", "none"),
    "bit_exact": Metric("", "higher"),
}
"""``run_s``: a run less its interpreter; ``beyond_s``: the sum of the three before."""
_HEADER = {
    "read_s": "read, s",
    "run_s": "run besides the interpreter, s",
    "write_s": "write, s",
    "beyond_s": "in all, s",
    "interpret_s": "interpreter, s",
    "compile_s": "compiler, s",
    "bit_exact": "bit-exact",
}


@dataclass(frozen=True)
class Job:
    """So many values through the model of a target: ``sam`` or ``dpu``."""

    target: str
    values: int
    seed: int

    @property
    def labels(self) -> dict[str, str | int]:
        return {"target": self.target, "values": self.values}

    def setting(self) -> Setting:
        return Setting("", (), "", self.seed)

    def __str__(self) -> str:
        return f"{self.values:,} values through {self.target}'s model"


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures each target in a process of its own."""
    values = _QUICK_VALUES if request.quick else VALUES
    jobs = [Job(target, values, request.seed) for target in ("sam", "dpu")]
    right = itemgetter("bit_exact")
    return measure_all(
        BENCH, measure, jobs, METRICS, console=request.console, right=right, fresh=True
    )


def measure(job: Job) -> dict[str, float | bool]:
    """Values of ``METRICS``."""
    with tempfile.TemporaryDirectory() as name:
        return _sam(job, Path(name)) if job.target == "sam" else _dpu(job, Path(name))


def _sam(job: Job, folder: Path) -> dict[str, float | bool]:
    """A sparse matrix from a SciPy file, copied by the machine, to a SciPy file."""
    side = 4 * int(np.sqrt(job.values))
    random = np.random.default_rng(job.seed)
    places = np.sort(random.choice(side * side, job.values, replace=False))
    matrix = scipy.sparse.csr_array(
        (random.random(job.values), np.divmod(places, side)), (side, side)
    )
    scipy.sparse.save_npz(folder / "B.npz", matrix, compressed=False)
    bits = 2 * job.values.bit_length()
    configuration = load_configuration(
        "sam_fp32", [f"array_words={2 ** job.values.bit_length()}", f"index_bits={min(bits, 32)}"]
    )

    def read() -> dict[str, Any]:
        return {"B": load_tensor(folder / "B.npz")}

    return _measured(configuration, _EXPRESSION, read, folder)


def _dpu(job: Job, folder: Path) -> dict[str, float | bool]:
    """Named leaves from a file of values, summed up in fours, to a file of named sums."""
    builder = DagBuilder()
    leaves = builder.inputs([f"leaf[{number}]" for number in range(job.values)])
    sums = leaves.reshape(-1, _FAN_IN)
    builder.operations(
        np.full(len(sums), Op.ADD),
        np.full(len(sums), _FAN_IN),
        leaves,
        names=[f"sum[{number}]" for number in range(len(sums))],
    )
    values = np.random.default_rng(job.seed).random(job.values)
    np.save(folder / "values.npy", values)
    workload = DagWorkload("leaves", builder.build()[0], values)
    rows = max(1024, 1 << (job.values // 16).bit_length())
    configuration = load_configuration(
        "dpu_d3_b64", [f"data_rows={rows}", f"instruction_words={16 * rows}"]
    )
    return _measured(configuration, workload, lambda: np.load(folder / "values.npy"), folder)


def _measured(
    configuration: NamedConfiguration, source: Any, read: Callable[[], Any], folder: Path
) -> dict[str, float | bool]:
    with Device(configuration, "model") as device:
        begin = time.perf_counter()
        program: Program = device.compile(source)
        compile_s = time.perf_counter() - begin
        device.run(program, read())  # imports what runs need
        begin = time.perf_counter()
        inputs = read()
        read_s = time.perf_counter() - begin
        begin = time.perf_counter()
        result = device.run(program, inputs)
        whole_s = time.perf_counter() - begin
        begin = time.perf_counter()
        save_outputs(folder / "results.npz", program.outputs, result.outputs)
        write_s = time.perf_counter() - begin
        # The same job, made anew so that nothing of it is known yet, on the interpreter alone.
        executor, launch = configuration.target.executor, program.launches[0]
        assert isinstance(executor, HostExecutor)
        job = executor.job(program, launch, result.tensors)
        hardware = device.hardware(program).config
        begin = time.perf_counter()
        executor.model(hardware, job, lambda counters: {})
        interpret_s = time.perf_counter() - begin
        return {
            "read_s": read_s,
            "run_s": whole_s - interpret_s,
            "write_s": write_s,
            "beyond_s": read_s + whole_s - interpret_s + write_s,
            "interpret_s": interpret_s,
            "compile_s": compile_s,
            "bit_exact": device.verify(result).bit_exact,
        }


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each target."""
    body = [cells(row, labels, _HEADER) for labels, row in rows(records).items()]
    return {"Values": Cells(["target", "values", *_HEADER.values()], body, names=2)}


def verdict(records: Sequence[Record]) -> str:
    """The slowest way in and out, against its limit."""
    table = rows(records)
    values = max(int(labels[1]) for labels in table)
    slowest = max(row["beyond_s"] for row in table.values())
    return (
        f"{values:,} values in and out cost at most {slowest:.2f} s beyond interpreter and "
        f"compiler, limit {LIMIT_S:g} s {mark(slowest <= LIMIT_S)}"
    )


def draw(records: Sequence[Record], path: Path) -> None:
    """Seconds by target."""
    table = rows(records)
    figure, (axes,) = subplots(1, (6, 4.2))
    bars(
        axes,
        {
            label: [row[metric] for row in table.values()]
            for label, metric in (("read", "read_s"), ("run", "run_s"), ("write", "write_s"))
        },
    )
    line_at(axes, LIMIT_S)
    axes.set_xticks(range(len(table)), [str(target) for target, _ in table])
    axes.set(ylabel="s")
    axes.legend(frameon=False)
    save(figure, path)
