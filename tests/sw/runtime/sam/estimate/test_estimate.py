"""Estimates against runs: exact where all rows are run, and near where some are."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.errors import GnarlError, WorkloadError
from gnarl.hw.lib.machine.memory_map import NO_LIMIT
from gnarl.hw.sam.block_types import BLOCK_TYPES
from gnarl.hw.sam.config import SamConfig
from gnarl.sw.compiler.sam.fuse.regions import Region
from gnarl.sw.compiler.sam.fuse.schedule import Schedule
from gnarl.sw.compiler.sam.sections import graph_of
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.machine.cycle_limit import CycleLimitError
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sam.estimate.estimate import Estimate, LaunchEstimate, estimate
from gnarl.sw.runtime.sam.estimate.growth import grown
from gnarl.sw.runtime.sam.estimate.sample import SampledOperands
from gnarl.sw.runtime.sam.estimate.scale import LaunchWork
from gnarl.sw.runtime.sam.figures import figures, longest_stream, operations
from gnarl.sw.runtime.sam.image import operands
from gnarl.sw.runtime.sam.traffic import traffic
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.einsum.text import parse_program, program_text
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.errors import noted
from tests.support.sam.models import CONFIG, compiled, model_of
from tests.support.sam.programs import make_program

ALL = 10**9
LARGE = replace(CONFIG, accumulator_words=1 << 20)


# Where all rows are run.


def check_exact(device: Device[Any], program: Program, tensors: Mapping[str, Any]) -> None:
    """The estimate from all rows is what the report of a run says."""
    found, result = estimate(program, tensors, ALL), device.run(program, tensors)
    expected = figures(program, result)
    assert found.operations == expected.operations
    assert found.bytes == expected.bytes
    longest = sum(each.longest_stream for each in found.launches)
    assert longest == expected.statistics["longest_stream"]
    for each, run in zip(found.launches, result.launches, strict=True):
        of_launch = expected.launches[each.name]
        assert each.name == run.launch.name
        assert (each.index, each.share) == ("", 1.0)
        assert each.cycles == run.finished.cycles
        assert each.operations == of_launch["ops"]
        assert each.bytes == of_launch["bytes"]
        assert each.longest_stream == of_launch["longest_stream"]
        for name, array in run.finished.outputs.items():
            check_same(found.tensors[name], array)
    for name, array in result.outputs.items():
        check_same(found.tensors[name], array)


def check_same(one: Any, other: Any) -> None:
    """The same kind of array, with the same entries and their values."""
    assert type(one) is type(other)
    if isinstance(one, Tensor):
        assert one.shape == other.shape
        np.testing.assert_array_equal(one.coordinates, other.coordinates)
        one, other = one.values, other.values
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("memory", ["local", "shared", "lines"])
def test_all_rows_of_random_programs(memory: str) -> None:
    count = 0
    named = load_configuration("sam_fp32", (f"memory={memory}", "array_words=4096"))
    with Device(named, "model") as device:
        for seed in range(0, 60, 1 if memory == "local" else 3):
            case, rng = make_program(seed, moving=seed % 3 == 0), random.Random(seed)
            regions = tuple(map(Region, case.groups(rng)))
            with noted(f"{seed}: {program_text(case.program)}"):
                try:
                    program = device.compile_workload(
                        model_of(case.program, case.tensors), schedule=Schedule(regions=regions)
                    )
                except WorkloadError:
                    continue
                check_exact(device, program, case.tensors)
                count += 1
    assert count > 10


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "sam_fabric_ml",
            "t(i,j)=sum[k](A(i,k)*B(k,j)); y(i,j)=relu(t(i,j)) -f=A:ds -f=B:dd -f=t:dd -f=y:dd",
        ),
        (
            "sam_fabric_small",
            "t(i,j)=sum[k](A(i,k)*B(k,j)); y(i,j)=t(i,j)+C(i,j) -f=A:ss -f=B:ss -f=t:ss -f=C:ss "
            "-f=y:ss",
        ),
    ],
)
def test_fabrics(name: str, text: str) -> None:
    """Units that are not in use have counters, too."""
    tensors = {"A": alike(0, 16, 9, 4), "B": sparse(1, 9, 7, 0.4), "C": alike(2, 16, 7, 3)}
    tensors = {each: tensors[each] for each in tensors if f"{each}(" in text}
    with Device(name, "model") as device:
        program = device.compile((text, tensors), fuse="none")
        check_exact(device, program, tensors)
    part, whole = (estimate(program, tensors, rows) for rows in (4, ALL))
    assert [each.index for each in part.launches] == ["i", "i"]
    assert part.operations == whole.operations
    assert part.bytes == pytest.approx(whole.bytes, rel=0.01)
    check_same(part.tensors["y"], whole.tensors["y"])


# Where rows are alike.


def test_lines_grow_as_rows_do() -> None:
    """Every row of A is as long, and reads all of B."""
    text = "y(i,j)=A(i,k)*B(k,j) -f=A:ds -f=B:dd -f=y:dd -s=reorder(i,k,j)"
    tensors = {"A": alike(0, 64, 16, 8), "B": sparse(1, 16, 48, 1.0)}
    named = load_configuration("sam_fp32", ("memory=lines", "memory_latency=20"))
    with Device(named, "model") as device:
        program = device.compile(text)
        (run,) = device.run(program, tensors).launches
    part, whole = (estimate(program, tensors, rows) for rows in (8, ALL))
    assert part.launches[0].index == "i"
    lines = sum(
        count
        for name, count in run.finished.counters.items()
        if name.startswith("lines_") and not name.removeprefix("lines_").isdigit()
    )
    assert whole.line_bytes == 64 * lines
    assert part.line_bytes == pytest.approx(whole.line_bytes, rel=0.02)
    assert part.cycles == pytest.approx(whole.cycles, rel=0.03)


def sparse(seed: int, rows: int, columns: int, density: float) -> np.ndarray:
    noise = np.random.default_rng([seed, rows, columns])
    kept = noise.random((rows, columns)) < density
    return np.where(kept, noise.integers(1, 9, kept.shape) / 8, 0.0)


def alike(seed: int, rows: int, columns: int, count: int) -> np.ndarray:
    """Equal rows."""
    noise = np.random.default_rng([seed, rows, columns])
    found = np.zeros((rows, columns))
    places = noise.choice(columns, count, replace=False)
    found[:, places] = noise.integers(1, 9, count) / 8
    return found


PRODUCT = "y(i,j)=sum[k](A(i,k)*B(k,j)) -f=A:{} -f=B:{} -f=y:{} -s=reorder(y:{})"
ALIKE: dict[str, tuple[str, tuple[Region, ...]]] = {
    "rows": (PRODUCT.format("ds", "ds", "ss", "i,k,j"), ()),
    "inner products": (PRODUCT.format("ds", "ds:1,0", "ss", "i,j,k"), ()),
    "outer products": (PRODUCT.format("ds:1,0", "ds", "ss", "k,i,j"), ()),
    "rows inside": (PRODUCT.format("ss:1,0", "ss:1,0", "ss:1,0", "j,k,i"), ()),
    "rows inside, behind both": (PRODUCT.format("ss:1,0", "ds", "ss:1,0", "k,j,i"), ()),
    "bitvectors": (PRODUCT.format("bb", "sb", "bb", "i,k,j"), ()),
    "bitvectors of rows, inside": (PRODUCT.format("sb:1,0", "sb:1,0", "bb:1,0", "j,k,i"), ()),
    "lanes": (PRODUCT.format("ds", "ds", "ss", "i,k,j"), (Region(("y",), lanes=(("i", 4),)),)),
    "lanes that sum": (
        PRODUCT.format("ds", "ds", "ss", "i,k,j"),
        (Region(("y",), lanes=(("k", 4),)),),
    ),
    "a sum of matrices": ("y(i,j)=A(i,j)+D(i,j) -f=A:ss -f=D:ss -f=y:ss", ()),
    "functions of sums": (
        "t(i,j)=sum[k](A(i,k)*B(k,j)); y(i,j)=relu(t(i,j)-0.5) -f=A:ds -f=B:ds -f=y:dd",
        (Region(("t", "y")),),
    ),
    "softmax": (
        "m(i)=max[j](A(i,j)); e(i,j)=M(i,j)*exp(A(i,j)-m(i)); z(i)=sum[j](e(i,j)); "
        "y(i,j)=e(i,j)/z(i) -f=A:ds -f=M:ds -f=y:ds",
        (),
    ),
}


@pytest.mark.parametrize("name", ALIKE)
def test_rows_that_are_alike(name: str) -> None:
    text, regions = ALIKE[name]
    first = alike(1, 256, 40, 7)
    tensors = {
        "A": first,
        "B": sparse(2, 40, 12, 0.3),
        "D": alike(3, 256, 40, 5),
        "M": (first != 0).astype(float),
    }
    tensors = {each: tensors[each] for each in tensors if f"{each}(" in text}
    program = compiled(text, tensors, regions, config=LARGE)
    part, whole = estimate(program, tensors, 64), estimate(program, tensors, ALL)
    for one, other in zip(part.launches, whole.launches, strict=True):
        assert one.index == "i"
        assert one.share == pytest.approx(0.25)
        assert one.operations == pytest.approx(other.operations, rel=0.02)
        assert one.bytes == pytest.approx(other.bytes, rel=0.02)
        assert one.longest_stream == pytest.approx(other.longest_stream, rel=0.03)
        assert one.cycles == pytest.approx(other.cycles, rel=0.08)
    for each, array in whole.tensors.items():
        check_same(part.tensors[each], array)


def test_rows_of_two_kinds() -> None:
    """What launches leave has each row as one of its kind, and so all that follows is right."""
    is_heavy = np.random.default_rng(0).permutation(np.arange(120) < 48)  # 12 groups of 4
    a = np.where(is_heavy[:, np.newaxis], alike(1, 120, 40, 12), alike(2, 120, 40, 3))
    tensors = {"A": a, "B": sparse(3, 40, 12, 0.3), "C": sparse(4, 12, 9, 0.4)}
    text = (
        "t(i,j)=sum[k](A(i,k)*B(k,j)); u(l,i)=relu(sum[j](t(i,j)*C(j,l))-2.0); y(i)=sum[l](u(l,i)) "
        "-f=A:ds -f=B:ds -f=C:ds -f=t:ss -f=u:ss -f=y:d"
    )
    program = compiled(text, tensors, config=LARGE)
    part, whole = estimate(program, tensors, 30), estimate(program, tensors, ALL)
    assert [each.index for each in part.launches] == ["i", "i", "i"]
    for name, array in whole.tensors.items():
        check_same(part.tensors[name], array)
    assert part.operations == pytest.approx(whole.operations, rel=0.01)


# Random rows.


def skewed(seed: int, rows: int, columns: int, mean: float, shape: float = 1.5) -> np.ndarray:
    """Few rows have most of the entries."""
    noise = np.random.default_rng([seed, rows, columns])
    weights = noise.pareto(shape, rows) + 0.2
    lengths = np.minimum(columns, noise.poisson(weights * mean / weights.mean()))
    found = np.zeros((rows, columns))
    for row, length in zip(found, lengths, strict=True):
        row[noise.choice(columns, length, replace=False)] = noise.integers(1, 9, length) / 8
    return found


def ratios(
    text: str,
    tensors: Mapping[str, Any],
    regions: Sequence[Region] = (),
    rows: int = 64,
    config: SamConfig = LARGE,
) -> dict[str, float]:
    """What is estimated from some rows, over what is true, of a program's only launch."""
    program = compiled(text, tensors, regions, config=config)
    (one,), (other,) = (estimate(program, tensors, each).launches for each in (rows, ALL))
    assert one.index
    names = "cycles", "operations", "bytes", "longest_stream"
    return {name: getattr(one, name) / getattr(other, name) for name in names}


