"""Chains of statements that each take the one before twice: as formulas they have exponentially
many parts, as graphs a few blocks a statement."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from gnarl.sw.compiler.sam.sections import graph_of
from tests.support.sam.models import compiled, run

LENGTH = 24


@pytest.mark.parametrize(
    ("statement", "blocks"),
    [
        ("{new}(i,j)={old}(i,j)*{old}(i,j)", {"alu": LENGTH}),
        ("{new}(i,j)=relu({old}(i,j))-{old}(i,j)", {"alu": LENGTH, "function": LENGTH}),
        ("{new}(i,j)=max({old}(i,j),A(i,j))*0.5+{old}(i,j)", {"alu": 3 * LENGTH}),
        ("{new}(i,j)=sigmoid({old}(i,j))+{old}(i,j)", {"alu": LENGTH, "function": LENGTH}),
    ],
)
@pytest.mark.parametrize("format", ["dd", "ds"])
def test_what_is_taken_twice_is_computed_once(
    statement: str, blocks: dict[str, int], format: str
) -> None:
    names = [f"t{number}" for number in range(LENGTH)]
    pairs = zip(["A", *names], names, strict=False)
    text = "; ".join(statement.format(old=old, new=new) for old, new in pairs)
    tensors = {"A": np.array([[0.5, 0.0, -1.0], [0.0, 0.0, 0.25]])}
    program = compiled(f"{text} -f=A:{format}", tensors, [tuple(names)])
    (launch,) = program.launches
    found = Counter(block.type for block in graph_of(launch.sections).blocks)
    assert {type: found[type] for type in blocks} == blocks
    done = run(program, tensors)
    np.testing.assert_array_equal(done.got[names[-1]], done.meant[names[-1]])


def test_sums_that_are_taken_twice() -> None:
    """Each is a stream of its own loops, which two parts of the next one read."""
    text = "; ".join(
        ["t0(i)=sum[j](A(i,j))"]
        + [f"t{number}(i)=t{number - 1}(i)+t{number - 1}(i)*0.5" for number in range(1, LENGTH)]
    )
    names = tuple(f"t{number}" for number in range(LENGTH))
    tensors = {"A": np.array([[0.5, 0.0, -1.5], [0.0, 0.0, 0.25]])}
    program = compiled(f"{text} -f=A:ds", tensors, [names])
    done = run(program, tensors)
    np.testing.assert_array_equal(done.got[names[-1]], done.meant[names[-1]])
