"""Workloads of in-SRAM computing: that they run, wherever that is, and that they mean what they
say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bench.sram_compute_parts.workloads import (
    IN_PARTS,
    OTHERS,
    nest,
    python_nest,
    workload,
)
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.ir.nest import Nest
from tests.support.parameters import slow_but

EXAMPLES = (
    "array_sum",
    "conv2d",
    "gauss_elim",
    "mm",
    "scan",
    "stencil1d",
    "stencil2d",
    "vec_add",
)

IN_PYTHON = (
    "array_sum",
    "conv2d",
    "conv2d_int8",
    "dwt2d",
    "gather_mlp",
    "gather_mlp_inner",
    "gauss_elim",
    "kmeans",
    "kmeans_inner",
    "mm",
    "mm_inner",
    "mm_int8",
    "stencil1d",
    "stencil2d",
    "stencil3d",
    "vec_add",
)

SMALL = {
    **dict.fromkeys(("rows", "queries", "dimensions"), 4),
    **dict.fromkeys(("inputs", "outputs", "inner", "centres", "planes"), 3),
    **dict.fromkeys(("columns", "table"), 6),
    **dict.fromkeys(("n", "points"), 12),
    "steps": 1,
}


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    with Device("sram_b4", "model") as device:
        yield device


ALL = (*EXAMPLES, *OTHERS, *IN_PARTS)


@pytest.mark.parametrize("reassociate", [True, False])
@pytest.mark.parametrize("name", slow_but({*ALL} - {"conv3d"}, ALL))
def test_workloads_run_where_they_can(device: Device, name: str, reassociate: bool):
    """Graphs as they are planned: optimising them takes longer than all else."""
    names = {*(each.name for each in nest(name).sizes), *nest(name).scalars}
    given = workload(name, {each: SMALL[each] for each in names & {*SMALL}}, 1)
    inputs = {**given.inputs, **(given.sizes or {})}
    program = device.compile(given, reassociate=reassociate, optimise=False)
    result = device.run(program, inputs)
    assert device.verify(result).bit_exact
    if not reassociate:
        for array, wanted in GoldenLoops(given.nest).run(given.binding).items():
            assert result.outputs[array].tobytes() == wanted.tobytes(), array


@pytest.mark.parametrize("name", IN_PYTHON)
def test_both_languages_say_the_same(name: str):
    assert _in_order(python_nest(name)) == _in_order(nest(name))


def _in_order(nest: Nest) -> Nest:
    """With sizes, of which Python finds those first that arrays have first, by name."""
    return replace(nest, sizes=tuple(sorted(nest.sizes, key=lambda size: size.name)))


def run(name: str, values: dict[str, Any]) -> dict[str, np.ndarray]:
    found = nest(name)
    return GoldenLoops(found).run(bind(found, values))


def test_details_of_a_wavelet_transform_are_what_a_plane_lacks():
    """A plane is its own average, but for the last row and column, whose mirror it is not."""
    y, x = np.mgrid[:12, :10].astype(np.float32)
    found = run("dwt2d", {"a": 3 * y + 2 * x})
    assert (found["ll"][1:-1, 1:-1] == (3 * y + 2 * x)[2:-2:2, 2:-2:2]).all()
    assert not found["lh"][:, :-1].any() and not found["hl"][:-1].any()
    assert not found["hh"].any()
    assert (found["lh"][1:-1, -1] == 2).all()


@pytest.mark.parametrize("name", ["kmeans", "kmeans_inner"])
def test_a_round_of_k_means(name: str):
    chance = np.random.default_rng(2)
    points, centres = (chance.standard_normal((n, 3), np.float32) for n in (30, 4))
    centres[3] = 100
    nearest = np.square(points[:, None] - centres).sum(2).argmin(1)
    wanted = centres.copy()
    for c in range(3):
        wanted[c] = points[nearest == c].mean(0)
    turned = np.transpose if name == "kmeans" else np.asarray
    found = run(name, {"a": turned(points).copy(), "centre": turned(centres).copy()})
    assert (found["nearest"] == nearest).all()
    assert np.allclose(turned(found["centre"]), wanted, atol=1e-6)
    assert (turned(found["centre"])[3] == 100).all()


@pytest.mark.parametrize("name, bias", [("gather_mlp", (1, 5)), ("gather_mlp_inner", (5,))])
def test_a_layer_on_gathered_rows(name: str, bias: tuple[int, ...]):
    chance = np.random.default_rng(3)
    features, w = (chance.standard_normal(shape, np.float32) for shape in ((9, 4), (4, 5)))
    index, added = chance.integers(0, 9, 7, np.int32), chance.standard_normal(bias, np.float32)
    found = run(name, {"index": index, "features": features, "w": w, "bias": added})
    assert np.allclose(found["b"], np.maximum(features[index] @ w + added, 0), atol=1e-6)


def test_a_convolution_of_narrow_integers():
    chance = np.random.default_rng(4)
    a, w = (chance.integers(-128, 128, shape, np.int8) for shape in ((6, 7), (3, 3)))
    windows = np.lib.stride_tricks.sliding_window_view(a.astype(np.int32), (3, 3))
    found = run("conv2d_int8", {"a": a, "w": w})
    assert (found["b"][1:-1, 1:-1] == (windows * w.astype(np.int32)).sum((2, 3))).all()