def check_near(found: Mapping[str, float], **tolerances: float) -> None:
    for name, tolerance in tolerances.items():
        assert found[name] == pytest.approx(1.0, abs=tolerance), name


@pytest.mark.parametrize("seed", range(3))
def test_products_of_skewed_rows(seed: int) -> None:
    """What comes before sums follows from operands, so that it is exact however rows differ."""
    tensors = {"A": skewed(seed, 300, 200, 6), "B": sparse(seed, 200, 50, 0.3)}
    for name, tolerance in (("rows", 0.05), ("inner products", 0.15), ("bitvectors", 0.05)):
        found = ratios(ALIKE[name][0], tensors)
        check_near(found, operations=0.002, bytes=0.04, longest_stream=tolerance, cycles=tolerance)


@pytest.mark.parametrize("letters", ["ss", "ds", "sb", "bb"])
@pytest.mark.parametrize("order", ["k,i,j", "k,j,i", "j,k,i"])
def test_rows_inside_of_other_loops(order: str, letters: str) -> None:
    """Fibers of rows that are few end as often as those of all."""
    of_a = "1,0"  # k is outside of i
    of_b = "0,1" if order[0] == "k" else "1,0"
    of_y = "0,1" if order == "k,i,j" else "1,0"
    text = PRODUCT.format(f"{letters}:{of_a}", f"{letters}:{of_b}", f"ss:{of_y}", order)
    tensors = {"A": skewed(0, 300, 150, 6), "B": sparse(0, 150, 25, 0.3)}
    found = ratios(text, tensors)
    check_near(found, operations=0.002, bytes=0.03, longest_stream=0.03, cycles=0.15)


