"""Coordinates that are counted anew, so that lanes have as much to do as each other."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.config import SamConfig
from gnarl.sw.compiler.sam.compile import compile
from gnarl.sw.compiler.sam.lower import lower
from gnarl.sw.compiler.sam.workload import SamWorkload
from gnarl.sw.program.program import Launch
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sam import balanced as module
from gnarl.sw.runtime.sam.balanced import balanced, dealt_index, in_turns
from gnarl.sw.runtime.sam.image import Operands, bind, operands
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.errors import noted
from tests.support.sam.corner_statements import LIMITS, Corner
from tests.support.sam.expressions import make
from tests.sw.compiler.sam import test_corner_statements as corners

PRODUCT = "X(i,j)=B(i,k)*C(k,j) -f=X:ds -f=B:ds -f=C:ds -s=reorder(i,k,j)"


def given(text: str, tensors: Mapping[str, Any], **fields: Any) -> tuple[Launch, Operands]:
    program = compile(SamWorkload("tested", text, parse(text)), SamConfig(**fields))
    named = {name: Tensor.from_any(each) for name, each in tensors.items()}
    return program.launches[0], operands(program.launches[0], bind(program, named))


def rows_of(lengths: list[int], width: int) -> np.ndarray:
    """A matrix whose rows have so many entries."""
    return (np.arange(width) < np.array(lengths)[:, np.newaxis]).astype(float)


def test_turns_go_the_other_way_each_time() -> None:
    assert in_turns(np.array([1, 5, 3, 5, 2, 4, 0]), 2).tolist() == [1, 3, 2, 5, 4, 0, 6]
    assert in_turns(np.zeros(0), 4).tolist() == []
    for lanes in (2, 3, 8):
        weights = np.random.default_rng(lanes).pareto(1.5, 400) * 100
        order = in_turns(weights, lanes)
        assert sorted(order.tolist()) == list(range(400))
        loads = [weights[order[lane::lanes]].sum() for lane in range(lanes)]
        dealt = [weights[lane::lanes].sum() for lane in range(lanes)]
        assert max(loads) - min(loads) < 0.5 * (max(dealt) - min(dealt))


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ("", None),
        ("-s=parallelize(i,4)", ("i", 4)),
        ("-s=parallelize(i,64)", ("i", 64)),
        ("-s=parallelize(i,2) -s=parallelize(k,4)", ("i", 2)),
        ("-s=parallelize(k,4)", None),
    ],
)
def test_the_loop_that_is_dealt(options: str, found: tuple[str, int] | None) -> None:
    assert dealt_index(lower(parse(f"{PRODUCT} {options}"))) == found


@pytest.mark.parametrize(
    ("text", "is_balanced"),
    [
        (f"{PRODUCT} -s=parallelize(i,2)", True),
        (PRODUCT, False),
        (f"{PRODUCT} -s=parallelize(k,2)", False),
        ("X(i,j)=B(i,k)*B(j,k) -f=B:ds -s=reorder(i,j,k) -s=parallelize(i,2)", False),
        ("x(j)=B(i,j)*c(i) -f=B:ds -s=reorder(i,j) -s=parallelize(i,3)", False),
        ("X(i,j)=B(i,j) -f=X:ds -f=B:ds -s=parallelize(i,5)", False),  # a row each
        ("X(i,j)=B(i,j) -f=X:ds -f=B:ds -s=parallelize(i,2)", True),
        ("X(i,j)=B(i,j) -f=X:ds -f=B:ds -s=parallelize(i,2) -s=block(i,2)", False),  # 5 is odd
    ],
)
def test_what_is_counted_anew(text: str, is_balanced: bool) -> None:
    matrix = rows_of([1, 4, 2, 5, 3], 5)
    own = {each.tensor: matrix for each in parse(text).operands}
    own |= {"c": np.ones(5)} if "c" in own else {}
    _, plain = given(text, own)
    found = balanced(plain)
    assert bool(found.renumbered) == is_balanced
    if is_balanced:
        assert found.renumbered["i"].tolist() == [3, 1, 2, 4, 0]
        assert found.tensors is plain.tensors
    _, alike = given(text, {name: np.ones_like(each) for name, each in own.items()})
    assert not balanced(alike).renumbered
    _, shared = given(text, own, memory="shared") if "block" not in text else (None, alike)
    assert not balanced(shared).renumbered


def test_lanes_have_as_much_to_do_and_results_their_own_coordinates() -> None:
    """Every fourth row is long: dealt as they are, one lane would have nearly all."""
    rng = np.random.default_rng(5)
    left = rows_of([40 if at % 4 == 0 else 2 for at in range(64)], 48) * rng.random((64, 48))
    right = np.where(rng.random((48, 30)) < 0.3, rng.standard_normal((48, 30)), 0)
    with Device("sam_fp32", "model") as device:
        cycles = {}
        for lanes in (1, 4):
            more = f" -s=parallelize(i,{lanes})" if lanes > 1 else ""
            program = device.compile(PRODUCT + more)
            run = device.run(program, {"B": left, "C": right})
            assert device.verify(run).difference == ""
            np.testing.assert_allclose(run.outputs["X"].to_dense(), left @ right, atol=1e-4)
            cycles[lanes] = run.cycles
    assert cycles[1] > 3.6 * cycles[4]


def test_an_error_names_the_coordinates_that_were_given() -> None:
    matrix = rows_of([1, 3, 2], 3)
    matrix[1, 2] = 1e39
    text = "X(i,j)=B(i,j) -f=X:ds -f=B:ds -s=parallelize(i,2)"
    with Device("sam_fp32", "model") as device:
        with pytest.raises(WorkloadError, match=r"^B\[1,2\] = 1e\+39: float32 holds"):
            device.run(device.compile(text), {"B": matrix})


def test_random_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    """With lanes in their outermost loop, and blocks at times."""
    seen = []

    def counted(launch: Launch, tensors: Mapping[str, Any]) -> Operands:
        found = balanced(operands(launch, tensors))
        seen.append(bool(found.renumbered))
        return found

    monkeypatch.setattr(corners, "operands", counted)
    for seed in range(500, 1000):
        rng = random.Random(seed)
        case = make(rng.randint(1, 4), rng.randint(1, 5), seed, rng.random() < 0.3)
        order = parse(case.text).order
        if not order:
            continue
        text = f"{case.text} -s=parallelize({order[0]},2)"
        if rng.random() < 0.2:
            text += f" -s=block({rng.choice(order)},2)"
        with noted(f"{seed}: {text}"):
            try:
                corners.check(Corner(text, case.tensors, "float32", True, frozenset(), ()))
            except WorkloadError as error:
                known = (*LIMITS, "parallelize(", "must be a multiple of ", "same dimensions")
                known += ("must be whole blocks",)
                assert any(each in str(error) for each in known), error
    assert sum(seen) > 20


def test_what_may_not_be_counted_anew_would_be_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of a sum shows that it was."""
    text = "x(j)=B(i,j)*c(i) -f=x:d -f=B:ds -f=c:d -s=reorder(i,j)"
    big = 2.0**24
    tensors = {
        "B": Tensor.from_any(np.array([[big, 0], [1, 1], [1, 1], [-big, 0]])),
        "c": Tensor.from_any(np.ones(4)),
    }
    monkeypatch.setattr(module, "dealt_index", lambda graph: ("i", 2))
    monkeypatch.setattr(corners, "operands", lambda *each: balanced(operands(*each)))
    corners.check(Corner(text, tensors, "float32", True, frozenset(), ()))
    monkeypatch.setattr(module, "may_be_renumbered", lambda kernel, index: True)
    with pytest.raises(AssertionError):
        corners.check(Corner(text, tensors, "float32", True, frozenset(), ()))
