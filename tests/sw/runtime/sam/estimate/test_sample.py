"""Launches of which some rows are run: these are the rows of the whole launch, bit for bit."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.errors import GnarlError, WorkloadError
from gnarl.hw.lib.machine.memory_map import NO_LIMIT
from gnarl.hw.sam.config import SamConfig
from gnarl.sw.compiler.sam.compile import compile
from gnarl.sw.compiler.sam.fuse.choices import FACTORED, GLOBAL
from gnarl.sw.compiler.sam.fuse.partial_order import indices_of
from gnarl.sw.compiler.sam.fuse.regions import Region, results_of
from gnarl.sw.compiler.sam.fuse.views import views_of
from gnarl.sw.compiler.sam.sections import graph_of, kernel_of
from gnarl.sw.compiler.sam.workload import SamWorkload
from gnarl.sw.program.host_step import with_made
from gnarl.sw.program.program import Program
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.sam.estimate.sample import (
    SampledOperands,
    part_of,
    sampled_index,
    spread,
    walks,
)
from gnarl.sw.runtime.sam.image import Operands, bind, operands, outputs, result, result_rows
from gnarl.sw.runtime.sam.model.interpreter import machine_run
from gnarl.sw.runtime.sam.rearranged import moved
from gnarl.sw.runtime.sam.simulator.simulated_run import SimulatedRun
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.einsum.text import parse_program, program_text
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.errors import noted
from tests.support.sam.corner_statements import corner
from tests.support.sam.models import CONFIG, compiled, words
from tests.support.sam.program_cases import ProgramCase
from tests.support.sam.programs import make_program

KINDS = ("alone", "whole", "cut", "lanes", "orders")
"""How a program's statements share graphs."""

ROWS = (1, 2, 3)


# What launches write.


def written(own: Operands) -> tuple[dict[str, np.ndarray], dict[str, Array]]:
    """All words of the results, by name, and the results as the next launches take them: what the
    model leaves in a machine's memory, read as after a run."""
    (_, model), launch = own.model, own.launch
    untimed = SimulatedRun(0, {}, {}, {})
    ran = machine_run(own.config, own.image, model, untimed, partial(result_rows, launch))
    found = {}
    for access in kernel_of(launch.sections).results:
        shape = tuple(own.sizes[index] for index in access.indices)
        each = result(launch, own, ran.memory, access.tensor)
        found[access.tensor] = words(*each, shape, own.config.format)
    return found, outputs(launch, own, ran.memory)


def check(own: Operands, whole: Mapping[str, np.ndarray], rows: int, seed: int) -> str:
    """The index of which some random rows were run, which are those of ``whole``; empty: none."""
    index = sampled_index(own, rows)
    if index is None:
        return ""
    noise = np.random.default_rng(seed)
    chosen = np.sort(noise.choice(own.sizes[index], rows, replace=False))
    sampled = SampledOperands.of(own, index, chosen)
    part, _ = written(sampled)
    (_, model), run = sampled.model, sampled.simulated(NO_LIMIT)
    for name, rows_written in run.written.items():
        np.testing.assert_array_equal(rows_written, model.written[name])
    for access in kernel_of(own.launch.sections).results:
        name = access.tensor
        expected = whole[name].take(chosen, access.indices.index(index))
        np.testing.assert_array_equal(part[name], expected, f"{name}, rows {chosen} of {index}")
    return index


def launches(program: Program, tensors: Mapping[str, Any]) -> Iterator[tuple[Operands, Any]]:
    """Operands of each launch, and the words that it writes."""
    known = with_made(program.steps, dict(tensors), moved)
    for launch in program.launches:
        own = operands(launch, {spec.name: known[spec.name] for spec in launch.inputs})
        whole, results = written(own)
        yield own, whole
        known = with_made(program.steps, {**known, **results}, moved)


def check_program(program: Program, tensors: Mapping[str, Any], seed: int = 0) -> Counter[int]:
    """How deep the loops were of which rows were run: how many of each depth."""
    places: Counter[int] = Counter()
    for own, whole in launches(program, tensors):
        for rows in ROWS:
            if index := check(own, whole, rows, seed):
                places[kernel_of(own.launch.sections).order.index(index)] += 1
    return places


# Random programs.


