"""PointNet++ as loop nests: what a set abstraction means, and that machines compute that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.sram_compute_parts import workloads
from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.program import disassemble
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.runtime.report.stages import quiet
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.c import source as c_source
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.python import source as python_source
from gnarl.sw.workloads.loops.synthesise import synthesised
from gnarl.sw.workloads.loops.workload import LoopWorkload

SOURCE = Path(workloads.__file__).with_name("pointnet.c")
POINTS, CENTROIDS, NEIGHBOURS, SQUARED_RADIUS = 20, 8, 4, np.float32(1)

Arrays = dict[str, np.ndarray]


def set_abstraction() -> LoopWorkload:
    nest = c_source.read_file(SOURCE, "set_abstraction")
    values, sizes = synthesised(nest, {}, 3, {"points": POINTS})
    return LoopWorkload(nest.name, nest, values, sizes)


def float32_abstraction(given: Arrays) -> Arrays:
    """In the source's order, which additions and products of float32 need."""
    at, feature = given["at"], given["feature"]
    distance = np.full(POINTS, 1e30, np.float32)
    chosen = []
    for c in range(CENTROIDS):
        chosen.append(int(np.argmax(distance)) if c else 0)
        distance = np.minimum(distance, squares(at, at[:, chosen[-1]]))
    apart = np.stack([squares(at, at[:, each]) for each in chosen])
    neighbour = []
    for row in apart:
        near = np.flatnonzero(row < SQUARED_RADIUS)[:NEIGHBOURS]
        neighbour += [*near, *[near[0]] * (NEIGHBOURS - len(near))]
    owner = np.repeat(np.arange(CENTROIDS), NEIGHBOURS)
    relative = at[:, neighbour] - at[:, np.array(chosen)[owner]]
    x = np.concatenate([relative.T, feature[neighbour]], axis=1)
    layers = [x]
    for number in "123":
        layers.append(layer(layers[-1], given[f"w{number}"], given[f"b{number}"]))
    return {
        "chosen": np.array(chosen, np.int32),
        "distance": distance,
        "apart": apart,
        "neighbour": np.array(neighbour, np.int32),
        "owner": owner.astype(np.int32),
        "x": x,
        **{f"y{number}": layers[number] for number in (1, 2, 3)},
        "pooled": layers[3].reshape(CENTROIDS, NEIGHBOURS, -1).max(1),
    }


def squares(at: np.ndarray, centre: np.ndarray) -> np.ndarray:
    x, y, z = at - centre[:, None]
    return x * x + y * y + z * z


def layer(x: np.ndarray, w: np.ndarray, bias: np.ndarray) -> np.ndarray:
    found = np.repeat(bias, len(x), axis=0)
    for column, row in zip(x.T, w, strict=True):
        found = found + column[:, None] * row
    return np.maximum(found, np.float32(0))


def require_same(found: Arrays, wanted: Arrays) -> None:
    for name, array in wanted.items():
        assert found[name].dtype == array.dtype and (found[name] == array).all(), name


def test_a_set_abstraction_is_that_of_numpy():
    given = set_abstraction()
    found = GoldenLoops(given.nest).run(given.binding)
    require_same(found, float32_abstraction(dict(given.inputs)))
    groups = found["neighbour"].reshape(CENTROIDS, NEIGHBOURS)
    assert len({*found["chosen"].tolist()}) == CENTROIDS
    assert any(len({*group.tolist()}) < NEIGHBOURS for group in groups), "none is padded"
    assert any(len({*group.tolist()}) == NEIGHBOURS for group in groups), "all are padded"


IN_PYTHON = """
from gnarl.sw.workloads.loops.notation import float32, int32, nest, sizes

points, centroids, neighbours, rows, inputs, outputs = sizes(
    "points", "centroids", "neighbours", "rows", "inputs", "outputs"
)


@nest
def query(
    squared_radius: float32,
    apart: float32[centroids, points],
    neighbour: int32[centroids * neighbours],
    owner: int32[centroids * neighbours],
):
    for c in range(centroids):
        count = 0
        for p in range(points):
            if apart[c, p] < squared_radius and count < neighbours:
                neighbour[c * neighbours + count] = p
                count += 1
        for n in range(neighbours):
            owner[c * neighbours + n] = c
            if n >= count:
                neighbour[c * neighbours + n] = neighbour[c * neighbours]


@nest
def accumulate(x: float32[rows, inputs], w: float32[inputs, outputs], y: float32[rows, outputs]):
    for i in range(inputs):
        for r in range(rows):
            for o in range(outputs):
                y[r, o] += x[r, i] * w[i, o]


@nest
def rectify(y: float32[rows, outputs]):
    for r in range(rows):
        for o in range(outputs):
            y[r, o] = y[r, o] if y[r, o] > 0.0 else 0.0


@nest
def connect(
    x: float32[rows, inputs],
    w: float32[inputs, outputs],
    bias: float32[1, outputs],
    y: float32[rows, outputs],
):
    for r in range(rows):
        for o in range(outputs):
            y[r, o] = bias[0, o]
    accumulate(x, w, y)


@nest
def connect_relu(
    x: float32[rows, inputs],
    w: float32[inputs, outputs],
    bias: float32[1, outputs],
    y: float32[rows, outputs],
):
    connect(x, w, bias, y)
    rectify(y)
"""


@pytest.mark.parametrize("name", ["query", "connect_relu"])
def test_both_languages_say_the_same(name: str):
    in_python = python_source.read_source(IN_PYTHON, "pointnet.py", name)
    assert _in_order(in_python) == _in_order(c_source.read_file(SOURCE, name))


def _in_order(nest: Nest) -> Nest:
    return replace(nest, sizes=tuple(sorted(nest.sizes, key=lambda size: size.name)))


def test_several_scales_stand_side_by_side():
    """The scales are those of table 4: 64 + 128 + 128 features, then 128 + 256 + 256."""
    nest = c_source.read_file(SOURCE, "msg")
    widths = [nest.arrays[name].shape[1].value for name in ("pooled_1", "pooled_2", "pooled_3")]
    assert widths == [320, 640, 1024]


@pytest.mark.slow
@pytest.mark.parametrize("reassociate", [True, False])
def test_a_set_abstraction_in_the_places_of_the_fewest_cycles(reassociate: bool):
    pytest.importorskip("egglog")
    given = set_abstraction()
    inputs = {**given.inputs, **(given.sizes or {})}
    with Device("sram_b4", "model") as device:
        result = device.run(device.compile(given, reassociate=reassociate), inputs)
        assert device.verify(result).bit_exact
    if not reassociate:
        require_same(result.outputs, float32_abstraction(dict(given.inputs)))


@pytest.mark.slow
def test_a_set_abstraction_on_rtl():
    """In memory and on a slow core: both have parts of it."""
    pytest.importorskip("egglog")
    changes = ("core_lanes=2", "core_loads=1", "core_cache_bytes=1024")
    given, named = set_abstraction(), load_configuration("sram_b4", changes)
    inputs = {**given.inputs, **(given.sizes or {})}
    with Device(named, "rtl") as device:
        program = device.target.compiler.lowered(device.compile(given), inputs, named.config, quiet)
        commands = program.launches[0].sections["commands"]
        opcodes = {each.opcode for _, each in disassemble(commands)}
        assert {Opcode.CORE, Opcode.COMPUTE} <= opcodes
        result = device.run(program, inputs)
        assert device.verify(result).bit_exact
