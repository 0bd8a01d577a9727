"""Random statements: what their graphs compute is what they mean, bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.config import SamConfig
from gnarl.sw.compiler.passes import named, without
from gnarl.sw.compiler.sam.compile import PASSES, compile
from gnarl.sw.compiler.sam.graph_pass import SamPass
from gnarl.sw.compiler.sam.lower import lower
from gnarl.sw.compiler.sam.passes import CLEANING
from gnarl.sw.compiler.sam.workload import SamWorkload
from gnarl.sw.golden.tensor import evaluate
from gnarl.sw.golden.words import from_words
from gnarl.sw.runtime.sam.image import bind, operands, result, result_rows
from gnarl.sw.runtime.sam.model.interpreter import interpret, machine_run, simulated
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.sam.expressions import Case, cases, make
from tests.support.sam.simulated import MOST_CYCLES

OPTIONAL = [each.name for each in PASSES if each.optional]


def dense(
    coordinates: np.ndarray, words: np.ndarray, shape: tuple[int, ...], format: str
) -> np.ndarray:
    """All words of a tensor; zeros have one sign only, as missing entries have none."""
    found = np.zeros((1, *shape), np.uint32)
    found[(np.zeros(len(words), np.int64), *coordinates.T)] = words
    found[from_words(found, format) == 0] = 0
    return found.reshape(shape)


def check(case: Case, format: str = "float32", passes: Sequence[SamPass] = PASSES) -> None:
    statement = parse(case.text)
    workload = SamWorkload("random", case.text, statement)
    program = compile(workload, SamConfig(format=format), passes=passes)
    config = SamConfig.from_dict(program.config)
    launch = program.launches[0]
    given_operands = operands(launch, bind(program, case.tensors))
    _, model = interpret(config, given_operands.image)
    simulation = simulated(config, given_operands.image, MOST_CYCLES)
    run = machine_run(config, given_operands.image, model, simulation, partial(result_rows, launch))
    shape = tuple(given_operands.sizes[index] for index in statement.result.indices)
    name = statement.result.tensor
    got = dense(*result(launch, given_operands, run.memory, name), shape, format)
    expected = dense(*evaluate(statement, given_operands.tensors, format), shape, format)
    np.testing.assert_array_equal(got, expected, case.text)


def check_unless_refused(case: Case, format: str, passes: Sequence[SamPass] = PASSES) -> None:
    """Some statements have no graph, and the error says why."""
    try:
        check(case, format, passes)
    except WorkloadError as error:
        refusals = (
            "; a sparse accumulator holds at most 2 indices, put ",
            " below a dense level that lies below level ",
        )
        assert any(refusal in str(error) for refusal in refusals), (case.text, str(error))


@pytest.mark.parametrize(
    "text",
    [
        "X(j,k)=b(j)-C(i,j,k) -f=b:s -f=C:ddd:1,0,2 -f=X:dd -s=reorder(j,i,k)",
        "X(j,k)=b(j)-C(i,j,k) -f=b:d -f=C:sdd:1,0,2 -f=X:sd -s=reorder(j,i,k)",
        "X(j,k)=b(j)-sum(i,exp(C(i,j,k))) -f=b:s -f=C:ddd:1,0,2 -f=X:dd -s=reorder(j,i,k)",
    ],
)
@pytest.mark.parametrize("sizes", list(product((0, 2), repeat=3)), ids=str)
def test_dimensions_without_coordinates(text: str, sizes: tuple[int, ...]) -> None:
    """What a dense level of size 0 gives looks like a fiber around it, which is taken for full."""
    tensors = {"b": Tensor.from_any(np.ones(sizes[1])), "C": Tensor.from_any(np.ones(sizes))}
    check(Case(text, tensors))


def test_results_without_elements_need_no_room_and_no_other_numbers() -> None:
    text = "X(j,k)=b(j)*c(k) -f=X:dd -s=reorder(j,k)"
    tensors = {"b": Tensor.from_any(np.ones(0)), "c": Tensor.from_any(np.full(1 << 20, 2.0))}
    check(Case(text, tensors))
    c = Tensor.from_any(np.array([1, 1e39]))
    with pytest.raises(WorkloadError, match=r"^c\[1\] = 1e\+39: float32 holds "):
        check(Case(text, {**tensors, "c": c}))


@settings(max_examples=75)
@given(cases(), st.sampled_from(["float32", "bfloat16", "float16"]))
def test_graphs_compute_what_statements_mean(case: Case, format: str):
    check_unless_refused(case, format)


@pytest.mark.slow
@settings(max_examples=5000)
@given(cases(), st.sampled_from(["float32", "bfloat16", "float16"]))
def test_many_graphs_compute_what_statements_mean(case: Case, format: str):
    check_unless_refused(case, format)


@settings(max_examples=50)
@given(cases(), st.sets(st.sampled_from(OPTIONAL), min_size=1))
def test_graphs_mean_the_same_without_optional_passes(case: Case, names: set[str]):
    kept = [each for each in PASSES if each.name not in names]
    assert without(PASSES, names) == tuple(kept)
    check_unless_refused(case, "float32", kept)


@settings(max_examples=25)
@given(cases(), st.sampled_from([each.name for each in CLEANING]))
def test_cleaning_again_changes_no_meaning(case: Case, name: str):
    order = [each.name for each in PASSES]
    order.insert(order.index(name), name)
    check_unless_refused(case, "float32", named(PASSES, order))


def test_few_statements_are_refused():
    refused = 0
    for seed in range(100):
        statement = parse(make(4, 4, seed).text)
        try:
            lower(statement)
        except WorkloadError:
            refused += 1
    assert refused < 5
