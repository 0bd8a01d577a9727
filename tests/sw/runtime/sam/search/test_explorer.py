"""Schedules that are found: each runs as estimated and gives what the model means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.errors import GnarlError, WorkloadError
from gnarl.hw.sam.config import SamConfig
from gnarl.sw.compiler.sam.fuse.schedule import parse_schedule
from gnarl.sw.compiler.sam.sections import encode, graph_of, plan_of
from gnarl.sw.compiler.sam.workload import SamModel
from gnarl.sw.golden import einsum
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sam.search.candidate import Candidates
from gnarl.sw.runtime.sam.search.explorer import SamExplorer, associated
from gnarl.sw.runtime.target.explorer import Alternative
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.errors import noted, refused
from tests.support.sam.models import valued_model
from tests.support.sam.programs import make_program

CHAIN = (
    "t(i,m)=sum[k](A(i,k)*X(k,m)); p(i,j)=sum[m](t(i,m)*W(m,j)); h(i,j)=relu(p(i,j)); "
    "y(i,j)=sum[k](A(i,k)*h(k,j)) -f=A:ds -f=X:ds"
)
SHAPES = {"A": (6, 6), "X": (6, 4), "W": (4, 3)}


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    with Device("sam_fp32", "model") as device:
        yield device


def whole_numbers(shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Of which all sums and products are exact; half are missing."""
    noise = np.random.default_rng(0)
    return {
        name: noise.integers(-3, 4, shape) * (noise.random(shape) < 0.5)
        for name, shape in shapes.items()
    }


def found(
    model: Any,
    device: Device,
    lanes: Sequence[int] = (1,),
    words: Sequence[int] = (1,),
    **options: Any,
) -> Any:
    config = device.configuration.config
    given = {"sparsities": None, "advance": lambda share: None, **options}
    return SamExplorer().alternatives(model, config, lanes=lanes, words=words, **given)


def check(own: Alternative, model: SamModel, device: Device, program: Program) -> Any:
    """That a schedule's file gives the program that was estimated; gives its results."""
    (schedule,) = SamExplorer().options(own.schedule, "s.toml").values()
    again = device.compile(model, schedule=schedule)
    assert plans(again) == plans(program)
    assert (again.inputs, again.outputs, again.steps) == (
        *(program.inputs, program.outputs, program.steps),
    )
    run = device.run(again, model.inputs)
    assert device.verify(run).bit_exact
    assert run.cycles == own.estimate.cycles
    graphs = [graph_of(each.sections) for each in again.launches]
    sizes = [sum(each.words_of(block.name) for block in each.blocks) for each in graphs]
    assert max(sizes) == own.estimate.blocks
    if own.values["words"] == "1":
        assert max(each.statistics["blocks"] for each in again.launches) == own.estimate.blocks
    return run.outputs


def plans(program: Program) -> list[tuple[str, bytes]]:
    """What launches do, but for remarks, which say why the compiler has cut a region."""
    return [
        (each.digest, encode(replace(plan_of(each.sections), remarks=())).tobytes())
        for each in program.launches
    ]


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> dict[str, Program]:
    """All programs that were estimated, by the text of their schedule."""
    compiled: dict[str, Program] = {}
    original = Candidates.candidate

    def candidate(self: Candidates, **options: Any) -> Any:
        made = original(self, **options)
        compiled[made.compiled.schedule] = made.compiled.program
        return made

    monkeypatch.setattr(Candidates, "candidate", candidate)
    return compiled


@pytest.mark.parametrize(
    ("traits", "seeds"),
    [
        ({}, (0, 3, 8, 36)),  # 8 has a region without loops, 36 one that is cut
        ({"moving": True}, (102, 105)),
        ({"disordered": True}, (101, 106)),
        ({"masked": True}, (103,)),
        ({"odd": True}, (100,)),
    ],
)
def test_random_programs(
    traits: dict[str, bool], seeds: Sequence[int], device: Device, programs: dict[str, Program]
) -> None:
    for seed in seeds:
        case = make_program(seed, **traits)
        model = valued_model(case.program, case.tensors)
        with noted(f"seed {seed}"):
            alternatives = found(model, device, (1, 3), (1, 2))
            schedules = [parse_schedule(each.schedule, "s.toml") for each in alternatives]
            for at, each in enumerate(alternatives):
                assert schedules[at] not in schedules[:at]
                check(each, model, device, programs[each.schedule])