@pytest.mark.parametrize("letters", ["ss", "ds"])
@pytest.mark.parametrize("order", ["k,i,j", "k,j,i"])
def test_loops_around_rows_with_little_for_each(order: str, letters: str) -> None:
    """Most coordinates of k have no entry in the rows that are run, but have one in others."""
    of_y = "0,1" if order == "k,i,j" else "1,0"
    text = PRODUCT.format(f"{letters}:1,0", letters, f"ss:{of_y}", order)
    tensors = {"A": sparse(0, 400, 300, 0.004), "B": sparse(0, 300, 30, 0.05)}
    tolerance = 0.03 if letters == "ss" else 0.2
    check_near(ratios(text, tensors), operations=0.01, bytes=0.03, longest_stream=tolerance)


@pytest.mark.parametrize("seed", range(3))
def test_lanes_of_skewed_rows(seed: int) -> None:
    """Lanes of few rows are less even than those of all, which is known."""
    tensors = {"A": skewed(seed, 400, 60, 5, 1.2), "B": sparse(seed, 60, 20, 0.5)}
    text = PRODUCT.format("ds", "ds", "ss", "i,k,j")
    for lanes in (4, 18):
        found = ratios(text, tensors, (Region(("y",), lanes=(("i", lanes),)),))
        check_near(found, operations=0.01, longest_stream=0.03, cycles=0.35)


