"""The TMU as a device: the RTL runs what the compiler makes, and stops where the model stops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gnarl.hw.lib.encoding.execute_isa import Instruction, Opcode, Operand, Source
from gnarl.hw.lib.errors import ProgramError, WorkloadError
from gnarl.hw.tmu.access_isa import Event, EventKind, StreamKind
from gnarl.hw.tmu.access_program import AccessProgram, EventStep
from gnarl.hw.tmu.memory_map import ErrorCause
from gnarl.sw.compiler.tmu.sections import access_of
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.run.programs import load_program
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.operations.embedding_bag import embedding_bag_sum
from gnarl.sw.workloads.loops.operations.sparse_vectors import vector_product, vector_sum
from gnarl.sw.workloads.loops.python.source import read_source
from gnarl.sw.workloads.loops.sources import named_workload
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.tmu.programs import bags
from tests.support.tmu.sparse_fibers import LENGTH, PAIRS, vectors


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    with Device("tmu_l2") as device:
        yield device


@pytest.fixture(scope="module")
def model() -> Iterator[Device]:
    with Device("tmu_l2", "model") as device:
        yield device


@pytest.mark.parametrize("opt", (2, 4))
@pytest.mark.parametrize(
    "name",
    (
        "embedding_bag_max:tiny",
        "embedding_bag_lengths:tiny:L1",
        "block_gather:tiny",
        "spmm:tiny",
        "spmm_coo:tiny",
        "fused_mm:tiny",
        "knowledge_graph_l1:tiny",
        "knowledge_graph_l2:tiny",
    ),
)
def test_further_operations_on_rtl(device: Device, name: str, opt: int):
    workload = named_workload(name)
    program = device.compile(workload, opt=opt)
    assert device.verify(device.run(program, workload.inputs)).bit_exact


@pytest.mark.parametrize(
    "name",
    (
        "compressed_vector_sum:tiny",
        "matrix_sum:tiny",
        "matrix_product:tiny",
        "compressed_matrix_elementwise_product:tiny",
        "compressed_matrix_sum:tiny",
        "compressed_matrix_product:tiny",
    ),
)
def test_merging_on_rtl(device: Device, name: str):
    """Levels differ where there are vectors."""
    workload = named_workload(name)
    result = device.run(device.compile(workload), workload.inputs)
    assert device.verify(result).bit_exact


B, C = (
    np.random.default_rng(seed).standard_normal((6, 9)) * (np.arange(54).reshape(6, 9) % step < 2)
    for seed, step in enumerate((5, 7))
)
B[2], C[4] = 0, 0


@pytest.mark.parametrize(
    "text",
    (
        "X(i,j)=B(i,j)*C(i,j) -f=X:ss -f=B:ss -f=C:ss",
        "X(i,j)=B(i,j)+C(i,j) -f=X:ss -f=B:ss -f=C:ss",
        "X(i,k)=B(i,j)*C(k,j) -f=X:ds -f=B:ds -f=C:ds",
        "X(i,j)=2*B(i,j) -f=X:ds -f=B:ds",
    ),
)
def test_compressed_results_on_rtl(device: Device, text: str):
    operands = {name: array for name, array in (("B", B), ("C", C)) if f"{name}(" in text}
    program = device.compile((text, operands))
    result = device.run(program, operands)
    assert device.verify(result).bit_exact
    wanted = B + C if "+" in text else 2 * B if "2" in text else B * C if "ss" in text else B @ C.T
    np.testing.assert_allclose(result.outputs["X"].to_dense(), wanted, 1e-6, 1e-6)


def test_a_compressed_result_of_another_shape(model: Device):
    """Operands with as many entries, which arrays do not tell from those of the program."""
    text = "X(i,j)=B(i,j)*C(i,j) -f=X:ss -f=B:ss -f=C:ss"
    program = model.compile((text, {"B": B, "C": C}))
    wider = {name: np.pad(array, ((0, 0), (0, 3))) for name, array in (("B", B), ("C", C))}
    with pytest.raises(WorkloadError) as caught:
        model.run(program, wider)
    assert str(caught.value) == (
        "X is [6, 12] with these tensors: must be [6, 9], as the program's"
    )


@pytest.mark.parametrize("pair", ("both empty", "left empty", "equal", "disjoint"))
@pytest.mark.parametrize("nest", (vector_product, vector_sum))
def test_fibers_of_all_kinds_on_rtl(device: Device, nest: Nest, pair: str):
    inputs = vectors(*PAIRS[pair])
    program = device.compile(LoopWorkload("vectors", nest, inputs, {"length": LENGTH}))
    assert device.verify(device.run(program, inputs)).bit_exact


@pytest.mark.parametrize("opt", range(5))
@pytest.mark.parametrize(
    "name", ("embedding_bag:tiny", "embedding_bag_weighted:tiny:L2", "embedding_bag_mean:tiny:L1")
)
def test_operations_on_rtl(device: Device, name: str, opt: int):
    workload = named_workload(name)
    program = device.compile(workload, opt=opt)
    result = device.run(program, workload.inputs)
    assert device.verify(result).bit_exact
    counters = result.counters
    assert result.cycles is not None
    waits = [count for counter, count in counters.items() if counter.startswith("waits_")]
    assert counters["instructions"] + sum(waits) <= result.cycles
    assert counters["lines_read"] == counters["l2_misses"]


@pytest.mark.parametrize("opt, cycles", [*enumerate((6811, 3350, 1128, 1038, 446))])
def test_cycles_are_what_they_were(device: Device, opt: int, cycles: int):
    """Who changes them says so, here and in what was measured."""
    workload = named_workload("embedding_bag:tiny")
    assert device.run(device.compile(workload, opt=opt), workload.inputs).cycles == cycles


@pytest.mark.parametrize(
    "name", ("embedding_bag:tiny", "embedding_bag_max:tiny", "fused_mm:tiny", "matrix_sum:tiny")
)
def test_coupled_programs_on_rtl(device: Device, model: Device, name: str):
    workload = named_workload(name)
    program = device.compile(workload, coupled=True)
    result = device.run(program, workload.inputs)
    assert device.verify(result).bit_exact
    instructions = model.run(program, workload.inputs).counters["instructions"]
    assert result.counters["instructions"] == instructions
    assert result.counters["requests_in_flight"] == 0


@pytest.mark.parametrize("lengths", ([], [0], [1], [0, 0, 7]))
def test_few_and_empty_bags(device: Device, lengths: list[int]):
    values = bags(np.random.default_rng(len(lengths)), lengths, 6)
    inputs = {name: values[name] for name in ("table", "indices", "offsets")}
    for opt in (0, 1, 4):
        program = device.compile(LoopWorkload("bags", embedding_bag_sum, inputs), opt=opt)
        assert device.verify(device.run(program, inputs)).bit_exact


def test_the_model_takes_as_many_instructions_and_words(device: Device, model: Device):
    workload = named_workload("embedding_bag:tiny")
    program = device.compile(workload)
    rtl, other = (each.run(program, workload.inputs).counters for each in (device, model))
    assert rtl["instructions"] + rtl["jumps_joined"] == other["instructions"]
    assert 2 * rtl["vectors_queued"] + rtl["words_queued"] == other["words_queued"]
    assert rtl["tokens_queued"] == other["tokens_queued"]


def test_a_program_file(device: Device, tmp_path: Path):
    workload = named_workload("embedding_bag:tiny")
    device.compile(workload).save(tmp_path / "bags.npz")
    program = load_program(str(tmp_path / "bags.npz"), device.configuration)
    assert device.verify(device.run(program, workload.inputs)).bit_exact
    assert any(
        "load.v" in line or "store.v" in line for line in device.target.presenter.listing(program)
    )


def with_instructions(program: Program, instructions: list[Instruction]) -> Program:
    (launch,) = program.launches
    words = np.array([each.words() for each in instructions], np.uint32)
    sections = {**launch.sections, "instructions": words}
    return replace(program, launches=(replace(launch, sections=sections),))


def test_indices_outside_the_table_are_refused(device: Device):
    workload = named_workload("embedding_bag:tiny")
    program = device.compile(workload)
    indices = workload.inputs["indices"].copy()
    indices[3] = 64
    with pytest.raises(WorkloadError) as caught:
        device.run(program, {**workload.inputs, "indices": indices})
    assert str(caught.value).endswith(
        "table: index 64 in dimension 0: must be at least 0 and less than 64"
    )


def test_indices_outside_the_table_are_trapped(device: Device):
    """Hardware traps for drivers that do not look: the error names layer and stream."""
    workload = named_workload("embedding_bag:tiny")
    program = device.compile(workload)
    (launch,) = program.launches
    job = device.target.executor.job(program, launch, workload.inputs)
    job.operands.memory  # noqa: B018, made of good values
    job.operands.memory.reshape(-1)[launch.sections["bases"][1] + 3] = 64
    machine = device._machine(program, launch)
    machine.load(replace(job, image=device.target.executor.image(launch, job.operands)))
    machine.start()
    with pytest.raises(ProgramError, match="INDEX") as caught:
        machine.wait()
    config = device.configuration.config
    assert f"{2 * config.streams + 1}" in str(caught.value)


FIBERS = """\
n, m = sizes("n", "m")


