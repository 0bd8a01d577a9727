"""Graphs from files whose results have empty fibers: right for all data, or refused when read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from bench.sam_parts.suite import dense
from gnarl.sw.compiler.sam.dot_read import read_dot
from gnarl.sw.compiler.sam.dot_write import write_dot
from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.compiler.sam.workload import SamGraph
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.sam.graphs import undropped, variants
from tests.sw.compiler.sam.dialect import dialect
from tests.sw.compiler.sam.machine import meaning
from tests.sw.compiler.sam.test_dot import FILES, MORE, ordered

DENSITIES = (0.02, 0.1, 0.3, 0.6, 1.0)
SEEDS = 20

FORMATS = {
    "sss": "X(i,j,k)=B(i,j,k)*C(i,j,k) -f=X:sss -f=B:sss -f=C:sss",
    "ssss": "X(i,j,k,l)=B(i,j,k,l)*C(i,j,k,l) -f=X:ssss -f=B:ssss -f=C:ssss",
    "bss": "X(i,j,k)=B(i,j,k)*C(i,j,k) -f=X:bss -f=B:sss -f=C:bss",
    "sbb": "X(i,j,k)=B(i,j,k)*C(i,j,k) -f=X:sbb -f=B:bbs -f=C:sbb",
    "dss": "X(i,j,k)=B(i,j,k)*C(i,j,k) -f=X:dss -f=B:sss -f=C:sss",
    "dsss": "X(i,j,k,l)=B(i,j,k,l)*C(i,j,k,l) -f=X:dsss -f=B:dsss -f=C:ssss",
    "ssd": "X(i,j,k)=B(i,j,k)*C(i,j,k) -f=X:ssd -f=B:sss -f=C:sss",
    "sds": "X(i,j,k)=B(i,j,k)*C(i,j,k) -f=X:sds -f=B:sss -f=C:sss",
    "mixed": "X(i,j,k)=B(i,j,k)*C(i,j,k)+D(i,j,k)*c(k) -f=X:sss -f=B:sss -f=C:sss -f=D:sss -f=c:s",
    "rows": "X(i,j,k)=B(i,j)*C(i,k) -f=X:sss -f=B:ss -f=C:ss",
    "csr": "X(i,j,k)=B(i,j,k)*C(i,j,k) -f=X:sss -f=B:dss -f=C:sds",
    "sum": "X(i,j,k)=B(i,j,l)*C(i,k,l)*d(j) -f=X:sss -f=B:sss -f=C:sss -f=d:s -s=reorder(i,j,k,l)",
    "accumulated": "X(i,j,k)=B(i,j,l)*C(l,k)*D(i,j) -f=X:sss -f=B:sss -f=C:ss -f=D:ss "
    "-s=reorder(i,j,l,k)",
    "accumulated twice": "X(i,j,k)=B(i,l,j)*C(l,k)*d(i) -f=X:sss -f=B:sss -f=C:ss -f=d:s "
    "-s=reorder(i,l,j,k)",
    "zeros": "X(i,j,k)=B(i,j,k)-C(i,j,k)*d(j) -f=X:sss -f=B:ssd -f=C:sss -f=d:s",
    "lanes": "X(i,j,k)=B(i,j,k)*C(i,j,k) -f=X:sss -f=B:sss -f=C:sss -s=parallelize(j,2)",
}
TEXTS = {**SUITE, **MORE, **FORMATS}

NO_DROPS = """
4 mul
5 arrayvals tensor=B
6 intersect index=k
7 fiberlookup index=k tensor=B mode=2 format=compressed src=true root=false
8 intersect index=j
9 fiberlookup index=j tensor=B mode=1 format=compressed src=true root=false
10 intersect index=i
11 fiberlookup index=i tensor=B mode=0 format=compressed src=true root=true
12 fiberlookup index=i tensor=C mode=0 format=compressed src=true root=true
13 fiberlookup index=j tensor=C mode=1 format=compressed src=true root=false
14 fiberlookup index=k tensor=C mode=2 format=compressed src=true root=false
15 arrayvals tensor=C
0 fiberwrite mode=vals tensor=X sink=true
1 fiberwrite index=k tensor=X mode=2 format=compressed sink=true
2 fiberwrite index=j tensor=X mode=1 format=compressed sink=true
3 fiberwrite index=i tensor=X mode=0 format=compressed sink=true
4 -> 0 val
5 -> 4 val in-0
15 -> 4 val in-1
6 -> 5 ref out-B
7 -> 6 crd in-B
7 -> 6 ref in-B
14 -> 6 crd in-C
14 -> 6 ref in-C
8 -> 7 ref out-B
9 -> 8 crd in-B
9 -> 8 ref in-B
13 -> 8 crd in-C
13 -> 8 ref in-C
10 -> 9 ref out-B
11 -> 10 crd in-B
11 -> 10 ref in-B
12 -> 10 crd in-C
12 -> 10 ref in-C
10 -> 13 ref out-C
8 -> 14 ref out-C
6 -> 15 ref out-C
10 -> 3 crd
8 -> 2 crd
6 -> 1 crd
"""


@dataclass(frozen=True)
class File:
    """A graph as a file, and the statement that NumPy computes."""

    name: str
    dot: str
    text: str


def files(names: dict[str, str]) -> Iterator[File]:
    for name, text in names.items():
        for which, dot in variants(text):
            yield File(f"{name} {which}", dot, text)


def hand_written() -> Iterator[File]:
    for name, (formats, lines, text) in FILES.items():
        yield File(name, ordered(dialect(formats, lines), "id"), text)
    yield File("no drops", dialect("X=sss012,B=sss012,C=sss012", NO_DROPS), FORMATS["sss"])


@pytest.fixture(scope="module")
def device() -> Iterator[Device[Any]]:
    with Device(load_configuration("sam_fp32"), "model") as found:
        yield found


def check(device: Device[Any], file: File, densities: tuple[float, ...], seeds: int) -> None:
    """NumPy's result, at each density for so many seeds."""
    found = read_dot(file.dot, "x.gv")
    program = device.compile(SamGraph("x", found))
    expected = parse(file.text)
    for density in densities:
        for seed in range(seeds):
            rng = np.random.default_rng([seed, int(density * 100)])
            sizes = {index: int(rng.integers(1, 7)) for index in expected.order}
            if "bitvector" in str(expected.formats):
                sizes[expected.order[-1]] = int(rng.integers(30, 70))
            sizes = {index: sizes[name] for index, name in expected.size_names.items()}
            operands = {}
            for access in expected.operands:
                shape = tuple(sizes[index] for index in access.indices)
                kept = rng.random(shape) < density
                operands[access.tensor] = np.where(kept, rng.integers(-3, 4, shape), 0.0)
            result = device.run(program, operands)
            place = f"{file.name}, density {density}, seed {seed}"
            wanted = meaning(expected, operands, sizes)
            np.testing.assert_array_equal(dense(result), wanted, place)
            assert device.verify(result).difference == "", place