def test_lanes_of_skewed_rows_behind_sums() -> None:
    tensors = {"A": skewed(1, 600, 600, 4, 1.3), "B": sparse(1, 600, 24, 0.4)}
    tensors["C"] = sparse(1, 24, 8, 1.0)
    text = (
        "t(i,k)=sum[l](A(i,l)*B(l,k)); y(i,j)=sum[k](t(i,k)*C(k,j)) -f=A:ds -f=B:ds -f=C:dd -f=y:dd"
    )
    found = ratios(text, tensors, (Region(("t", "y"), lanes=(("i", 8),)),), 128)
    check_near(found, operations=0.02, bytes=0.02, longest_stream=0.03, cycles=0.35)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("columns", [20, 2000])
def test_products_behind_sums(columns: int, seed: int) -> None:
    """Of many columns nearly each product has its own, of few all rows have nearly every one."""
    tensors = {
        "A": skewed(seed, 400, 300, 5, 1.2),
        "B": sparse(seed, 300, columns, 6 / columns),
        "C": sparse(seed, columns, 4, 1.0),
    }
    text = (
        "t(i,k)=sum[l](A(i,l)*B(l,k)); y(i,j)=sum[k](t(i,k)*C(k,j)) -f=A:ds -f=B:ds -f=C:dd -f=y:dd"
    )
    found = ratios(text, tensors, (Region(("t", "y")),))
    check_near(found, operations=0.02, bytes=0.02, longest_stream=0.02)


