"""Nodes and edges that branches of the SAM tools name in their own way."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sam.dot_read import read_dot
from gnarl.sw.compiler.sam.dot_write import write_dot
from gnarl.sw.compiler.sam.lower import lower
from gnarl.sw.workloads.tensor.parser import parse
from tests.support.errors import refused
from tests.sw.compiler.sam.machine import meaning, on_model

RELU = "X(i,j)=relu(B(i,j)+C(i,j)) -f=X:ss:0,1 -f=B:ss:0,1 -f=C:ss:0,1 -s=reorder(i,j)"
PRODUCT = "X(i,j)=B(i,k)*C(k,j) -f=X:ss:0,1 -f=B:ss:0,1 -f=C:{}:0,1 -s=reorder(i,k,j)"


def written(text: str) -> str:
    statement = parse(text)
    return write_dot(lower(statement), statement)


def renamed(text: str, old: str, new: str, attributes: str = "") -> str:
    """A file with another type of nodes, as the tools write it: in the comment, and by itself."""
    text, count = re.subn(
        rf'comment="type={old}\b([^"]*)"(.*?) type="{old}"',
        rf'comment="type={new}\1"\2 type="{new}"{attributes}',
        text,
    )
    assert count
    return text


@pytest.mark.parametrize(("old", "new"), [("add", "fp_add"), ("mul", "fp_mul"), ("exp", "fp_exp")])
def test_arithmetic_of_floating_point(old: str, new: str) -> None:
    term = {"add": "B(i,j)+C(i,j)", "mul": "B(i,j)*C(i,j)", "exp": "exp(B(i,j))"}[old]
    text = RELU.replace("relu(B(i,j)+C(i,j))", term)
    text = text if "C(" in text else text.replace(" -f=C:ss:0,1", "")
    graph = written(text)
    assert read_dot(renamed(graph, old, new), "f").text == read_dot(graph, "f").text


@pytest.mark.parametrize(
    ("type", "attributes"),
    [("max", ""), ("smax", ' const0="0"'), ("fp_max", ' const0="0.0"'), ("max", ' in2="-0"')],
)
def test_a_maximum_of_one_operand_is_relu(type: str, attributes: str) -> None:
    text = renamed(written(RELU), "relu", type, attributes)
    assert read_dot(text, "f").text == RELU


@pytest.mark.parametrize(
    ("type", "attributes", "problem"),
    [
        ("smax", ' const0="0.5"', ": const0 = 0.5: must be 0, as of relu"),
        ("smax", ' const0="x"', ": const0: 'x' is not a number"),
        (
            "mul",
            ' in2="0.2"',
            ': a constant operand 0.2: must be an array of values, as tensor="0.2" of arrayvals',
        ),
        ("mul", "", ": no edge into its input val1"),
    ],
)
def test_other_constants_are_refused(type: str, attributes: str, problem: str) -> None:
    text = renamed(written(RELU), "relu", type, attributes)
    lines = text.splitlines()
    (at,) = (at for at, line in enumerate(lines) if f'type="{type}"' in line)
    name = {"smax": "max"}.get(type, type)
    with refused(f"f, line {at + 1}: {name} {lines[at].split()[0]}{problem}"):
        read_dot(text, "f")


def vector_reducer(text: str) -> str:
    """A file whose accumulator is told the innermost coordinates alone, as a vector reducer is."""
    accumulator = re.compile(r'(\d+) \[comment="type=spaccumulator.*?"\]', re.DOTALL)
    (node,) = accumulator.findall(text)
    attributes = 'comment="type=vectorreducer,index=j" type="vectorreducer" accum_index="j"'
    text = accumulator.sub(f"{node} [{attributes}]", text)
    text, count = re.subn(rf'\n *\d+ -> {node} \[label="crd_(in-)?k".*', "", text)
    assert count == 1
    return text


@pytest.mark.parametrize("levels", ["ss", "dd", "ds"])
def test_vector_reducers_sum_what_their_coordinates_lie_in(levels: str) -> None:
    text = PRODUCT.format(levels)
    found = read_dot(vector_reducer(written(text)), "f")
    assert found.text == text
    rng = np.random.default_rng(4)
    sizes = {"i": 5, "j": 6, "k": 4}
    operands = {
        name: rng.integers(-3, 4, shape) * (rng.random(shape) < 0.5).astype(float)
        for name, shape in (("B", (5, 4)), ("C", (4, 6)))
    }
    statement = parse(text)
    got, _ = on_model(statement, operands, sizes, found.graph)
    assert np.array_equal(got, meaning(statement, operands, sizes))


def test_vector_reducers_of_what_is_no_fiber() -> None:
    text = vector_reducer(written(PRODUCT.format("ss")))
    (node,) = re.findall(r'(\d+) \[comment="type=vectorreducer', text)
    (signal,) = re.findall(r'(\d+) \[comment="type=crddrop', text)
    changed, count = re.subn(
        rf'\d+ -> {node} \[label="crd_j".*',
        f'{signal} -> {node} [label="crd_j" type="crd" comment="inner-j"]',
        text,
    )
    assert count == 1
    with pytest.raises(WorkloadError, match="^f, line .*: crddrop 16: has no fibers: an"):
        read_dot(changed, "f")


def test_repeat_signals_of_references() -> None:
    """They are those of the coordinates beside them."""
    text = written(PRODUCT.format("ss"))
    changed = text
    for index, tensor in (("i", "B"), ("j", "C")):
        (signal,) = re.findall(rf'(\d+) \[comment="type=repsiggen,index={index}"', text)
        (lookup,) = re.findall(
            rf'(\d+) \[comment="type=fiberlookup,index={index},tensor={tensor},', text
        )
        changed, count = re.subn(
            rf"\d+ -> {signal} \[.*",
            f'{lookup} -> {signal} [label="ref" type="ref" comment=""]',
            changed,
        )
        assert count == 1
    assert read_dot(changed, "f").text == read_dot(text, "f").text


def test_comments_with_underscores() -> None:
    text = written("X(i,j)=B(i,j)*C(i,j) -f=X:ss:0,1 -f=B:ss:0,1 -f=C:ss:0,1 -s=reorder(i,j)")
    changed = text.replace('comment="outer-i"', 'comment="outer_i"')
    assert changed != text
    assert read_dot(changed, "f").text == read_dot(text, "f").text
