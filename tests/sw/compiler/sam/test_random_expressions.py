"""Random statements: what their graphs compute is what they mean, bit for bit."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given, settings

from hw.lib.errors import WorkloadError
from hw.sam.config import SamConfig
from sw.compiler.frontend.tensor import Tensor
from sw.compiler.sam.compile import compile
from sw.compiler.sam.parser import parse
from sw.compiler.sam.workload import SamWorkload
from sw.golden.sam import evaluate
from sw.runtime.model.sam import model
from sw.runtime.sam.image import image, operands, result, result_rows
from tests.support.sam_expressions import Case, cases


def dense(coordinates: np.ndarray, words: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """All words of a tensor; zeros have one sign only, as what is not there has none."""
    found = np.zeros((1, *shape), np.uint32)
    found[(np.zeros(len(words), np.int64), *coordinates.T)] = words
    found[found == 0x80000000] = 0
    return found.reshape(shape)


def check(case: Case, format: str = "float32") -> None:
    statement = parse(case.text)
    program = compile(SamWorkload("random", case.text, statement), SamConfig(format=format))
    config = SamConfig.from_dict(program.config)
    given_operands = operands(program, case.tensors)
    contents = image(program, given_operands)
    run = model(config, contents, partial(result_rows, program))
    shape = tuple(given_operands.sizes[index] for index in statement.result.indices)
    got = dense(*result(program, given_operands, run.memory), shape)
    expected = dense(*evaluate(statement, given_operands.tensors, format), shape)
    np.testing.assert_array_equal(got, expected, case.text)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(cases())
def test_model_and_golden_model_agree(case: Case):
    try:
        check(case)
    except WorkloadError as error:
        # Some statements have no graph, and the error says why.
        assert any(
            reason in str(error)
            for reason in ("a sparse accumulator holds at most", "below a dense level that lies")
        ), (case.text, str(error))
        assume(False)