def regions(case: ProgramCase, kind: str, rng: random.Random) -> Sequence[Any]:
    if kind == "alone":
        return []
    if kind == "cut":
        return case.groups(rng)
    found: list[Any] = []
    for names in case.whole():
        if kind == "whole":
            found.append(names)
            continue
        order = indices_of(views_of(case.program, names, results_of(case.program, names)))
        if kind == "orders":
            rng.shuffle(order)
            found.append(Region(names, tuple(order)))
            continue
        chosen = rng.sample(order, min(len(order), rng.choice((1, 1, 2))))
        lanes = [(index, rng.choice((2, 3, 4, 5, 8, 16, 18))) for index in chosen[:1]]
        lanes += [(index, 2) for index in chosen[1:]]
        found.append(Region(names, lanes=tuple(lanes)))
    return found


def checked(seed: int, kind: str, config: SamConfig = CONFIG) -> Counter[int]:
    """``check_program`` of a random program; nothing where it is refused."""
    rng = random.Random(seed)
    case = make_program(
        seed,
        odd=seed % 7 == 6,
        moving=seed % 5 == 1,
        disordered=seed % 3 == 0,
        masked=seed % 4 == 2,
    )
    iteration = rng.choice((FACTORED, FACTORED, GLOBAL))
    config = replace(config, skip=rng.random() < 0.7, queue_depth=rng.choice((4, 32)))
    with noted(f"{seed}, {kind}, {iteration}: {program_text(case.program)}"):
        try:
            program = compiled(
                case.program, case.tensors, regions(case, kind, rng), iteration, config
            )
            return check_program(program, case.tensors, seed)
        except WorkloadError as error:
            assert "\n" not in str(error)
            return Counter()


@pytest.mark.parametrize("kind", KINDS)
def test_random_programs(kind: str) -> None:
    places: Counter[int] = Counter()
    for seed in range(KINDS.index(kind), 250, len(KINDS)):
        places += checked(seed, kind)
    assert places[0] > 10
    assert places.total() > places[0]


def test_random_programs_in_one_memory() -> None:
    config = replace(CONFIG, memory="shared", array_words=1 << 12)
    assert sum((checked(seed, "whole", config) for seed in range(40)), Counter()).total() > 20


@pytest.mark.parametrize("name", ["sam_fabric_ml", "sam_fabric_small"])
def test_random_programs_on_a_fabric(name: str) -> None:
    """Most have too few units."""
    config, count = load_configuration(name).config, 0
    for seed in range(60):
        case = make_program(seed)
        try:
            program = compiled(case.program, case.tensors, config=config)
        except GnarlError:
            continue
        count += check_program(program, case.tensors, seed).total()
    assert count > 10


def test_statements_with_corners() -> None:
    """In all number formats, and with tensors that are read again at other indices."""
    count = 0
    for seed in range(120):
        case = corner(seed)
        config = SamConfig(format=case.format, skip=case.skip)
        with noted(f"{seed}: {case.text} in {case.format}"):
            try:
                workload = SamWorkload("corner", case.text, parse(case.text))
                program = compile(workload, config)
                tensors = bind(program, case.tensors)
                count += check_program(program, tensors, seed).total()
            except GnarlError as error:
                assert "\n" not in str(error)
    assert count > 80


# Programs by hand.


def tensors_of(
    shapes: Mapping[str, tuple[int, ...]], seed: int = 0, density: float = 0.5
) -> dict[str, Tensor]:
    noise = np.random.default_rng(seed)
    return {
        name: Tensor.from_any(
            np.where(noise.random(shape) < density, noise.integers(1, 9, shape) / 8, 0.0)
        )
        for name, shape in shapes.items()
    }


@dataclass(frozen=True)
class Case:
    text: str
    shapes: Mapping[str, tuple[int, ...]]
    index: str
    is_whole: bool = True
    lanes: tuple[tuple[str, int], ...] = ()


