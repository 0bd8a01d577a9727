"""What launches say that they compute: read back, and refused where it is damaged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.compiler.tmu.compile import compile
from gnarl.sw.compiler.tmu.meaning import Meaning, meaning_of
from gnarl.sw.compiler.tmu.sections import meaning
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature
from gnarl.sw.workloads.loops.embedding_model import ModelWorkload
from gnarl.sw.workloads.loops.expressions.tensor_expression import expression_workload
from gnarl.sw.workloads.loops.python.source import read_source
from gnarl.sw.workloads.loops.workload import LoopWorkload

CONFIG = TmuConfig(lanes=4)
SUMS = """
n, m = sizes('n', 'm')


@nest
def f(x: float32[m, 2], offsets: int32[n + 1], y: float32[n], z: float32[m]):
    for i in range(n):
        for j in range(offsets[i], offsets[i + 1]):
            y[i] += x[j, 0]
    for j in range(m):
        z[j] = x[j, 0] * x[j, 1]
"""


def test_offsets_of_bags_that_one_launch_of_two_reads() -> None:
    inputs = {"x": np.ones((5, 2), np.float32), "offsets": np.array([0, 2, 5], np.int32)}
    workload = LoopWorkload("f", read_source(SUMS, "file.py"), inputs, bag_offsets={"offsets": 5})
    program = compile(workload, CONFIG, trace=Trace())
    program.check()
    bags, products = (meaning(launch.sections) for launch in program.launches)
    assert "offsets" in bags.specs and "offsets" not in products.specs
    assert bags.bag_offsets == products.bag_offsets == {"offsets": 5}
    products.check({"x": inputs["x"]})
    with pytest.raises(WorkloadError, match=r"^offsets\[2\] = 4: must be 5, the number of indices"):
        bags.check({"offsets": np.array([0, 2, 4], np.int32)})


@pytest.mark.parametrize(
    "offsets, message",
    [
        ({"x": 5}, "bag_offsets: x: must be of one dimension"),
        ({"offsets": 5.0}, "bag_offsets: offsets = 5.0: must be a number"),
    ],
)
def test_offsets_that_are_none(offsets: Mapping[str, Any], message: str) -> None:
    made = Meaning(read_source(SUMS, "file.py"), {"n": 2, "m": 5}, bag_offsets=offsets)
    with pytest.raises(ValueError) as caught:
        meaning_of(made.texts, made.numbers)
    assert str(caught.value) == message


def test_features_of_a_model() -> None:
    model = EmbeddingModel("two", (Feature("a", 9, 4), Feature("b", 7, 4)))
    program = compile(ModelWorkload(model), CONFIG, trace=Trace(), opt=0)
    (launch,) = program.launches
    found = meaning(launch.sections)
    assert found.inputs(()) == launch.inputs == program.inputs
    assert found.outputs == program.outputs
    assert found.group is not None and found.group.features == model.features


def of_expression(text: str) -> Meaning:
    workload = expression_workload(text, {"B": np.eye(3), "C": np.tri(3)})
    (launch,) = compile(workload, CONFIG, trace=Trace(), opt=0).launches
    found = meaning(launch.sections)
    assert found.outputs == launch.outputs
    return found


@pytest.mark.parametrize("formats, shape", [("", ()), (" -f=Y:ss", (3, 3))])
def test_only_compressed_results_have_a_shape(formats: str, shape: tuple[int, ...]) -> None:
    found = of_expression(f"Y(i,j)=B(i,j)+C(i,j){formats} -f=B:ss -f=C:ss")
    assert found.shape == shape
    sizes, count = found.numbers[: len(found.sizes)], len(found.numbers)
    for numbers in ((*sizes, 3), (*sizes, 3, 3, 3)):
        with pytest.raises(ValueError) as caught:
            meaning_of(found.texts, numbers)
        assert str(caught.value) == f"{len(numbers)} numbers: must be {count}"


def test_results_that_a_compressed_expression_does_not_have() -> None:
    found = of_expression("Y(i,j)=B(i,j)+C(i,j) -f=Y:ss -f=B:ss -f=C:ss")
    results = ", ".join(found.results)
    texts = {**found.texts, "nest": found.texts["nest"].replace("Y_", "Z_")}
    with pytest.raises(ValueError) as caught:
        meaning_of(texts, found.numbers)
    assert str(caught.value) == f"results {results.replace('Y_', 'Z_')}: must be {results}"
