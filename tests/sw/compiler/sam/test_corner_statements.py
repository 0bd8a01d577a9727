"""Statements with corners: what their graphs compute is what they mean, or the error says why."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest

from gnarl.hw.lib.errors import ConfigError, GnarlError
from gnarl.hw.sam.config import SamConfig
from gnarl.sw.compiler.passes import named
from gnarl.sw.compiler.sam.compile import PASSES, compile
from gnarl.sw.compiler.sam.graph_pass import SamPass
from gnarl.sw.compiler.sam.workload import SamWorkload
from gnarl.sw.golden.tensor import evaluate
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sam.image import bind, operands, result, result_rows
from gnarl.sw.runtime.sam.model.interpreter import interpret, machine_run, simulated
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.tensor.parser import parse
from tests.support.errors import noted
from tests.support.sam.corner_statements import KINDS, LIMITS, Corner, corner
from tests.support.sam.simulated import MOST_CYCLES
from tests.sw.compiler.sam.test_random_expressions import dense

REFUSED = {"against", "diagonal", "own index", "own operand", "no such function"}


def check(case: Corner, passes: Sequence[SamPass] = PASSES) -> None:
    statement = parse(case.text)
    config = SamConfig(format=case.format, skip=case.skip)
    program = compile(SamWorkload("corner", case.text, statement), config, passes=passes)
    config, (launch,) = SamConfig.from_dict(program.config), program.launches
    given = operands(launch, bind(program, case.tensors))
    _, model = interpret(config, given.image)
    simulation = simulated(config, given.image, MOST_CYCLES)
    run = machine_run(config, given.image, model, simulation, partial(result_rows, launch))
    shape = tuple(given.sizes[index] for index in statement.result.indices)
    name = statement.result.tensor
    got = dense(*result(launch, given, run.memory, name), shape, case.format)
    meant = evaluate(statement, given.tensors, case.format, given.sum_lanes, given.blocks)
    expected = dense(*meant, shape, case.format)
    np.testing.assert_array_equal(got, expected)


def has_run(seed: int) -> bool:
    """Whether the statement has a graph, which is checked; if not, the error is one that its kinds
    explain."""
    case = corner(seed)
    with noted(f"{seed}: {case.text} in {case.format}"):
        try:
            check(case)
        except GnarlError as error:
            text = str(error)
            assert "\n" not in text
            assert any(each in text for each in (*case.refusals, *LIMITS)), text
            return False
        assert not case.kinds & {
            "against",
            "diagonal",
            "own index",
            "own operand",
            "no such function",
        }
    return True


def test_statements_with_corners() -> None:
    assert sum(map(has_run, range(100))) > 60


def check_passes(seed: int) -> None:
    """Passes that are left out, repeated and exchanged: right, or one line says why not."""
    rng, case = random.Random(seed), corner(seed)
    names = [each.name for each in PASSES if rng.random() < 0.85] or ["lower"]
    for _ in range(rng.choice((0, 0, 1, 2))):
        names.insert(rng.randint(0, len(names)), rng.choice([each.name for each in PASSES]))
    if rng.random() < 0.3:
        one, other = (rng.randrange(len(names)) for _ in range(2))
        names[one], names[other] = names[other], names[one]
    with noted(f"{seed}: {case.text} in {case.format}, {', '.join(names)}"):
        try:
            check(case, named(PASSES, names))
        except GnarlError as error:
            assert "\n" not in str(error)


def test_lists_of_passes() -> None:
    for seed in range(30):
        check_passes(seed)


@pytest.mark.slow
def test_many_lists_of_passes() -> None:
    for seed in range(30, 5000):
        check_passes(seed)


@pytest.mark.slow
def test_many_statements_with_corners() -> None:
    assert sum(map(has_run, range(100, 20_000))) > 12_000


def test_every_kind_of_corner_is_drawn() -> None:
    """Each in 1 of 100 at least, but for those that end a statement; no kind has no name."""
    counts = Counter(kind for seed in range(1000) for kind in corner(seed).kinds)
    assert set(counts) == set(KINDS)
    rare = {"diagonal", "own operand", "no such function"}
    assert {kind for kind in KINDS if counts[kind] < 10} <= rare
    assert all(counts[kind] >= 1 for kind in rare)


@pytest.mark.parametrize(
    "text",
    [
        "X(i,j)=B(i,j)*2 -s=parallelize(i,2)",
        "X(k,i)=B(j,k)*0.5 -f=B:bb:1,0 -f=X:bd:0,1 -s=reorder(k,i,j) -s=parallelize(k,2)",
        "X(i,j)=B(i,j)*B(i,j)-B(i,j) -f=B:sd -f=X:sd -s=parallelize(i,4)",
    ],
)
def test_lanes_with_a_dense_level_inside(text: str) -> None:
    with Device("sam_fp32", "model") as device:
        program = device.compile(text)
        for size in range(1, 7):
            operand = np.arange(size * size).reshape(size, size) % 3
            inputs = {"B": operand, "X": np.zeros((size, size))} if "k" in text else {"B": operand}
            assert device.verify(device.run(program, inputs)).difference == ""


@pytest.mark.parametrize("backend", ["model", "rtl"])
@pytest.mark.parametrize("function", ["exp", "sqrt", "sigmoid", "log"])
def test_functions_that_fixed_point_lacks(backend: str, function: str) -> None:
    configuration = load_configuration("sam_fp32", ("format=fixed16.8",))
    with Device(configuration, backend) as device, pytest.raises(ConfigError) as caught:
        device.compile(f"x(i)={function}(b(i)) -f=x:d -f=b:s")
    assert str(caught.value) == (
        f"block {function}: format = 'fixed16.8': {function} is not supported"
    )