CASES = {
    "an accumulator over an outer loop": Case(
        "y(i,j)=sum[k](A(k,i)*B(k,j)) -f=A:ss -f=B:ss -f=y:ss -s=reorder(y:k,i,j)",
        {"A": (7, 9), "B": (7, 5)},
        "i",
    ),
    "a sum of every coordinate": Case(
        "y(i,j)=relu(sum[k](A(k,i)*B(k,j))+0.25) -f=A:ss -f=B:ds -f=y:dd -s=reorder(y:k,i,j)",
        {"A": (7, 9), "B": (7, 5)},
        "i",
    ),
    "a dense result": Case("y(i)=sum[k](A(i,k)) -f=A:ss -f=y:d", {"A": (9, 5)}, "i"),
    "a maximum": Case("y(i)=max[k](A(i,k)) -f=A:ds -f=y:s", {"A": (9, 5)}, "i"),
    "softmax of entries": Case(
        "m(i)=greatest[j](M(i,j)*(S(i,j)+0.0)); e(i,j)=M(i,j)*exp(S(i,j)-m(i)); "
        "z(i)=sum[j](e(i,j)); y(i,j)=e(i,j)/max(z(i),1.0) -f=M:ds -f=S:dd -f=y:ds",
        {"M": (9, 6), "S": (9, 6)},
        "i",
    ),
    "rows that are dropped": Case(
        "y(i,j)=A(i,j)*B(i,j) -f=A:ss -f=B:ss -f=y:ss", {"A": (9, 6), "B": (9, 6)}, "i"
    ),
    "a transposed result": Case(
        "y(j,i)=sum[k](A(i,k)*B(k,j)) -f=A:ds -f=B:ds -f=y:ss:1,0", {"A": (9, 6), "B": (6, 5)}, "i"
    ),
    "bitvectors": Case(
        "y(i,j)=A(i,j)*B(i,j) -f=A:bb -f=B:bb -f=y:bb", {"A": (70, 40), "B": (70, 40)}, "i"
    ),
    "one operand twice": Case("y(i,j)=sum[k](A(i,k)*A(j,k)) -f=A:ds -f=y:ss", {"A": (9, 6)}, "i"),
    "one operand twice in one read": Case(
        "y(i,j)=A(i,j)*A(i,j)+A(i,j) -f=A:ds -f=y:ss", {"A": (9, 6)}, "i"
    ),
    "an index inside": Case(
        "y(i,j)=sum[k](A(i,k)*B(k,j)) -f=A:ds -f=B:ds -f=y:ss", {"A": (3, 6), "B": (6, 9)}, "j"
    ),
    "an index inside that brings its loops": Case(
        "y(i,k,j)=A(i)+B(i,k,j) -f=A:s -f=B:sss -f=y:sss", {"A": (3,), "B": (3, 2, 9)}, "j"
    ),
    "lanes": Case(
        "y(i,j)=sum[k](A(i,k)*B(k,j)) -f=A:ds -f=B:ds -f=y:ss",
        {"A": (29, 6), "B": (6, 5)},
        "i",
        lanes=(("i", 4),),
    ),
    "lanes of an index inside": Case(
        "y(i,j)=sum[k](A(i,k)*B(k,j)) -f=A:ds -f=B:ds -f=y:ss",
        {"A": (29, 6), "B": (6, 5)},
        "i",
        lanes=(("k", 2),),
    ),
    "two results": Case(
        "t(i,j)=A(i,j)*2; y(i)=sum[j](t(i,j)) -f=A:ds -f=t:ss -f=y:d -r=t,y", {"A": (9, 6)}, "i"
    ),
    "none: summed": Case("y(j)=sum[i](A(i,j)) -f=A:ds -f=y:d", {"A": (9, 2)}, ""),
    "none: summed inside of a statement": Case(
        "m(i)=max[j](A(i,j)); y(i,k)=A(i,k)-m(i) -f=A:dd -f=y:dd", {"A": (2, 9)}, ""
    ),
    "none: not in all results": Case(
        "t(i,j)=A(i,j)*2; y(i)=sum[k](t(i,k)) -f=A:dd -f=t:dd -f=y:d -r=t,y",
        {"A": (2, 9)},
        "",
    ),
    "none: small": Case("y(i)=A(i)*2 -f=A:s -f=y:s", {"A": (3,)}, ""),
    "none: no result has an element": Case(
        "y(i,j)=sum[k](A(i,k)*B(k,j)) -f=A:ds -f=B:ds -f=y:ss", {"A": (9, 2), "B": (2, 0)}, ""
    ),
}


def of_case(case: Case, config: SamConfig = CONFIG, **how: Any) -> tuple[Program, dict[str, Any]]:
    tensors = tensors_of(case.shapes, **how)
    program = parse_program(case.text)
    names = tuple(each.name for each in program.einsums)
    return compiled(program, tensors, [Region(names, lanes=case.lanes)], config=config), tensors


