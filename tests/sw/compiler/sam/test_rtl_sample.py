"""Statements on the RTL of their graphs: equal to model and golden model, whatever the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest

from bench.lib.bits import same_bits
from bench.sam_parts.cases import SIZES, cases
from bench.sam_parts.suite import dense
from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.tensor.parser import parse
from tests.support.sam.expressions import make

SMALL = ("array_words=1024", "accumulator_words=512")

LINES = ("memory=lines", "memory_channels=2", "line_bytes=16", "memory_latency=9")

SAMPLE = ("mat_ds_compression",)

MIXED = {
    "bitvectors": ("X(i,j)=B(i,j)*C(i,j)+D(i,j) -f=X:bb -f=B:bb -f=C:sb -f=D:bs -s=reorder(i,j)"),
    "functions": "x(i)=sigmoid(b(i))*c(i)+relu(d(i)) -f=x:s -f=b:s -f=c:s -f=d:s",
    "logarithms": "x(i)=log(b(i))+log(max(c(i),d(i))) -f=x:d -f=b:s -f=c:s -f=d:d",
    "one tensor thrice": "X(i,l)=B(i,j)*B(j,k)*B(k,l) -f=X:dd -f=B:ss -s=reorder(i,j,k,l)",
    "dense rows": "X(i,j)=B(i,k)*C(k,j) -f=X:dd -f=B:ds -f=C:ds -s=reorder(i,k,j)",
}


def _few(names: Iterable[str]) -> list[Any]:
    """One of ``make test``, the others of ``make test-all``."""
    return [
        name if name == "dense rows" else pytest.param(name, marks=pytest.mark.slow)
        for name in names
    ]


def run_both(text: str, inputs: list[Mapping[str, Any]], *overrides: str) -> list[Any]:
    """Results on RTL, after a comparison with model and golden model."""
    configuration = load_configuration("sam_fp32", (*SMALL, *overrides))
    results = []
    with Device(configuration) as rtl, Device(configuration, "model") as model:
        program = rtl.compile(text)
        for each in inputs:
            result, expected = rtl.run(program, each), model.run(program, each)
            assert rtl.verify(result).difference == ""
            assert same_bits(result, expected)
            assert result.cycles == expected.cycles
            results.append(result)
    return results


def random_inputs(text: str, sizes: Mapping[str, int], seed: int) -> dict[str, Any]:
    random = np.random.default_rng([seed, *sizes.values()])
    found: dict[str, Any] = {}
    statement = parse(text)
    for access in statement.operands:
        shape = tuple(sizes[statement.size_names[index]] for index in access.indices)
        kept = random.random(shape) < random.choice([0.0, 0.2, 0.7, 1.0])
        found[access.tensor] = np.where(kept, random.standard_normal(shape), 0.0)
    return found


def run_kernel(kernel: str, *overrides: str) -> None:
    """Every case with integers, which must give NumPy's result, and with floats."""
    with_integers = [case.inputs(integers=True) for case in cases(kernel, seed=1)]
    with_floats = [case.inputs(integers=False) for case in cases(kernel, seed=1)]
    results = run_both(SUITE[kernel], [*with_integers, *with_floats], *overrides)
    for case, inputs, result in zip(cases(kernel, seed=1), with_integers, results, strict=False):
        expected = case.expected(inputs)
        assert np.array_equal(dense(result), expected), case


@pytest.mark.parametrize("kernel", SAMPLE)
def test_kernels(kernel: str) -> None:
    run_kernel(kernel)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [kernel for kernel in SUITE if kernel not in SAMPLE])
def test_all_kernels(kernel: str) -> None:
    run_kernel(kernel)


@pytest.mark.parametrize("name", _few(MIXED))
def test_mixed(name: str) -> None:
    text = MIXED[name]
    run_both(
        text, [random_inputs(text, SIZES[size], seed) for size in range(4) for seed in range(3)]
    )


EMPTY = {
    **MIXED,
    "sum": SUITE["tensor3_innerprod"],
    "full sums": "X(i,j)=B(i,k)*C(k,j) -f=X:dd -f=B:ss:1,0 -f=C:ss -s=reorder(k,i,j)",
}


@pytest.mark.parametrize(
    "name",
    _few(EMPTY),
)
def test_dimensions_of_size_zero(name: str) -> None:
    text = EMPTY[name]
    order = parse(text).order
    empty = [[index] for index in order] + [list(order)]
    run_both(
        text,
        [random_inputs(text, {**SIZES[1], **dict.fromkeys(one, 0)}, seed=1) for one in empty],
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 16))
def test_random_statements(seed: int) -> None:
    case = make(4, 4, seed)
    try:
        run_both(case.text, [case.tensors])
    except WorkloadError as error:
        pytest.skip(str(error))


def test_a_shared_memory_gives_the_same_results() -> None:
    run_kernel("matmul_ikj", "memory=shared", "memory_latency=9", "memory_in_flight=3")


def test_a_memory_of_lines_gives_the_same_results() -> None:
    run_kernel("matmul_ikj", *LINES)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16, 24))
def test_random_statements_in_lines(seed: int) -> None:
    case = make(4, 4, seed)
    try:
        run_both(case.text, [case.tensors], *LINES)
    except WorkloadError as error:
        pytest.skip(str(error))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MIXED if name != "dense rows"])
def test_mixed_in_lines(name: str) -> None:
    inputs = [random_inputs(MIXED[name], SIZES[size], seed) for size in range(4) for seed in (0, 1)]
    run_both(MIXED[name], inputs, *LINES)


@pytest.mark.slow
@pytest.mark.parametrize("bandwidth", [1, 8])
def test_shared_memories_of_every_width(bandwidth: int) -> None:
    run_kernel("matmul_ikj", "memory=shared", f"memory_bandwidth={bandwidth}")
