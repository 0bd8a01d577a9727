"""The contract of every backend, and devices around them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import PeOp
from gnarl.hw.lib.errors import ConfigError, GnarlError, ProgramError, WorkloadError
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from gnarl.sw.runtime.target.registry import TARGETS
from gnarl.sw.workloads.dag.generate import random_dag
from gnarl.sw.workloads.dag.workload import DagWorkload
from tests.support.dpu.dags import SHAPES, input_values, seeded_dag, shape
from tests.support.machines.fake_board import fake_board
from tests.support.machines.host_ports import FaultyPort, put_port
from tests.support.targets import ulp_target

CONFIG = "dpu_d1_b8"

BACKENDS = TARGETS["dpu"].executor.backends


@contextmanager
def on_backend(backend: str) -> Iterator[Device]:
    with ExitStack() as stack:
        port = (
            stack.enter_context(fake_board(load_configuration(CONFIG)))
            if backend == "fpga"
            else None
        )
        yield stack.enter_context(Device(CONFIG, backend, port=port))


@pytest.fixture(scope="module", params=BACKENDS)
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    with on_backend(request.param) as found:
        yield found


@pytest.fixture(scope="module")
def model() -> Device:
    return Device(CONFIG, "model")


def refused(kind: type[GnarlError], text: str) -> pytest.RaisesExc[GnarlError]:
    return pytest.raises(kind, match=f"^{re.escape(text)}$")


def require_right(device: Device, program: Program, inputs: np.ndarray) -> None:
    result = device.run(program, inputs)
    found = device.verify(result)
    assert (found.bit_exact, found.difference) == (True, "")
    outputs = np.asarray(result.outputs["outputs"])
    assert outputs.dtype == np.float32
    # NaN and infinities apart, float32 is near float64 for these few operations.
    assert found.max_rel_error < 1e-3 or not np.isfinite(outputs).all()
    # One instruction a cycle, HALT's own being the first of draining.
    config = DpuConfig.from_dict(program.config)
    issued = program.statistics["instructions"]
    assert result.cycles == config.start_cycles + issued - 1 + config.drain_cycles
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
    pairs = [(np.inf, -np.inf), (0.0, -0.0), (tiny, -tiny), (huge, huge), (np.inf, 0.0)]
    for pair in [*pairs, (np.nan, 1.0), (-np.inf, np.nan)]:
        inputs = np.array(pair)
        assert device.verify(device.run(program, inputs)).difference == ""


def test_values_by_name(device: Device) -> None:
    graph = nx.DiGraph()
    graph.add_node("half", op="const", value=0.5)
    graph.add_node("x", op="input")
    graph.add_node("y", op="mul")
    graph.add_edges_from([("half", "y"), ("x", "y")])
    result = device.run(device.compile(graph), {"x": 3.0})
    outputs = np.asarray(result.outputs["outputs"])
    assert (outputs.tolist(), outputs.dtype) == ([1.5], np.float32)
    assert result.scalars() == {"y": 1.5}


def test_a_machine_error_ends_the_run_and_not_the_device(device: Device) -> None:
    workload = random_dag(50, seed=1)
    program = device.compile(workload)
    launch = program.launches[0]
    stream = launch.sections["instructions"].copy()
    stream[0] = 0x0F  # no such opcode
    damaged = replace(launch, sections={**launch.sections, "instructions": stream})
    broken = replace(program, launches=(damaged,))
    model = "model cycle 3, instruction 0 at byte 0x0: ILLEGAL_OPCODE, detail 0xf"
    stopped = f"stopped after 4 cycles: error 1 (ILLEGAL_OPCODE), detail 15; {model}"
    text = model if device.backend == "model" else f"{device.backend} {stopped}"
    with refused(ProgramError, f"{workload.name}: {text}"):
        device.run(broken, workload.inputs)
    require_right(device, program, workload.inputs)


def test_all_backends_count_the_same() -> None:
    workload = DagWorkload("random", dag := seeded_dag(400, seed=5), input_values(dag, seed=5))
    results = []
    for backend in BACKENDS:
        with on_backend(backend) as device:
            results.append(device.run(device.compile(workload), workload.inputs))
    first = results[0]
    for other in results[1:]:
        assert (first.cycles, first.counters) == (other.cycles, other.counters)
        assert other.outputs["outputs"].tobytes() == first.outputs["outputs"].tobytes()


def test_a_program_for_another_configuration_is_refused(model: Device) -> None:
    program = Device("dpu_d2_b16", "model").compile(random_dag(20, seed=1))
    with refused(
        ProgramError,
        "program for another configuration: depth is 2, must be 1; banks is 16, must be 8; "
        "registers is 32, must be 16",
    ):
        model.run(program, np.zeros(20))


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ({"a": 1.0}, "graph: no value for input b"),
        ({"a": 1.0, "b": 2.0, "c": 3.0}, "graph: no input is called 'c'"),
        ([1.0], "graph: inputs have shape [1]: must be [2]"),
    ],
)
def test_bad_inputs_are_refused(model: Device, inputs: object, text: str) -> None:
    graph = nx.DiGraph()
    for name, op in (("a", "input"), ("b", "input"), ("y", "add")):
        graph.add_node(name, op=op)
    graph.add_edges_from([("a", "y"), ("b", "y")])
    program = model.compile(graph)
    with refused(WorkloadError, text):
        model.run(program, inputs)


FLOAT32_RANGE = "float32 holds -3.4028234663852886e+38 to 3.4028234663852886e+38"


@pytest.mark.parametrize(("at", "name"), [(0, "graph: input x"), (1, "node c: constant")])
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
    with refused(WorkloadError, f"{name} = {value}: {held}"):
        device.run(device.compile(graph), [values[0]])


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_fixed_point_has_no_infinity_and_no_nan(value: float) -> None:
    device = Device(load_configuration(CONFIG, ["format=fixed16.8"]), "model")
    graph = nx.DiGraph()
    graph.add_node("x", op="input")
    graph.add_node("y", op="neg")
    graph.add_edge("x", "y")
    text = f"graph: input x = {value}: fixed16.8 holds -128.0 to 127.99609375"
    with refused(WorkloadError, text):
        device.run(device.compile(graph), [value])


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
    with refused(ConfigError, "backend cuda: target dpu runs on rtl or fpga or model"):
        Device(CONFIG, "cuda")


def test_boards_need_a_port_and_nothing_else_has_one() -> None:
    with refused(
        ConfigError, "backend fpga: a port must be given, the board's, such as /dev/ttyUSB0"
    ):
        Device(CONFIG, "fpga")
    with refused(ConfigError, "port COM3: only for backend fpga: with rtl must be left out"):
        Device(CONFIG, port="COM3")
    with refused(ConfigError, "baud 9600: only for backend fpga: with model must be left out"):
        Device(CONFIG, "model", baud=9600)


def test_the_model_has_no_waves(tmp_path: Path) -> None:
    device = Device(CONFIG, "model", waves=tmp_path / "x.fst")
    workload = random_dag(20, seed=1)
    with refused(ConfigError, "waves: backend model shows no signals: must be left out"):
        device.run(device.compile(workload), workload.inputs)


@pytest.mark.slow
def test_waves_are_of_one_hardware(tmp_path: Path) -> None:
    hardware = NamedConfiguration("ulp", "", ulp_target.TARGET, ulp_target.UlpConfig(), {})
    with Device(hardware, waves=tmp_path / "x.fst") as device:
        moves = ulp_target.Moves("moves", {"steps": np.array([1]), "x": np.ones(1)})
        text = "waves: not supported where launches have different hardware"
        with refused(ConfigError, text):
            device.run(device.compile(moves), moves.inputs)


def test_a_board_is_one_hardware() -> None:
    hardware = NamedConfiguration("ulp", "", ulp_target.TARGET, ulp_target.UlpConfig(), {})
    moves = ulp_target.Moves("moves", {"steps": np.array([1]), "x": np.ones(1)})
    program = Device(hardware, "model").compile(moves)
    first = Device(hardware, "model").hardware(program, program.launches[0])
    with fake_board(first) as port, Device(hardware, "fpga", port=port) as device:
        text = "port: not supported where launches have different hardware"
        with refused(ConfigError, text):
            device.run(program, moves.inputs)


def test_an_error_of_one_launch_names_it() -> None:
    hardware = NamedConfiguration("ulp", "", ulp_target.TARGET, ulp_target.UlpConfig(), {})
    device = Device(hardware, "model")
    nan = np.array([0xFFFFFFFF - 3], np.uint32).view(np.float32)
    moves = ulp_target.Moves("moves", {"steps": np.array([3]), "x": nan})
    with refused(ProgramError, "moves, launch move: model row 0: OVERFLOW"):
        device.run(device.compile(moves), moves.inputs)


@pytest.fixture
def added() -> Iterator[tuple[Device, Program]]:
    """A device of the RTL, and the program that adds ``a`` and ``b``."""
    graph = nx.DiGraph()
    for name, op in (("a", "input"), ("b", "input"), ("y", "add")):
        graph.add_node(name, op=op)
    graph.add_edges_from([("a", "y"), ("b", "y")])
    with Device(CONFIG, "rtl") as device:
        yield device, device.compile(graph)


WRONG = "1 of 1 outputs differ; the first is y: "


def test_the_first_word_that_hardware_stores_wrongly_is_named(
    added: tuple[Device, Program],
) -> None:
    device, program = added
    put_port(device, FaultyPort)
    result = device.run(program, [1.0, 2.0])
    sections = program.launches[0].sections
    row, bank = sections["output_row"][0], sections["output_bank"][0]
    store = program.statistics["instructions"] - 2
    start = DpuConfig.from_dict(program.config).start_cycles
    assert device.verify(result).difference == (
        f"{WRONG}0x40400001, must be 0x40400000; instruction {store} in cycle "
        f"{start + store} stores 0x40400001 to row {row}, bank {bank}, the model 0x40400000"
    )


def test_a_wrong_program_and_wrong_hardware_have_different_errors(
    added: tuple[Device, Program],
) -> None:
    device, program = added
    launch = program.launches[0]
    product = np.array([PeOp.MUL], np.uint8)
    other = replace(launch, sections={**launch.sections, "tree_op": product})
    wrong = replace(program, launches=(other,))
    found = device.verify(device.run(wrong, [1.0, 2.0]))
    assert found.difference == (
        f"{WRONG}0x40400000, must be 0x40000000; machine and model store the same words: the "
        "program is wrong"
    )
    # What the machines hold now is another run's.
    result = device.run(wrong, [1.0, 2.0])
    device.run(program, [5.0, 6.0])
    assert device.verify(result).difference == f"{WRONG}0x40400000, must be 0x40000000"


def test_a_result_can_be_verified_after_its_device_is_closed(
    added: tuple[Device, Program],
) -> None:
    device, program = added
    result = device.run(program, [1.0, 2.0])
    device.close()
    assert device.verify(result).bit_exact
    forged = replace(result, outputs={"outputs": np.zeros(1, np.float32)})
    assert device.verify(forged).difference == f"{WRONG}0x00000000, must be 0x40400000"