def test_an_intersection_without_drops_writes_empty_fibers(device: Device[Any]) -> None:
    (file,) = (each for each in hand_written() if each.name == "no drops")
    found = read_dot(file.dot, "x.gv")
    b = Tensor((2, 2, 2), np.array([[0, 0, 0], [1, 0, 0]]), np.array([2.0, 3.0]))
    c = Tensor((2, 2, 2), np.array([[0, 0, 0], [1, 0, 1]]), np.array([2.0, 3.0]))
    result = device.run(device.compile(SamGraph("x", found)), {"B": b, "C": c})
    (x,) = result.outputs.values()
    assert (x.coordinates.tolist(), x.values.tolist()) == ([[0, 0, 0]], [4.0])
    assert device.verify(result).difference == ""


def test_graphs_without_drops(device: Device[Any]) -> None:
    names = {name: FORMATS[name] for name in ("sss", "sds")}
    for file in files(names):
        check(device, file, (0.3,), 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sss", "sbb", "dss", "accumulated"])
def test_graphs_without_drops_on_rtl(name: str) -> None:
    text = FORMATS[name]
    file = File(name, write_dot(undropped(text), parse(text)), text)
    small = ("array_words=4096", "accumulator_words=512")
    with Device(load_configuration("sam_fp32", small), "rtl") as device:
        check(device, file, (0.1, 0.3, 1.0), 5)


@pytest.mark.slow
def test_hand_written_graphs_at_all_densities(device: Device[Any]) -> None:
    for file in hand_written():
        check(device, file, DENSITIES, SEEDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_graphs_without_drops_at_all_densities(device: Device[Any], name: str) -> None:
    for file in files({name: TEXTS[name]}):
        check(device, file, DENSITIES, SEEDS)