def test_lanes_of_rows_that_are_not_all_there() -> None:
    """Rows without entries are dealt to none."""
    a = skewed(2, 300, 40, 5)
    a[::2] = 0
    tensors = {"A": a, "B": sparse(2, 40, 20, 0.5)}
    text = PRODUCT.format("ss", "ds", "ss", "i,k,j")
    found = ratios(text, tensors, (Region(("y",), lanes=(("i", 2),)),))
    check_near(found, operations=0.01, longest_stream=0.03)


# Counters.


def every_program() -> Iterator[tuple[Program, Mapping[str, Any]]]:
    """Whose graphs have blocks of all types that are compiled to."""
    tensors = {
        "A": sparse(0, 9, 8, 0.4),
        "B": sparse(1, 8, 7, 0.4),
        "C": sparse(2, 9, 7, 0.4),
        "E": sparse(4, 9, 7, 0.4),
        "d": sparse(3, 1, 9, 0.5)[0],
    }

    def of(text: str, *regions: Region) -> tuple[Program, Mapping[str, Any]]:
        own = {name: each for name, each in tensors.items() if f"{name}(" in text}
        return compiled(text, own, regions), own

    for name, (text, regions) in ALIKE.items():
        if "softmax" not in name and "D(" not in text:
            yield of(text, *regions)
    lanes = Region(("y",), lanes=(("i", 18),))
    yield of("y(i,j)=A(i,j)*exp(A(i,j))+d(i) -f=A:bs -f=d:b -f=y:ss", lanes)
    yield of("y(i,j)=max(sum[k](A(i,k)*B(k,j)),C(i,j)) -f=A:bb -f=B:bb -f=C:bb -f=y:bb")
    yield of("y(i,j)=A(i,j)*A(i,j)+A(i,j)*d(i) -f=A:sb -f=d:d -f=y:sb")
    yield of("y(i,j)=C(i,j)*E(i,j) -f=C:bb -f=E:bb -f=y:bb")
    yield of("y(i)=sum[j](C(i,j)) -f=C:ds -f=y:d", Region(("y",), lanes=(("i", 2),)))
    yield of("y(i)=sum[j](C(i,j)) -f=C:ds -f=y:d", Region(("y",), blocks=(("j", 2),)))
    both = Region(("m", "y"))
    yield of("m(i)=max[k](A(i,k)); y(i)=relu(m(i)+d(i)) -f=A:ds -f=d:d -f=y:d", both)
    yield of("y(i,j)=relu(sum[k](A(i,k)*B(k,j))+0.25) -f=A:ds -f=B:ds -f=y:dd")
    yield of("y(i,j)=(C(i,j)+d(i))*C(i,j) -f=C:bb -f=d:d -f=y:ss")
    yield of("y(i,j)=C(i,j)*sum[k](A(i,k)*B(k,j)) -f=A:ds -f=B:ds:1,0 -f=C:bb -f=y:ss")


class Asked(dict[str, int]):
    """Counters that remember which of them were read."""

    def __init__(self, counters: Mapping[str, int]) -> None:
        super().__init__(counters)
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> int:
        self.names.add(name)
        return super().__getitem__(name)


def test_every_counter_that_figures_read_grows() -> None:
    """Tokens, operations, and rows of arrays, of each type of block that programs have."""
    types: set[str] = set()
    for program, tensors in every_program():
        (launch,) = program.launches
        types |= {block.type for block in graph_of(launch.sections).blocks}
        whole = operands(launch, {name: Tensor.from_any(each) for name, each in tensors.items()})
        part = SampledOperands.of(whole, "i", np.array([1, 4, 8]))
        run = part.simulated(NO_LIMIT)
        asked = Asked(run.counters | run.counts)
        operations(launch, asked)
        longest_stream(launch, asked)
        traffic(whole.config, asked)
        assert asked.names <= set(grown(LaunchWork(whole, "i"), part, asked)), program.workload
    assert set(BLOCK_TYPES) - types == {"crdhold", "crdtopoint", "pointtocrd"}


# Corners.