def test_all_mean_the_same(device: Device, programs: dict[str, Program]) -> None:
    """In all trees of products, regions, orders and lanes; the same in every search."""
    model = valued_model(CHAIN, whole_numbers(SHAPES))
    shares: list[float] = []
    alternatives = found(model, device, (1, 2), (1, 4), advance=shares.append)
    tensors = {name: each.tensor for name, each in model.inputs.items()}
    expected = Tensor((6, 3), *einsum.reference(model.program, tensors)["y"]).to_dense()
    for each in alternatives:
        with noted(each.schedule):
            results = check(each, model, device, programs[each.schedule])
            np.testing.assert_array_equal(np.asarray(results["y"]), expected)
    values = [each.values for each in alternatives]
    assert {each["associate"] for each in values} == {"as written", "A*(X*W)"}
    assert {each["fuse"] for each in values} == {"none", "layer", "found"}
    assert {each["lanes"] for each in values} == {"1", "2"}
    assert {each["words"] for each in values} == {"1", "4"}
    for each in values:
        assert list(each) == list(SamExplorer.fields)
    assert shares == sorted(shares) and shares[-1] == 1.0 and len(shares) > 10
    by_name = {(each.values["associate"], each.values["fuse"]): each for each in alternatives[::-1]}
    for tree in ("as written", "A*(X*W)"):
        cycles = {fuse: own.estimate.cycles for (of, fuse), own in by_name.items() if of == tree}
        assert cycles.get("found", 0) <= min(cycles.values())


def test_a_search_finds_the_same_again(device: Device) -> None:
    case = make_program(100)
    model = valued_model(case.program, case.tensors)
    assert found(model, device, (1, 2)) == found(model, device, (1, 2)) != []


def test_associations_of_a_model() -> None:
    first, *others = associated(valued_model(CHAIN, whole_numbers(SHAPES)))
    assert (first, others) == ((), [("A*(X*W)",)])
    matrices = {name: (2, 2) for name in "ABCDEFGHZ"}
    two = (
        "t(i,m)=sum[k](A(i,k)*B(k,m)); p(i,j)=sum[m](t(i,m)*C(m,j)); "
        "s(i,m)=sum[k](D(i,k)*E(k,m)); q(i,j)=sum[m](s(i,m)*F(m,j)); y(i,j)=max(p(i,j),q(i,j))"
    )
    model = valued_model(two, whole_numbers({name: matrices[name] for name in "ABCDEF"}))
    assert list(associated(model)) == [
        (),
        ("D*(E*F)",),
        ("A*(B*C)",),
        ("A*(B*C)", "D*(E*F)"),
    ]
    together = "y(i,j)=sum[k,m](A(i,k)*B(k,m)*C(m,j))"
    model = valued_model(together, whole_numbers({name: matrices[name] for name in "ABC"}))
    assert list(associated(model)) == [()]


