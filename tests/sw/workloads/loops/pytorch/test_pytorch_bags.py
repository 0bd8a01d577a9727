"""Bags of PyTorch as loop nests: offsets, weights, and what is made of several bags."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import embedding_bag

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.loops.ir.nest import For
from gnarl.sw.workloads.loops.ir.printer import print_nest
from gnarl.sw.workloads.loops.modules import module_workload
from tests.support.errors import refused
from tests.support.nests.pytorch_modules import bag, module, whole
from tests.support.nests.pytorch_nests import golden, require_same

FILE = Path(__file__).name
INDICES = torch.tensor([3, 0, 3, 9, 1])
OFFSETS = torch.tensor([0, 2, 2])


@pytest.mark.parametrize(
    "mode, last", [("sum", True), ("sum", False), ("mean", False), ("max", False)]
)
def test_bags(mode: str, last: bool) -> None:
    def forward(self, indices, offsets):
        return self.bag(indices, offsets)

    offsets = torch.tensor([0, 2, 2, 5]) if last else OFFSETS
    made = module(forward, bag=bag(mode, include_last_offset=last))
    workload = require_same(made, INDICES, offsets)
    assert {*workload.inputs} == {"indices", "offsets", "bag_weight"}
    assert workload.inputs["offsets"].tolist() == [0, 2, 2, 5]


WRONG_OFFSETS = [
    (False, [1, 3], "[0] = 1: must be 0"),
    (False, [-1, 3], "[0] = -1: must be 0"),
    (False, [5], "[0] = 5: must be 0"),
    (False, [0, 6], "[2] = 5: must be at least 6, as the one before"),
    (False, [0, 3, 2], "[2] = 2: must be at least 3, as the one before"),
    (True, [1, 5], "[0] = 1: must be 0"),
    (True, [0, 3], "[1] = 3: must be 5, the number of indices"),
    (True, [0, 2, 6], "[2] = 6: must be 5, the number of indices"),
    (True, [0], "[0] = 0: must be 5, the number of indices"),
    (True, [0, 4, 3, 5], "[2] = 3: must be at least 4, as the one before"),
]


def pooled(self, indices, offsets):
    return self.bag(indices, offsets)


@pytest.mark.parametrize(("last", "offsets", "message"), WRONG_OFFSETS)
def test_offsets_that_pytorch_refuses(last: bool, offsets: list[int], message: str) -> None:
    made = module(pooled, bag=bag("mean" if last else "sum", include_last_offset=last))
    place = f"{FILE}:{pooled.__code__.co_firstlineno + 1}:1"
    with refused(f"{place}: aten.embedding_bag.padding_idx: offsets{message}"):
        module_workload(made, (INDICES, torch.tensor(offsets)))


@pytest.mark.parametrize(("last", "offsets"), [(False, [0]), (False, [0, 5, 5]), (True, [0, 0, 5])])
def test_offsets_at_both_ends(last: bool, offsets: list[int]) -> None:
    require_same(module(pooled, bag=bag(include_last_offset=last)), INDICES, torch.tensor(offsets))


def test_offsets_of_a_parameter_are_checked_too() -> None:
    def forward(self, indices):
        return self.bag(indices, self.starts)

    made = module(forward, bag=bag())
    made.register_buffer("starts", torch.tensor([2, 3]))
    with pytest.raises(WorkloadError, match=r"starts\[0\] = 2: must be 0$"):
        module_workload(made, (INDICES,))


def test_offsets_in_place_of_the_module_s_are_checked_too() -> None:
    workload = module_workload(module(pooled, bag=bag()), (INDICES, OFFSETS))
    others = {**workload.inputs, "offsets": np.array([0, 2, 1, 5])}
    with refused("offsets[2] = 1: must be at least 2, as the one before"):
        assert replace(workload, inputs=others).binding


@pytest.mark.parametrize("mode", ("mean", "max"))
def test_bags_of_one_length(mode: str) -> None:
    def forward(self, indices):
        return self.bag(indices)

    require_same(module(forward, bag=bag(mode)), INDICES[:4].reshape(2, 2))


def test_weighted_bags() -> None:
    def forward(self, table, indices, offsets, weights):
        return embedding_bag(indices, table, offsets, mode="sum", per_sample_weights=weights)

    require_same(module(forward), whole(10, 6), INDICES, OFFSETS, whole(5))


def test_weighted_bags_of_one_length() -> None:
    def forward(self, table, indices, weights):
        return embedding_bag(indices, table, mode="sum", per_sample_weights=weights)

    require_same(module(forward), whole(10, 6), INDICES[:4].reshape(2, 2), whole(2, 2))


def test_sums_are_finished_in_their_loops() -> None:
    def forward(self, indices, offsets, scale):
        return 1 - torch.relu(self.bag(indices, offsets) * scale + 0.5)

    workload = require_same(module(forward, bag=bag()), INDICES, OFFSETS, whole(6))
    assert print_nest(workload.nest) == (
        "@nest\n"
        "def forward(offsets: int32[4], indices: int32[5], bag_weight: float32[10, 6], "
        "scale: float32[6], result: float32[3, 6]):\n"
        "    for i0 in range(3):\n"
        "        for i1 in range(offsets[i0], offsets[i0 + 1]):\n"
        "            for i2 in range(6):\n"
        "                result[i0, i2] += bag_weight[indices[i1], i2]\n"
        "        for i3 in range(6):\n"
        "            result[i0, i3] = 1.0 - max((result[i0, i3] * scale[i3]) + 0.5, 0.0)\n"
    )


def tables(self, i, o, j, p, x):
    pooled = self.a(i, o)
    return {"z": torch.relu(torch.cat([pooled, self.b(j, p), x], 1)) * 2, "of": (pooled, x)}


def test_several_results_and_sums() -> None:
    """What several take is computed once; parts of a result are stored into it."""
    workload = module_workload(
        module(tables, a=bag(), b=bag("mean")),
        (INDICES, OFFSETS, INDICES.flip(0), OFFSETS.clone(), whole(3, 4)),
    )
    assert print_nest(workload.nest).splitlines()[2:] == [
        "    for i0 in range(3):",
        "        for i1 in range(o[i0], o[i0 + 1]):",
        "            for i2 in range(6):",
        "                of_0[i0, i2] += a_weight[i[i1], i2]",
        "    for i3 in range(3):",
        "        for i4 in range(6):",
        "            z[i3, i4] = max(of_0[i3, i4], 0.0) * 2.0",
        "    for i5 in range(3):",
        "        for i6 in range(p[i5], p[i5 + 1]):",
        "            for i7 in range(6):",
        "                z[i5, i7 + 6] += b_weight[j[i6], i7]",
        "        for i8 in range(6):",
        "            z[i5, i8 + 6] = max(z[i5, i8 + 6] / float32(max(p[i5 + 1] - p[i5], 1)), 0.0) "
        "* 2.0",
        "    for i9 in range(3):",
        "        for i10 in range(4):",
        "            z[i9, i10 + 12] = max(x[i9, i10], 0.0) * 2.0",
        "    for i11 in range(3):",
        "        for i12 in range(4):",
        "            of_1[i11, i12] = x[i11, i12]",
    ]
    assert workload.temporaries == frozenset()
    assert {*golden(workload)} == {"z", "of_0", "of_1"}


def test_bags_that_share_offsets() -> None:
    def shared(self, i, j, o):
        return torch.cat([self.a(i, o), self.b(j, o)], 1)

    made = module(shared, a=bag(), b=bag("max"))
    workload = require_same(made, INDICES, INDICES.flip(0), OFFSETS)
    assert workload.inputs["o"].tolist() == [0, 2, 2, 5]
    line = shared.__code__.co_firstlineno + 1
    with refused(
        f"{FILE}:{line}:1: aten.embedding_bag.padding_idx: o ends bags of 5 look-ups elsewhere: "
        "must not end others of 3"
    ):
        module_workload(made, (INDICES, INDICES[:3], OFFSETS))


def test_only_the_first_result_of_a_bag_is_supported() -> None:
    def places(self, table, i, o):
        return torch.embedding_bag(table, i, o, False, 0, False, None, False, None)[1]

    place = f"{FILE}:{places.__code__.co_firstlineno + 1}:1"
    message = "places of maxima, sizes of bags, or moments: only values are supported"
    with refused(f"{place}: getitem: {message}"):
        module_workload(module(places), (whole(10, 6), INDICES, OFFSETS))


def test_one_bag_is_finished_in_its_loop() -> None:
    """Outside of it, what it becomes would be computed behind a launch."""
    workload = require_same(module(pooled, bag=bag("mean")), INDICES, torch.tensor([0]))
    (loop,) = workload.nest.body
    assert print_nest(workload.nest).count("for i") == 4
    assert isinstance(loop, For) and loop.variable == "i0"
