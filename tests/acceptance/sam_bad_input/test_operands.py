"""Operands that are missing, contradict each other or are no tensors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gnarl import Device
from tests.support.commands import refusal
from tests.support.errors import refused as error_is
from tests.support.sam.files import CONFIG, PRODUCT, VECTOR, B
from tests.support.sam.refusals import refused


def test_tensors_that_are_missing(tmp_path: Path, operands: list[str]) -> None:
    hint = "--tensor NAME=PATH gives one"
    assert refused(tmp_path, VECTOR) == f"x(i)=B(i,j)*c(j): tensors B, c are not given: {hint}"
    only_c = operands[4:]
    assert refused(tmp_path, VECTOR, *only_c) == f"x(i)=B(i,j)*c(j): tensor B is not given: {hint}"
    assert refusal(tmp_path, "run", "sam_matmul", "--backend", "model") == (
        f"gnarl: X(i,j)=B(i,k)*C(k,j): tensors B, C are not given: {hint}"
    )
    assert refused(tmp_path, "x(i)=3") == (
        "expression, column 1: index i of x(i) is in no operand, so its size is not known; give "
        "the shape of x"
    )


def test_a_tensor_that_is_not_in_the_expression(tmp_path: Path, operands: list[str]) -> None:
    line = refused(tmp_path, VECTOR, *operands)
    assert line == "tensor C is not in the expression; it has B, c, x"


TENSOR_OPTIONS = {
    "B": "B: must be NAME=PATH.",
    "B=": "B=: must be NAME=PATH.",
    "=b.mtx": "=b.mtx: must be NAME=PATH.",
    "C=b.mtx": "C=b.mtx: C is given twice.",
}


@pytest.mark.parametrize("text", TENSOR_OPTIONS)
def test_tensor_options(tmp_path: Path, operands: list[str], text: str) -> None:
    line = refusal(tmp_path, "run", CONFIG, PRODUCT, *operands[:4], "--tensor", text)
    assert line == (
        f"gnarl run: Invalid value for '--tensor': {TENSOR_OPTIONS[text]} See gnarl run --help"
    )


def test_options_of_the_other_target(tmp_path: Path, operands: list[str]) -> None:
    values = ("--values", tmp_path / "c.tns")
    assert refused(tmp_path, PRODUCT, *operands[:4], *values) == (
        "--values: not supported by target sam: --tensor NAME=PATH gives its tensors"
    )
    assert refusal(tmp_path, "run", CONFIG, PRODUCT, "--no-reassociate") == (
        "gnarl run: --no-reassociate: not supported by target sam. See gnarl run --help"
    )
    assert refusal(tmp_path, "run", CONFIG) == (
        f"gnarl run: Missing argument 'WORKLOAD': {CONFIG} names none. See gnarl run --help"
    )


def test_sizes_that_contradict_each_other(tmp_path: Path, operands: list[str]) -> None:
    vector = tmp_path / "five.npy"
    np.save(vector, np.ones(5))
    b = operands[:2]
    assert refused(tmp_path, VECTOR, *b, "--tensor", f"c={vector}") == (
        "expression, column 13: index j has size 5 in mode 0 of c, but 4 in mode 1 of B; it must "
        "have one size"
    )
    assert refused(tmp_path, PRODUCT, *b, "--tensor", f"C={tmp_path / 'b.mtx'}") == (
        "expression, column 15: index k has size 3 in mode 0 of C, but 4 in mode 1 of B; it must "
        "have one size"
    )
    vector.write_bytes(b"")
    matrix = ("--tensor", f"c={tmp_path / 'c.mtx'}")
    assert refused(tmp_path, VECTOR, *b, *matrix) == (
        "expression, column 13: tensor c has 2 dimensions, but c(j) 1; they must be the same"
    )


def test_what_python_may_give() -> None:
    with Device(CONFIG, backend="model") as device:
        program = device.compile(VECTOR)
        for inputs, text in (
            ({}, "expression, column 6: tensor B is not given"),
            ([B], "inputs are a list: must be tensors by name"),
            ({"B": "b"}, "tensor B: 'b' is not a tensor: must be an array of real numbers"),
            (
                {"B": B, "c": ([[1], [0]], [1, 2], (4,))},
                "tensor c: entry 1: coordinate (0,) comes after (1,): must ascend",
            ),
            (
                {"B": B, "c": ([[1], [1]], [1, 2], (4,))},
                "tensor c: entry 1: coordinate (1,) is a duplicate",
            ),
            (
                {"B": B, "c": ([[1], [4]], [1, 2], (4,))},
                "tensor c: entry 1: coordinate (4,): dimension 0 has size 4",
            ),
        ):
            with error_is(text):
                device.run(program, inputs)
        kinds = (
            "must be an expression, the path of a graph or a model, or a tuple of one of the first "
            "two and operands by name, or of a module and its inputs"
        )
        for source, text in ((None, f"a NoneType: {kinds}"), (("x=b",), f"a tuple: {kinds}")):
            with error_is(text):
                device.compile(source)