def test_rows_that_only_what_is_added_has() -> None:
    """No product says how much they are."""
    tensors = {"A": np.zeros((256, 40)), "D": alike(3, 256, 40, 5)}
    found = ratios(ALIKE["a sum of matrices"][0], tensors)
    check_near(found, operations=0.02, bytes=0.02, longest_stream=0.02, cycles=0.05)


def test_rows_none_of_which_has_a_product() -> None:
    """All products are of a row that is not run."""
    a = np.zeros((300, 8))
    a[17] = 1.0
    tensors = {"A": a, "B": np.ones((8, 5))}
    for name in ("rows", "outer products", "lanes", "bitvectors"):
        text, regions = ALIKE[name]
        program = compiled(text, tensors, regions, config=LARGE)
        (found,) = estimate(program, tensors, 32).launches
        assert (found.index, found.operations, found.share) == ("i", 0, 0.0)
        assert Tensor.from_result(estimate(program, tensors, 32).tensors["y"]).nnz == 0


@pytest.mark.parametrize("name", sorted(set(ALIKE) - {"softmax", "a sum of matrices"}))
@pytest.mark.parametrize(
    ("rows", "inner", "columns"), [(40, 6, 5), (40, 0, 5), (40, 6, 0), (0, 6, 5), (0, 0, 0)]
)
def test_without_entries(name: str, rows: int, inner: int, columns: int) -> None:
    text, regions = ALIKE[name]
    tensors = {"A": np.zeros((rows, inner)), "B": np.zeros((inner, columns))}
    program = compiled(text, tensors, regions, config=LARGE)
    part, whole = estimate(program, tensors, 8), estimate(program, tensors, ALL)
    for one, other in zip(part.launches, whole.launches, strict=True):
        assert one.operations == other.operations
        assert one.bytes == pytest.approx(other.bytes, rel=0.02, abs=64)
        assert one.longest_stream == pytest.approx(other.longest_stream, rel=0.02)
    check_same(part.tensors["y"], whole.tensors["y"])


def test_random_programs_from_few_rows() -> None:
    """Whatever the program, launches follow each other, and no number is missing."""
    indices: Counter[bool] = Counter()
    for seed in range(60):
        case, rng = make_program(seed, odd=seed % 7 == 6, moving=True), random.Random(seed)
        with noted(f"{seed}: {program_text(case.program)}"):
            try:
                program = compiled(case.program, case.tensors, case.groups(rng))
                found = estimate(program, case.tensors, rng.choice((1, 2, 3)))
            except WorkloadError:
                continue
            indices.update(bool(each.index) for each in found.launches)
            for spec in program.outputs:
                assert found.tensors[spec.name].shape == tuple(spec.shape)
    assert indices[True] > 20
    assert indices[False] > 20


def test_a_launch_without_a_part_takes_no_more_cycles_than_asked() -> None:
    matrix = sparse(0, 40, 40, 0.2)
    tensors = {"B": matrix, "C": matrix}
    program = compiled("x(i,j)=sum[k](B(i,k)*C(k,j)) -f=B:ds -f=C:ds -f=x:ds", tensors)
    cycles = estimate(program, tensors, ALL).cycles
    assert estimate(program, tensors, ALL, cycles).cycles == cycles
    with pytest.raises(CycleLimitError):
        estimate(program, tensors, ALL, cycles - 1)


def test_sums_of_launches() -> None:
    launches = (
        LaunchEstimate("a", 1, 20, 300, 5, 0, "i", 0.5),
        LaunchEstimate("b", 4, 50, 600, 7, 0, "", 1.0),
    )
    found = Estimate(launches, {})
    assert (found.cycles, found.operations, found.bytes) == (5, 70, 900)


def test_an_accumulator_that_is_too_small_is_named() -> None:
    """Rows are simulated without the model, which would say so before."""
    tensors = {"A": np.ones((3, 4)), "B": np.ones((4, 70))}
    program = parse_program("X(i,j)=A(i,k)*B(k,j) -s=reorder(X:i,k,j)")
    small = replace(CONFIG, accumulator_words=64)
    made = compiled(program, tensors, [], "factored", config=small)
    with pytest.raises(GnarlError, match="may need 70 sums, and has 64, accumulator_words$"):
        estimate(made, tensors)
