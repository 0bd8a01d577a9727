"""From workloads to programs that compute, bit for bit, what the golden model says."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.dpu.config import OUTPUT_INTERCONNECTS, DpuConfig
from gnarl.hw.dpu.isa import instruction_word_bits
from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.compiler.dpu.compile import (
    PASSES,
    compile,  # noqa: A004
)
from gnarl.sw.compiler.dpu.room import HASTY_OPERATIONS, fewest_bytes
from gnarl.sw.compiler.dpu.search import SEARCH
from gnarl.sw.compiler.dpu.sections import labels
from gnarl.sw.compiler.dpu.simplify import simplify
from gnarl.sw.compiler.passes import Trace, without
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.workloads.dag.builder import DagBuilder
from gnarl.sw.workloads.dag.dag import Dag, Op
from gnarl.sw.workloads.dag.generate import random_dag
from gnarl.sw.workloads.dag.workload import DagWorkload
from tests.support import errors
from tests.support.dpu.dags import SHAPES, dags, input_values, seeded_dag, shape
from tests.sw.compiler.dpu.passes import FORMATS, SMALL, built, configs, named, workload


def require_right(program: Program, config: DpuConfig, inputs: np.ndarray) -> None:
    """The model computes what the golden model does, in the cycles that the compiler promises."""
    device = Device(named(config), "model")
    result = device.run(program, inputs)
    verification = device.verify(result)
    assert verification.difference == ""
    assert verification.bit_exact
    found = program.statistics
    assert result.cycles == config.start_cycles + found["instructions"] - 1 + config.drain_cycles
    assert found["lower_bound"] <= found["instructions"]
    names = {"exec": "blocks", "load": "loads", "store": "stores", "nop": "nops"}
    for counter, name in names.items():
        assert result.counters[counter] == found[name]


@settings(max_examples=25, deadline=None)
@given(dags(max_nodes=300), configs(FORMATS), st.integers(0, 2**32 - 1))
def test_any_dag_on_any_machine_in_any_format(dag: Dag, config: DpuConfig, seed: int):
    source = workload(dag, seed)
    program = compile(source, config)
    require_right(program, config, source.inputs)
    assert fewest_bytes(simplify(dag), config) <= program.statistics["instruction_bytes"]


@pytest.mark.parametrize("name", SHAPES)
def test_odd_shapes(name: str):
    source = workload(shape(name))
    require_right(compile(source, SMALL), SMALL, source.inputs)


@pytest.mark.parametrize(
    ("depth", "banks", "interconnect", "overlap"),
    [
        (1, 8, "single", True),
        (2, 12, "layered", False),
        (3, 64, "layered", True),
        (4, 32, "crossbar", True),
    ],
)
def test_a_few_thousand_nodes(depth: int, banks: int, interconnect: str, overlap: bool):
    config = DpuConfig(
        depth=depth,
        banks=banks,
        registers=16,
        output_interconnect=interconnect,
        overlap=overlap,
        instruction_words=1 << 15,
    )
    source = workload(seeded_dag(3000, seed=depth))
    require_right(compile(source, config), config, source.inputs)


def test_new_values_run_without_compiling_again():
    dag = seeded_dag(200, seed=3)
    program = compile(workload(dag), SMALL)
    words = set()
    for seed in range(5):
        inputs = input_values(dag, seed)
        require_right(program, SMALL, inputs)
        words.add(Device(named(SMALL), "model").run(program, inputs).outputs["outputs"].tobytes())
    assert len(words) == 5


def test_infinities_and_nans_go_through():
    dag = seeded_dag(200, seed=3)
    inputs = input_values(dag, 1)
    inputs[::3] = np.inf
    inputs[1::5] = -np.inf
    program = compile(workload(dag), SMALL)
    assert np.isnan(Device(named(SMALL), "model").run(program, inputs).outputs["outputs"]).any()
    require_right(program, SMALL, inputs)


def test_without_reassociation_sums_round_from_left_to_right():
    dag = built(lambda builder: builder.operation(Op.ADD, [builder.input() for _ in range(60)]))
    values = np.random.default_rng(1).normal(size=60).astype(np.float32)
    source = DagWorkload("sum", dag, values.astype(np.float64))
    kept = compile(source, SMALL, reassociate=False)
    free = compile(source, SMALL)
    device = Device(named(SMALL), "model")
    expected = np.add.accumulate(values)[-1]
    assert device.run(kept, source.inputs).outputs["outputs"].tolist() == [expected]
    assert device.run(free, source.inputs).outputs["outputs"].tolist() != [expected]
    assert free.statistics["instructions"] < kept.statistics["instructions"]


def test_what_simplify_would_merge_is_computed_as_it_stands():
    def build(builder: DagBuilder) -> None:
        a, b = builder.input("a"), builder.input("b")
        products = [builder.operation(Op.MUL, [a, b]) for _ in range(3)]
        builder.operation(Op.ADD, products, name="sum")

    source = DagWorkload("equal", built(build), np.array([3.0, 5.0]))
    program = compile(source, SMALL, passes=without(PASSES, ["simplify"]))
    require_right(program, SMALL, source.inputs)
    assert program.statistics["operations"] == source.dag.operations == 5
    assert compile(source, SMALL).statistics["operations"] == 3


@pytest.mark.parametrize("places", [*product(range(3), repeat=2), *product(range(3), repeat=3)])
def test_lists_of_passes(places: tuple[int, ...]):
    """Right if a search comes first, and behind the last one what encodes its result."""
    source = workload(seeded_dag(20, seed=3))
    passes = [PASSES[place] for place in places]
    chosen = [each for each in passes if each is not PASSES[0]] or [SEARCH]
    first, last = chosen[0], chosen[-1]
    if SEARCH is first and SEARCH is not last:
        require_right(compile(source, SMALL, passes=passes), SMALL, source.inputs)
    else:
        taker = "program" if SEARCH is first else "pass encode"
        with errors.refused(f"{taker}: no pass before makes what it takes"):
            compile(source, SMALL, passes=passes)


def test_names_and_figures():
    def build(builder: DagBuilder) -> None:
        b, a = builder.input("b"), builder.input("a")
        product = builder.operation(Op.MUL, [a, b], name="product")
        same = builder.operation(Op.MUL, [b, a], name="same")
        builder.operation(Op.ADD, [product, same, builder.constant(2.0)], name="sum")
        builder.output(product)

    source = DagWorkload("named", built(build), np.array([3.0, 5.0]))
    program = compile(source, SMALL)
    assert program.workload == "named"
    assert labels(program.inputs[0]).tolist() == ["b", "a"]
    assert labels(program.outputs[0]).tolist() == ["product", "sum"]
    result = Device(named(SMALL), "model").run(program, {"a": 3.0, "b": 5.0})
    assert result.outputs["outputs"].tolist() == [15.0, 32.0]
    found = program.statistics
    assert (found["source_operations"], found["operations"]) == (4, 3)
    counted = ("blocks", "loads", "stores", "nops", "copies")
    assert found["instructions"] <= 1 + sum(found[name] for name in counted)
    assert found["instruction_bytes"] == len(program.launches[0].sections["instructions"])
    assert all(type(value) is int for value in found.values())


def test_progress_rises_to_1():
    shares: list[float] = []
    compile(workload(seeded_dag(100, seed=1)), SMALL, trace=Trace(progress=shares.append))
    assert shares == sorted(shares)
    assert 0 < shares[0] <= shares[-1] == 1


@pytest.mark.parametrize("seed", [1, 2, 77])
def test_any_seed_is_right(seed: int):
    source = workload(seeded_dag(150, seed=2))
    require_right(compile(source, SMALL, seed=seed), SMALL, source.inputs)


def digest(program: Program) -> str:
    """SHA-256 of all that a program consists of."""
    found = hashlib.sha256(repr(sorted(program.statistics.items())).encode())
    sections = program.launches[0].sections
    for name in sorted(sections):
        found.update(name.encode())
        found.update(sections[name].tobytes())
    return found.hexdigest()


def print_digests() -> None:
    """What the processes of the test below print."""
    for interconnect in OUTPUT_INTERCONNECTS:
        config = dataclasses.replace(SMALL, output_interconnect=interconnect)
        for seed in (0, 5):
            print(digest(compile(workload(seeded_dag(200, seed=seed)), config, seed=seed)))


def test_the_same_seed_gives_the_same_bytes_in_every_process():
    command = [
        sys.executable,
        "-c",
        f"from {__name__} import print_digests; print_digests()",
    ]
    processes = [
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[4],
            env=os.environ | {"PYTHONHASHSEED": seed},
        )
        for seed in ("1", "2")
    ]
    first, second = (process.communicate(timeout=300)[0].split() for process in processes)
    assert first == second
    assert len(set(first)) == 2 * len(OUTPUT_INTERCONNECTS)


def refused(text: str) -> pytest.RaisesExc[CapacityError]:
    return pytest.raises(CapacityError, match=f"^{re.escape(text)}$")


def test_a_data_memory_with_too_few_rows():
    source = workload(seeded_dag(250, seed=1))
    config = dataclasses.replace(SMALL, data_rows=8)
    texts = []
    for _ in range(3):
        with pytest.raises(CapacityError) as caught:
            compile(source, config)
        texts.append(str(caught.value))
    # Policies need different numbers of rows; which of them is named is not left to chance.
    assert len(set(texts)) == 1
    found = re.fullmatch(r"data_rows = 8: this DAG needs at least (\d+) rows", texts[0])
    assert found
    config = dataclasses.replace(SMALL, data_rows=int(found[1]))
    require_right(compile(source, config), config, source.inputs)


def test_a_memory_that_not_even_the_inputs_fit_in():
    source = workload(shape("star"))
    config = dataclasses.replace(SMALL, data_rows=4)
    with pytest.raises(CapacityError, match=r"^data_rows = 4: this DAG needs at least \d+ rows$"):
        compile(source, config)


def test_an_instruction_memory_with_too_few_words():
    source = workload(seeded_dag(100, seed=1))
    bits = 8 * compile(source, SMALL).statistics["instruction_bytes"]
    words = -(-bits // instruction_word_bits(SMALL))
    config = dataclasses.replace(SMALL, instruction_words=words - 1)
    with refused(f"instruction_words = {words - 1}: this DAG needs at least {words}"):
        compile(source, config)
    config = dataclasses.replace(SMALL, instruction_words=words)
    require_right(compile(source, config), config, source.inputs)


def test_a_large_dag_without_hope_is_refused_at_once():
    source = random_dag(HASTY_OPERATIONS, seed=0)
    config = DpuConfig(instruction_words=64)
    least = -(-8 * fewest_bytes(simplify(source.dag), config) // instruction_word_bits(config))
    assert least > 300
    trace = Trace()
    text = f"instruction_words = 64: this DAG needs more than {least - 1}, whatever its schedule"
    with refused(text):
        compile(source, config, trace=trace)
    assert list(trace.times) == ["simplify"]


def test_values_that_live_long_on_the_smallest_machine():
    # Every maximum takes 30 of all values before it: they are spilled and come back.
    def build(builder: DagBuilder) -> None:
        inputs = [builder.input() for _ in range(20)]
        random = np.random.default_rng(1)
        values = [
            builder.operation(Op.MUL, [inputs[a], inputs[b]])
            for a, b in random.integers(20, size=(80, 2))
        ]
        for _ in range(30):
            values.append(builder.operation(Op.MAX, random.choice(values, 30).tolist()))

    for overlap in (True, False):
        config = dataclasses.replace(SMALL, depth=1, overlap=overlap, instruction_words=1 << 15)
        source = workload(built(build))
        program = compile(source, config)
        assert program.statistics["spills"] > 0
        require_right(program, config, source.inputs)