@nest
def fibers(x: float32[n, m], ends: int32[n + 1], y: float32[9, m]):
    for i in range(n):
        for p in range(ends[i], ends[i + 1]):
            for e in range(m):
                y[p, e] = x[i, e]
"""


def test_places_outside_a_result_are_trapped(device: Device):
    """The access unit stores, and its error names layer and stream; the next run is right, its last
    store landed."""
    rng = np.random.default_rng(0)
    inputs = {
        "x": rng.standard_normal((4, 5)).astype(np.float32),
        "ends": np.array([0, 3, 3, 7, 9], np.int32),
    }
    nest = read_source(FIBERS, "file.py")
    program = device.compile(LoopWorkload(nest.name, nest, inputs))
    (launch,) = program.launches
    job = device.target.executor.job(program, launch, inputs)
    job.operands.memory.reshape(-1)[launch.sections["bases"][1] + 4] = 10
    machine = device._machine(program, launch)
    machine.load(replace(job, image=device.target.executor.image(launch, job.operands)))
    machine.start()
    with pytest.raises(ProgramError, match="INDEX") as caught:
        machine.wait()
    config = device.configuration.config
    layers = access_of(launch).layers
    kinds = [stream.kind for stream in layers[-1].units[0].streams]
    detail = (len(layers) - 1) * config.streams + kinds.index(StreamKind.ADDRESS)
    assert f"detail {detail}" in str(caught.value)
    result = device.run(program, inputs)
    assert device.verify(result).bit_exact
    assert result.counters["tokens_queued"] == 1
    assert result.counters["words_queued"] == result.counters["vectors_queued"] == 0


def test_offsets_that_decrease(device: Device):
    """Refused by the host; for drivers that do not look, an error names the layer."""
    workload = named_workload("embedding_bag:tiny")
    program = device.compile(workload)
    (launch,) = program.launches
    offsets = workload.inputs["offsets"].copy()
    offsets[3] = offsets[2] - 1
    with pytest.raises(WorkloadError) as caught:
        device.run(program, {**workload.inputs, "offsets": offsets})
    assert str(caught.value).endswith(
        f": offsets[3] = {offsets[3]}: must be at least {offsets[2]}, where the loop begins"
    )
    job = device.target.executor.job(program, launch, workload.inputs)
    job.operands.memory.reshape(-1)[launch.sections["bases"][2] + 3] = offsets[3]
    machine = device._machine(program, launch)
    machine.load(replace(job, image=device.target.executor.image(launch, job.operands)))
    machine.start()
    with pytest.raises(ProgramError, match="BOUNDS") as trapped:
        machine.wait()
    assert f"detail {device.configuration.config.streams}" in str(trapped.value)
    assert device.verify(device.run(program, workload.inputs)).bit_exact


@pytest.mark.parametrize("kind", (EventKind.WORD, EventKind.MASK))
@pytest.mark.parametrize(
    ("event", "place", "names"),
    ((Event.BEGIN, 0, 0), (Event.END, 0, 0), (Event.END, 1, 1), (Event.ITERATION, 1, 2)),
)
def test_events_of_layers_that_are_not_in_an_iteration(
    device: Device, model: Device, event: Event, place: int, names: int, kind: EventKind
):
    """They would wait for ever: refused by both."""
    workload = named_workload("embedding_bag:tiny")
    program = device.compile(workload)
    (launch,) = program.launches
    layers = list(access_of(launch).layers)
    events = layers[place].events
    steps = (EventStep(kind, names, stream=1), *events.get(event, ()))
    layers[place] = replace(layers[place], events={**events, event: steps})
    rows = AccessProgram(tuple(layers)).rows(device.configuration.config)
    broken = replace(program, launches=(replace(launch, sections={**launch.sections, **rows}),))
    for each in (device, model):
        with pytest.raises(ProgramError) as caught:
            each.run(broken, workload.inputs)
        where = f"layer {place}, {event.name}, step 0: layer = {names}: "
        assert str(caught.value).startswith(f"access program: {where}")
    assert device.verify(device.run(program, workload.inputs)).bit_exact


@pytest.mark.parametrize(
    "instruction, cause",
    [
        (Instruction(Opcode.LOAD, a=Operand(), immediate=1 << 20), ErrorCause.ADDRESS),
        (Instruction(Opcode.LOOP, a=Operand(), immediate=1), ErrorCause.CONTROL),
        (
            Instruction(Opcode.ADD, a=Operand(Source.DEQUEUE), b=Operand(Source.DEQUEUE)),
            ErrorCause.ENCODING,
        ),
        (Instruction(Opcode.ADD, a=Operand(Source.DEQUEUE)), ErrorCause.DEADLOCK),
    ],
)
def test_errors_of_the_execute_unit(device: Device, instruction: Instruction, cause: ErrorCause):
    values = bags(np.random.default_rng(0), [], 2)
    inputs = {name: values[name] for name in ("table", "indices", "offsets")}
    program = device.compile(LoopWorkload("bags", embedding_bag_sum, inputs))
    broken = with_instructions(program, [instruction, *[Instruction(Opcode.HALT)] * 20])
    with pytest.raises(ProgramError, match=cause.name):
        device.run(broken, inputs)
    assert device.verify(device.run(program, inputs)).bit_exact


@pytest.mark.parametrize(
    "instructions, problem",
    [
        (
            [Instruction(Opcode.JUMP, immediate=2), Instruction(Opcode.HALT)],
            "instruction 0: target = 2: must be below 2, their end",
        ),
        (
            [Instruction(Opcode.HALT), Instruction(Opcode.ADD)],
            "instructions: the last one must be HALT, JUMP or JUMP_TOKEN",
        ),
        (
            [Instruction(Opcode.JUMP_TOKEN, a=Operand(Source.DEQUEUE))],
            "instruction 0: JUMP_TOKEN: no operand can be of the data queue",
        ),
    ],
)
def test_instructions_that_are_refused(
    device: Device, model: Device, instructions: list[Instruction], problem: str
):
    workload = named_workload("embedding_bag:tiny")
    broken = with_instructions(device.compile(workload, coupled=True), instructions)
    for each in (device, model):
        with pytest.raises(ProgramError) as caught:
            each.run(broken, workload.inputs)
        assert str(caught.value) == problem
