"""The contract of every backend, and devices around them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from sw.runtime.backend import BACKENDS

from hw.dpu.config import DpuConfig
from hw.dpu.isa import START_CYCLES
from hw.lib.errors import ConfigError, GnarlError, ProgramError, WorkloadError
from sw.program.program import Program
from sw.program.rows import MachineRun, Rows
from sw.runtime.configuration import load_configuration
from sw.runtime.device import Device
from sw.workloads.dag.generate import random_dag
from sw.workloads.dag.workload import DagWorkload
from tests.support.dags import SHAPES, input_values, seeded_dag, shape

CONFIG = "dpu_d1_b8"


@pytest.fixture(scope="module", params=BACKENDS)
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    with Device(CONFIG, request.param) as found:
        yield found


@pytest.fixture(scope="module")
def model() -> Device:
    return Device(CONFIG, "model")


def refused(kind: type[GnarlError], text: str) -> pytest.RaisesExc[GnarlError]:
    return pytest.raises(kind, match=f"^{re.escape(text)}$")


def require_right(device: Device, program: Program, inputs: np.ndarray) -> None:
    result = device.run(program, inputs)
    found = device.verify(program, inputs, result)
    assert found.difference == ""
    # NaN and infinities apart, float32 is near float64 for these few operations.
    assert found.max_rel_error < 1e-3 or not np.isfinite(result.outputs).all()
    # One instruction a cycle, HALT's own being the first of draining.
    config = DpuConfig.from_dict(program.config)
    issued = program.statistics["instructions"]
    assert result.cycles == START_CYCLES + issued - 1 + config.drain_cycles
    assert result.counters["load"] == program.statistics["loads"]


@pytest.mark.parametrize("name", SHAPES)
def test_odd_shapes(device: Device, name: str) -> None:
    dag = shape(name)
    inputs = input_values(dag, seed=1)
    require_right(device, device.compile(DagWorkload(name, dag, inputs)), inputs)


def test_a_random_dag_with_new_values(device: Device) -> None:
    workload = random_dag(500, seed=3)
    program = device.compile(workload)
    for seed in range(3):
        require_right(device, program, input_values(workload.dag, seed))


def test_programs_take_turns(device: Device) -> None:
    workloads = [random_dag(operations, seed=operations) for operations in (400, 20)]
    programs = [device.compile(workload) for workload in workloads]
    for workload, program in zip(workloads * 2, programs * 2, strict=True):
        require_right(device, program, workload.inputs)


def test_special_values_come_through(device: Device) -> None:
    graph = nx.DiGraph()
    graph.add_node("a", op="input")
    graph.add_node("b", op="input")
    for op in ("add", "mul", "max", "min"):
        graph.add_node(op, op=op)
        graph.add_edges_from([("a", op), ("b", op)])
    program = device.compile(graph)
    tiny, huge = 1e-45, 3e38
    for pair in [(np.inf, -np.inf), (0.0, -0.0), (tiny, -tiny), (huge, huge), (np.inf, 0.0)]:
        inputs = np.array(pair)
        assert device.verify(program, inputs, device.run(program, inputs)).difference == ""


def test_values_by_name(device: Device) -> None:
    graph = nx.DiGraph()
    graph.add_node("half", op="const", value=0.5)
    graph.add_node("x", op="input")
    graph.add_node("y", op="mul")
    graph.add_edges_from([("half", "y"), ("x", "y")])
    result = device.run(device.compile(graph), {"x": 3.0})
    assert result.outputs.tolist() == [1.5]
    assert result.words.tolist() == [0x3FC00000]


def test_a_machine_error_ends_the_run_and_not_the_device(device: Device) -> None:
    workload = random_dag(50, seed=1)
    program = device.compile(workload)
    stream = program.sections["instructions"].copy()
    stream[0] = 0x0F  # no such opcode
    broken = replace(program, sections={**program.sections, "instructions": stream})
    model = "model cycle 3, instruction 0 at byte 0x0: ILLEGAL_OPCODE, detail 0xf"
    text = {
        "rtl": "rtl stopped after 4 cycles: error 1 (ILLEGAL_OPCODE), detail 15; " + model,
        "model": model,
    }
    with refused(ProgramError, f"{workload.name}: {text[device.backend]}"):
        device.run(broken, workload.inputs)
    require_right(device, program, workload.inputs)


def test_both_backends_count_the_same() -> None:
    workload = DagWorkload("random", dag := seeded_dag(400, seed=5), input_values(dag, seed=5))
    results = []
    for backend in BACKENDS:
        with Device(CONFIG, backend) as device:
            results.append(device.run(device.compile(workload), workload.inputs))
    left, right = results
    assert (left.cycles, left.counters) == (right.cycles, right.counters)
    assert left.words.tolist() == right.words.tolist()


def test_a_program_for_another_configuration_is_refused(model: Device) -> None:
    program = Device("dpu_d2_b16", "model").compile(random_dag(20, seed=1))
    with refused(
        ProgramError,
        "program for another configuration: depth is 2, must be 1; banks is 16, must be 8; "
        "registers is 32, must be 16",
    ):
        model.run(program, np.zeros(len(program.input_names)))


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ({"a": 1.0}, "graph: no value for input b"),
        ({"a": 1.0, "b": 2.0, "c": 3.0}, "graph: no input is called 'c'"),
        ([1.0], "graph: inputs have shape [1]: must be [2]"),
        ([1.0, np.nan], "graph: input b is NaN: must be a number"),
    ],
)
def test_bad_inputs_are_refused(model: Device, inputs: object, text: str) -> None:
    graph = nx.DiGraph()
    for name, op in (("a", "input"), ("b", "input"), ("y", "add")):
        graph.add_node(name, op=op)
    graph.add_edges_from([("a", "y"), ("b", "y")])
    program = model.compile(graph)
    with refused(WorkloadError, text):
        model.run(program, inputs)  # type: ignore[arg-type]


FLOAT32_RANGE = "float32 holds -3.4028234663852886e+38 to 3.4028234663852886e+38"


@pytest.mark.parametrize(("at", "name"), [(0, "input x"), (1, "constant")])
@pytest.mark.parametrize(
    ("format", "value", "held"),
    [
        ("fixed16.8", 200.0, "fixed16.8 holds -128.0 to 127.99609375"),
        ("float32", -1e39, FLOAT32_RANGE),
        ("float16", 65520.0, "float16 holds -65504.0 to 65504.0"),
    ],
)
def test_a_value_that_the_format_does_not_hold_is_named(
    at: int, name: str, format: str, value: float, held: str
) -> None:
    device = Device(load_configuration(CONFIG, [f"format={format}"]), "model")
    values = [1.0, 1.0]
    values[at] = value
    graph = nx.DiGraph()
    graph.add_node("c", op="const", value=values[1])
    graph.add_node("x", op="input")
    graph.add_node("y", op="add")
    graph.add_edges_from([("c", "y"), ("x", "y")])
    with refused(WorkloadError, f"graph: {name} = {value}: {held}"):
        device.run(device.compile(graph), [values[0]])


@pytest.mark.parametrize(
    ("constant", "value", "name"), [("2.0", -1e39, "b[1]"), ("1e39", 1.0, "constant")]
)
def test_a_tensors_value_that_the_format_does_not_hold_is_named(
    constant: str, value: float, name: str
) -> None:
    device = Device("sam_fp32", "model")
    operands = {"b": [0.0, value, 1.0]}
    workload = device.workload((f"x(i)={constant}*b(i) -f=x:s -f=b:s", operands))
    number = value if name != "constant" else 1e39
    with refused(WorkloadError, f"{name} = {number}: {FLOAT32_RANGE}"):
        device.run(device.compile(workload), workload.inputs)


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(ValueError, match="^no backend 'fpga'; there are rtl, model$"):
        Device(CONFIG, "fpga")


def test_a_target_without_a_host_port() -> None:
    text = "cuda_sm90: target cuda has no host port: its devices are in sw.runtime.cuda"
    with pytest.raises(ConfigError, match=f"^{text}$"):
        Device("cuda_sm90")


def test_the_model_has_no_waves(tmp_path: Path) -> None:
    device = Device(CONFIG, "model", waves=tmp_path / "x.fst")
    workload = random_dag(20, seed=1)
    with pytest.raises(ValueError, match="^the model has no signals: waves are of the RTL$"):
        device.run(device.compile(workload), workload.inputs)


class _Faulty:
    """The model of the machine with one bit of every row it returns inverted."""

    def __init__(self, *arguments: object) -> None:
        self._model = BACKENDS["model"](*arguments)  # type: ignore[arg-type]

    def run(self, *arguments: object) -> MachineRun:
        run = self._model.run(*arguments)  # type: ignore[arg-type]
        rows = run.memory["data"]
        return replace(run, memory={"data": Rows(rows.numbers, rows.words ^ np.uint32(1))})

    def close(self) -> None:
        pass


def test_the_first_word_that_hardware_stores_wrongly_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(BACKENDS, "rtl", _Faulty)
    graph = nx.DiGraph()
    for name, op in (("a", "input"), ("b", "input"), ("y", "add")):
        graph.add_node(name, op=op)
    graph.add_edges_from([("a", "y"), ("b", "y")])
    device = Device(CONFIG, "rtl")
    program = device.compile(graph)
    inputs = [1.0, 2.0]
    found = device.verify(program, inputs, device.run(program, inputs))
    assert found.difference == (
        "1 of 1 outputs differ; the first is y: 0x40400001, must be 0x40400000"
    )
    row, bank = program.sections["output_row"][0], program.sections["output_bank"][0]
    store = program.statistics["instructions"] - 2
    assert device.diagnose(program, inputs) == (
        f"instruction {store} in cycle {START_CYCLES + store} stores 0x40400001 to row {row}, "
        f"bank {bank}, the model 0x40400000"
    )


def test_a_wrong_program_is_told_from_wrong_hardware(model: Device) -> None:
    workload = random_dag(50, seed=1)
    program = model.compile(workload)
    assert model.diagnose(program, workload.inputs) == (
        "model and model store the same words: the program is wrong"
    )