@pytest.mark.parametrize("name", CASES)
def test_by_hand(name: str) -> None:
    case = CASES[name]
    for density in (0.0, 0.2, 0.6, 1.0):
        program, tensors = of_case(case, density=density)
        ((own, whole),) = launches(program, tensors)
        assert sampled_index(own, 3) == (case.index or None)
        for seed in range(3):
            assert check(own, whole, 3, seed) == case.index


def test_one_operand_at_two_levels_of_one_index() -> None:
    """Both walks begin at one block: what it reads has rows of j at one level, and at another."""
    text = "y(k,i,j,l)=B(k,i,j)*B(k,j,l) -f=B:sss -f=y:ssss -s=reorder(y:k,i,j,l)"
    case = Case(text, {"B": (6, 8, 8)}, "")
    for seed in range(5):
        program, tensors = of_case(case, seed=seed, density=0.06)
        for own, whole in launches(program, tensors):
            assert check(own, whole, 6, seed) == ""
            assert len({walk.blocks[0] for walk in walks(graph_of(own.launch.sections))}) == 1


@pytest.mark.parametrize("letters", ["ds", "ss", "bs"])
def test_one_operand_twice_in_one_memory(letters: str) -> None:
    """Blocks of one graph read it at places of their own, units of a fabric at one place: all of
    its rows, or some."""
    text = f"y(i,j)=sum[k](A(i,k)*A(j,k)) -f=A:{letters} -f=y:ss"
    config = replace(CONFIG, memory="shared", array_words=1 << 12)
    for seed in range(3):
        program, tensors = of_case(Case(text, {"A": (9, 6)}, ""), config, seed=seed)
        for own, whole in launches(program, tensors):
            assert check(own, whole, 3, seed) == "i"
            fabric = {"graph": None, "expression": "", "fabric": {"root": 1}}
            for memory, index in (("local", "i"), ("shared", None)):
                launch = replace(
                    own.launch, config={**own.launch.config, **fabric, "memory": memory}
                )
                assert sampled_index(Operands(launch, own.tensors, own.sizes), 3) == index


# Parts of tensors.


def drawn_tensor(rng: random.Random, least: int = 0) -> Tensor:
    shape = tuple(rng.choice((least, 1, 2, 3, 7, 8)) for _ in range(rng.randint(1, 3)))
    noise = np.random.default_rng(rng.getrandbits(32))
    kept = noise.random(shape) < rng.choice((0.0, 0.2, 0.7, 1.0))
    values = noise.integers(-2, 3, kept.sum()).astype(float)  # some are zeros
    return Tensor(shape, np.argwhere(kept), values)


def entries(tensor: Tensor) -> np.ndarray:
    """All values, and which are entries."""
    kept = Tensor(tensor.shape, tensor.coordinates, np.ones(tensor.nnz))
    return np.stack([tensor.to_dense(), kept.to_dense()])


def test_parts_of_random_tensors() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        tensor = drawn_tensor(rng)
        mode = rng.randrange(tensor.order)
        size = tensor.shape[mode]
        rows = np.array(sorted(rng.sample(range(size), rng.randint(0, size))), int)
        before = tensor.coordinates.copy()
        part = part_of(tensor, mode, rows)
        np.testing.assert_array_equal(entries(part), entries(tensor).take(rows, mode + 1))
        np.testing.assert_array_equal(tensor.coordinates, before, "the tensor itself")


def test_random_tensors_are_spread() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        part = drawn_tensor(rng, least=1)
        mode = rng.randrange(part.order)
        donors = np.array([rng.randrange(part.shape[mode]) for _ in range(rng.randint(0, 9))], int)
        found = spread(part, mode, donors)
        np.testing.assert_array_equal(entries(found), entries(part).take(donors, mode + 1))


def test_a_part_that_is_spread_over_its_own_rows() -> None:
    for seed in range(100):
        rng = random.Random(seed)
        tensor = drawn_tensor(rng)
        mode = rng.randrange(tensor.order)
        rows = np.arange(tensor.shape[mode])
        found = spread(part_of(tensor, mode, rows), mode, rows)
        assert found.shape == tensor.shape
        np.testing.assert_array_equal(found.coordinates, tensor.coordinates)
        np.testing.assert_array_equal(found.values, tensor.values)
