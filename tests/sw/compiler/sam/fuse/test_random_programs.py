"""Random programs, fused and not: what their graphs compute is what the programs mean."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.config import SamConfig
from gnarl.sw.compiler.sam.fuse.choices import FACTORED, GLOBAL
from gnarl.sw.compiler.sam.fuse.partial_order import indices_of
from gnarl.sw.compiler.sam.fuse.regions import Region, results_of
from gnarl.sw.compiler.sam.fuse.views import views_of
from gnarl.sw.golden.words import from_words
from gnarl.sw.workloads.einsum.text import parse_program, program_text
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.errors import noted
from tests.support.sam.models import CONFIG, compiled, golden, run
from tests.support.sam.program_cases import ProgramCase
from tests.support.sam.programs import TRAITS, make_program

PROGRAMS = 80
MOVING_PROGRAMS = range(2000, 2080)
MASKED_PROGRAMS = range(3000, 3020)
ODD_PROGRAMS = range(5000, 5040)
DISORDERED_PROGRAMS = range(7000, 7060)


REFUSED_DATA = (
    "has size 0: must be at least 1",
    "coordinates: must be a multiple of ",
    "must be whole blocks",
)
"""What errors say of tensors that a program is not for."""


def is_right(
    case: ProgramCase,
    regions: Sequence[Sequence[str] | Region],
    iteration: str,
    is_timed: bool = False,
    config: SamConfig = CONFIG,
) -> bool:
    """Whether the program has graphs, which compute what it means; else it is refused in one
    line.

    ``is_timed``: cycle by cycle, too, so that no queue is too short.
    """
    with noted(f"{iteration}, {regions}: {program_text(case.program)}"):
        try:
            program = compiled(case.program, case.tensors, regions, iteration, config)
        except WorkloadError as error:
            assert "\n" not in str(error)
            return False
        try:
            done = run(program, case.tensors, is_timed=is_timed)
        except WorkloadError as error:
            assert any(each in str(error) for each in REFUSED_DATA), error
            return False
        for name, got in done.got.items():
            np.testing.assert_array_equal(got, done.meant[name])
        # Infinities and NaN show which entries are stored, which programs do not say.
        expected = {} if "odd values" in case.traits else golden(case.program, case.tensors)
        for name, each in expected.items():
            if iteration == FACTORED and case.exact:
                np.testing.assert_array_equal(done.got[name], each)
            else:
                one, other = (from_words(w, "float32") for w in (done.got[name], each))
                np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
    return True


def test_programs_without_fusion() -> None:
    cases = map(make_program, range(PROGRAMS))
    assert sum(is_right(case, [], FACTORED) for case in cases) >= 0.7 * PROGRAMS


def test_whole_programs_in_one_region() -> None:
    cases = map(make_program, range(PROGRAMS))
    assert sum(is_right(case, case.whole(), FACTORED) for case in cases) >= 0.6 * PROGRAMS


def test_global_iteration() -> None:
    cases = map(make_program, range(PROGRAMS))
    assert sum(is_right(case, case.whole(), GLOBAL) for case in cases) >= 0.6 * PROGRAMS


@pytest.mark.parametrize("is_cut", [False, True])
def test_programs_in_which_elements_are_moved(is_cut: bool) -> None:
    """Whole, and cut at random."""
    cases = [make_program(seed, moving=True) for seed in MOVING_PROGRAMS]
    cases = [case for case in cases if case.program.rearrangements]
    if is_cut:
        regions = [case.groups(random.Random(seed)) for seed, case in enumerate(cases)]
    else:
        regions = [case.whole() for case in cases]
    right = [is_right(*each, FACTORED) for each in zip(cases, regions, strict=True)]
    assert sum(right) >= 0.5 * len(cases)


@pytest.mark.parametrize("moving", [False, True])
def test_softmax_with_masks(moving: bool) -> None:
    """Each is run statement by statement, whole and cut at random; what has exponentials is not
    exact in any order."""
    cases = [make_program(seed, masked=True, moving=moving) for seed in MASKED_PROGRAMS[moving::2]]
    cases = [replace(case, traits=case.traits | {"several indices"}) for case in cases]
    assert sum(is_right(case, [], FACTORED) for case in cases) >= 0.5 * len(cases)
    right = [is_right(case, case.whole(), FACTORED) for case in cases]
    assert sum(right) >= 0.4 * len(cases)
    for seed, case in enumerate(cases):
        is_right(case, case.groups(random.Random(seed)), FACTORED)


@pytest.mark.parametrize("part", [0, 1])
def test_regions_with_lanes(part: int) -> None:
    """Each region has lanes over one of its loops, or two, where it can."""
    right = 0
    for seed in range(part, 50, 2):
        case, rng = make_program(seed, masked=seed % 3 == 0), random.Random(seed)
        regions = []
        for names in case.whole():
            try:
                views = views_of(case.program, names, results_of(case.program, names))
            except WorkloadError:
                break
            indices = indices_of(views)
            chosen = rng.sample(indices, min(len(indices), rng.choice((1, 1, 2))))
            lanes = tuple((index, rng.choice((2, 3, 4, 5, 8, 16, 18))) for index in chosen[:1])
            lanes += tuple((index, 2) for index in chosen[1:])
            regions.append(Region(names, lanes=lanes))
        else:
            case = replace(case, traits=case.traits | {"several indices"})
            config = replace(
                CONFIG,
                queue_depth=rng.choice((2, 3, 4, 32)),
                alu_stages=rng.choice((1, 2, 5)),
                local_latency=rng.choice((1, 2)),
            )
            right += is_right(case, regions, FACTORED, is_timed=True, config=config)
    assert right >= 1


@pytest.mark.parametrize("part", [0, 1])
def test_regions_with_blocks(part: int) -> None:
    """Each region has blocks along one of its indices, or two, and at times lanes. Half of the
    programs have tensors that consist of whole blocks, whatever the index."""
    right = Counter[str]()
    for seed in range(part, 160, 2):
        case, rng = make_program(seed, masked=seed % 3 == 0), random.Random(seed)
        words = rng.choice((2, 2, 4))
        if is_whole := rng.random() < 0.6:
            case = replace(case, tensors=in_whole_blocks(case.tensors, words, seed))
        regions = []
        for names in case.whole():
            try:
                views = views_of(case.program, names, results_of(case.program, names))
            except WorkloadError:
                break
            indices = indices_of(views)
            chosen = rng.sample(indices, min(len(indices), rng.choice((1, 1, 2))))
            blocks = tuple((index, words) for index in chosen)
            dealt = rng.sample(indices, min(len(indices), rng.choice((0, 0, 1))))
            lanes = tuple((index, rng.choice((2, 4))) for index in dealt)
            regions.append(Region(names, lanes=lanes, blocks=blocks))
        else:
            case = replace(case, traits=case.traits | {"several indices"})
            config = replace(
                CONFIG,
                queue_depth=rng.choice((2, 3, 32)),
                alu_stages=rng.choice((1, 2, 5)),
                local_latency=rng.choice((1, 2)),
            )
            if is_right(case, regions, FACTORED, is_timed=True, config=config):
                right.update({"all", "whole" * is_whole, "masked" * (seed % 3 == 0)})
    print(right)
    assert right["all"] >= 1


def in_whole_blocks(tensors: Mapping[str, Tensor], words: int, seed: int) -> dict[str, Tensor]:
    """Tensors of ``words`` times the size along each dimension, each entry of which has become as
    many along each."""
    rng, found = np.random.default_rng(seed), {}
    for name, tensor in tensors.items():
        coordinates, values = tensor.coordinates, tensor.values
        for mode in range(len(tensor.shape)):
            coordinates = np.repeat(coordinates, words, axis=0)
            places = np.tile(np.arange(words), len(values))
            coordinates[:, mode] = coordinates[:, mode] * words + places
            values = np.repeat(values, words)
        scales = rng.choice([0.5, 1.0, 2.0], len(values))
        order = np.lexsort(coordinates.T[::-1]) if len(tensor.shape) else np.arange(len(values))
        shape = tuple(words * size for size in tensor.shape)
        found[name] = Tensor(shape, coordinates[order], (values * scales)[order])
    return found


def test_programs_cut_at_random() -> None:
    for seed in range(PROGRAMS):
        case = make_program(seed)
        is_right(case, case.groups(random.Random(seed)), FACTORED)


def test_programs_that_no_order_suits() -> None:
    """Tensors are stored in orders of their own, so that some are copied."""
    cases = [make_program(seed, disordered=True) for seed in DISORDERED_PROGRAMS]
    assert sum(is_right(case, [], FACTORED) for case in cases) >= 0.7 * len(cases)
    assert sum(is_right(case, case.whole(), FACTORED) for case in cases) >= 0.5 * len(cases)


def test_loops_in_any_order() -> None:
    right = 0
    for seed in DISORDERED_PROGRAMS:
        case, rng = make_program(seed, disordered=seed % 2 == 0), random.Random(seed)
        regions = []
        for names in case.whole():
            try:
                views = views_of(case.program, names, results_of(case.program, names))
            except WorkloadError:
                break
            order = indices_of(views)
            rng.shuffle(order)
            regions.append(Region(names, tuple(order)))
        else:
            right += is_right(case, regions, FACTORED)
    assert right >= 0.2 * len(DISORDERED_PROGRAMS)


def test_machines_with_queues_of_any_depth_end() -> None:
    """Queues in which fibers wait are deep enough, whatever the others are."""
    for seed in range(0, PROGRAMS, 2):
        case, rng = make_program(seed), random.Random(seed)
        memory = rng.choice(["local", "shared", "lines"])
        config = replace(CONFIG, queue_depth=rng.choice([2, 3, 4, 8]), memory=memory)
        with noted(f"depth {config.queue_depth}, {memory}: {program_text(case.program)}"):
            try:
                program = compiled(case.program, case.tensors, case.whole(), config=config)
                run(program, case.tensors, is_timed=True)
            except WorkloadError:
                continue


def test_infinities_and_nan() -> None:
    for seed in ODD_PROGRAMS:
        case = make_program(seed, odd=True)
        if "maximum" in case.traits:  # see the golden model: 0·∞ of what is missing
            continue
        is_right(case, case.whole(), FACTORED)


def test_every_trait_is_drawn() -> None:
    cases = [make_program(seed) for seed in range(PROGRAMS)]
    cases += [make_program(seed, moving=True) for seed in MOVING_PROGRAMS]
    cases += [make_program(seed, masked=True) for seed in MASKED_PROGRAMS]
    drawn = Counter(trait for case in cases for trait in case.traits)
    assert set(drawn) == set(TRAITS) - {"odd values"}


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        # Two results, of which one has no element.
        (
            "t(l,k)=min(A(l,k),0.5); s(l)=sum[k](t(l,k)); y(l,k)=t(l,k)*s(l) "
            "-f=A:db -f=y:ss -r=s,y",
            {"A": (5, 0)},
        ),
        # Taken twice by one product, once inside of a sum.
        (
            "t(i,j)=sum[k](A(i,k)*B(k,j)); y(i,j)=t(i,j)*(t(i,j)+C(i,j)) -f=A:ds -f=B:ds",
            {"A": (4, 5), "B": (5, 3), "C": (4, 3)},
        ),
        ("y(i,j)=sum[k](A(i,k))*sum[k](B(k,j))", {"A": (4, 5), "B": (5, 3)}),
        # Results whose indices have one name and two sizes.
        ("y(i)=sum[j](A(i,j)); z(i)=sum[j](A(j,i)) -f=A:ds", {"A": (3, 5)}),
        ("y(i)=sum[j](A(i,j)); z(i)=sum[j](A(j,i)); w(i)=relu(z(i)) -r=y,z,w", {"A": (3, 5)}),
        (
            "t(i,j)=A(i,j)*2; y(i)=sum[j](t(i,j)); z(i)=max[j](t(j,i)) -f=A:ds -r=y,z",
            {"A": (3, 5)},
        ),
        ("y(i)=A(i)*b; z(i)=C(i)*b", {"A": (3,), "C": (4,), "b": ()}),
    ],
)
@pytest.mark.parametrize("iteration", [FACTORED, GLOBAL])
def test_programs_that_were_wrong(
    text: str, shapes: dict[str, tuple[int, ...]], iteration: str
) -> None:
    case = case_of(text, shapes)
    assert is_right(case, case.whole(), iteration)


def case_of(text: str, shapes: dict[str, tuple[int, ...]]) -> ProgramCase:
    noise = np.random.default_rng(0)
    tensors = {
        name: np.where(noise.random(shape) < 0.6, noise.integers(-8, 9, shape) / 8, 0.0)
        for name, shape in shapes.items()
    }
    return ProgramCase.of(parse_program(text), tensors)


def test_a_dense_input_at_two_places_that_no_order_fits() -> None:
    case = case_of("y(i,l)=sum[m](A(i,m,l)*A(l,m,i)) -f=y:db", {"A": (3, 2, 3)})
    with pytest.raises(WorkloadError, match="no order of loops fits: m outside of l, as A"):
        compiled(case.program, case.tensors, copies=False)


def test_a_dense_input_at_two_places_that_an_order_fits() -> None:
    case = case_of("y(i,l)=sum[m](A(i,m)*A(m,l))", {"A": (3, 3)})
    assert is_right(case, case.whole(), FACTORED)


def test_a_loop_without_coordinates_around_sums_that_have_every_one() -> None:
    text = (
        "X(k,j)=relu(sum[l](B(k,l)*A(l,j))+0.25); Y(j)=sum[k](X(k,j)+X(k,j)) -f=B:ds"
        " -s=reorder(X:k,l,j) -r=X,Y"
    )
    for rows in (1, 0):
        case = case_of(text, {"A": (2, 3), "B": (rows, 2)})
        program = compiled(case.program, case.tensors, case.whole())
        if rows:
            run(program, case.tensors)
            continue
        with pytest.raises(WorkloadError) as caught:
            run(program, case.tensors)
        assert str(caught.value) == (
            "index k has size 0: must be at least 1 around sums of X_Y that have every coordinate"
        )