def test_no_more_than_so_many_associations(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of which the first one is that of the model."""
    text = "t(i)=A(i)*B(i); s(i)=t(i)*C(i); y(i)=s(i)*D(i)"
    model = valued_model(text, {name: np.ones(2) for name in "ABCD"})
    assert len(list(associated(model))) == 5
    monkeypatch.setattr("gnarl.sw.runtime.sam.search.explorer.MOST_ASSOCIATIONS", 2)
    trees = [each.values["associate"] for each in found(model, device)]
    assert [*dict.fromkeys(trees)] == ["as written", "A*(B*(C*D))"]


@pytest.mark.parametrize("lanes", [(0,), (17,), (1, 66), (4, -1)])
def test_lanes_that_no_loop_may_have(lanes: Sequence[int], device: Device) -> None:
    with refused(
        f"--lanes {next(each for each in lanes if each not in (1, 4))}: must be 1, 2 to 16, or a "
        "product of two such numbers up to 64"
    ):
        found(valued_model(CHAIN, whole_numbers(SHAPES)), device, lanes)


@pytest.mark.parametrize("words", [(0,), (3,), (1, 128)])
def test_words_that_no_block_may_have(words: Sequence[int], device: Device) -> None:
    with refused(f"--words {words[-1]}: must be 1, 2, 4, 8, 16, 32 or 64"):
        found(valued_model(CHAIN, whole_numbers(SHAPES)), device, (1,), words)


def test_blocks_of_values_that_gain(device: Device) -> None:
    """Along the index by which a product takes fewest cycles; a graph counts their words."""
    model = valued_model(
        "y(i,j)=sum[k](A(i,k)*B(k,j)) -f=A:ds", {"A": np.eye(3, 9), "B": np.ones((9, 64))}
    )
    one, wide = found(model, device, (1,), (1, 16))
    assert one.estimate.cycles > 4 * wide.estimate.cycles
    assert one.estimate.blocks < wide.estimate.blocks
    assert "blocks = { j = 16 }" in wide.schedule
    with refused("--words 16: no loop gains by them: must have 1, too"):
        found(valued_model("y=A*A", {"A": 2.0}), device, (1,), (16,))


def test_an_expression_is_a_model_of_one_statement(device: Device) -> None:
    """Its schedules keep its formats, and an order that is given."""
    rng = np.random.default_rng(4)
    tensors = {"A": rng.integers(0, 4, (6, 9)), "B": rng.integers(0, 4, (9, 7))}
    for options in ("", " -f=X:ss -f=B:ss:1,0 -s=reorder(i,j,k)", " -f=X:ss:1,0 -s=reorder(j,i,k)"):
        source = (f"X(i,j)=A(i,k)*B(k,j){options}", tensors)
        workload = device.workload(source)
        alternatives = found(workload, device, (1, 2), (1, 4))
        assert {each.values["lanes"] for each in alternatives} == {"1", "2"}
        for each in alternatives:
            schedule = parse_schedule(each.schedule, "found")
            program = device.compile(workload, schedule=schedule)
            result = device.run(program, workload.inputs)
            assert device.verify(result).difference == ""
            got = Tensor.from_result(result.outputs["X"]).to_dense()
            np.testing.assert_array_equal(got, tensors["A"] @ tensors["B"])
            assert result.cycles == each.estimate.cycles
            if "reorder(i,j,k)" in options:
                assert schedule.regions[0].order == ("i", "j", "k")


def test_models_that_have_no_schedule(device: Device) -> None:
    tensors = whole_numbers(SHAPES)
    model = valued_model(CHAIN, tensors)
    for option in ("parallelize(i,2)", "block(j,2)"):
        text = f"x(i)=A(i,j)*b(j) -s={option}"
        with refused(f"x(i)=A(i,j)*b(j): -s={option}: schedules say so: must be left out"):
            found(device.workload((text, {"A": np.ones((2, 2)), "b": [1, 2]})), device)
    with pytest.raises(WorkloadError, match="^tensor A is not given; the program has A, X, W$"):
        found(replace(model, inputs={}), device)
    with pytest.raises(WorkloadError, match="no order of loops fits|loop order"):
        text = "y(i,j)=sum[k](A(k,i)*B(j,k)) -f=A:ss -f=B:sd"
        found(valued_model(text, {"A": np.ones((2, 2)), "B": np.ones((2, 2))}), device)
    small = SamConfig(array_words=16)
    with pytest.raises(GnarlError, match=r"^array_words = 16: tensor \w+ needs at least"):
        SamExplorer().alternatives(
            model, small, lanes=(1,), words=(1,), sparsities=None, advance=lambda share: None
        )


def test_lanes_that_no_loop_gains_by(device: Device) -> None:
    model = valued_model("p(i)=sum[j](A(i,j)); y(i)=p(i)*p(i)", {"A": np.ones((1, 1))})
    with refused("--lanes 4,2: no loop gains by them: must have 1, too"):
        found(model, device, (4, 2))
    assert {each.values["lanes"] for each in found(model, device, (4, 1))} == {"1"}


def test_sparsities_in_place_of_values(device: Device) -> None:
    model = valued_model("y(i)=sum[j](A(i,j)*b(j)) -f=A:ds", {"A": np.ones((4, 4)), "b": [0] * 4})
    model = replace(model, inputs={"b": model.inputs["b"]})
    ((empty,), (half,), (full,)) = (
        found(model, device, sparsities={"A": share}) for share in (1.0, 0.5, 0.0)
    )
    assert (empty.estimate.ops, half.estimate.ops, full.estimate.ops) == (0, 16, 32)
    assert empty.estimate.cycles < half.estimate.cycles < full.estimate.cycles
