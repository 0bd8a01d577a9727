"""Configurations, overrides and fabrics that do not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import refusal
from tests.support.sam.files import PRODUCT
from tests.support.sam.refusals import TRANSPOSED, refused

TOML = {
    "bad expression": (
        'target = "sam"\n\nexpression = "x(i)=b(i"\n',
        ":3: expression = 'x(i)=b(i': expression, column 9: expected , or ), found the end",
    ),
    "expression that cannot be walked": (
        'target = "sam"\nexpression = "x(i)=B(i,j) -f=B:ss -s=reorder(j,i)"\n',
        f":2: expression = 'x(i)=B(i,j) -f=B:ss -s=reorder(j,i)': {TRANSPOSED}",
    ),
    "expression is a number": (
        'target = "sam"\nexpression = 3\n',
        ":2: expression = 3: must be text",
    ),
    "fabric is a number": (
        'target = "sam"\nfabric = 3\n',
        ":2: fabric = 3: must be a table of types and numbers of units",
    ),
    "fabric that writes nothing": (
        'target = "sam"\nskip = false\n[fabric]\nroot = 1\n',
        ":3: fabric: it must have at least one root and one fiberwrite or valwrite",
    ),
    "number of units": (
        'target = "sam"\n[fabric]\nroot = -1\n',
        ":2: fabric: root = -1: must be a whole number from 0 to 255",
    ),
    "memory": (
        'target = "sam"\nmemory = "far"\n',
        ":2: memory = 'far': must be one of local, shared, lines",
    ),
}


@pytest.mark.parametrize("name", TOML)
def test_configuration_files(tmp_path: Path, name: str) -> None:
    content, text = TOML[name]
    path = tmp_path / "mine.toml"
    path.write_text(content)
    assert refused(tmp_path, "x=3", config=path) == f"{path}{text}"
    assert refusal(tmp_path, "rtl", path) == f"gnarl: {path}{text}"


OVERRIDES = {
    "queue_depth=1": "queue_depth = 1: must be a whole number from 2 to 1024",
    "accumulator_words=100": "accumulator_words = 100: must be a power of two",
    "skip=1": "skip = 1: must be true or false",
    "alu_stages=many": "alu_stages = 'many': must be a whole number from 1 to 8",
    "memory_bandwidth=3": "memory_bandwidth = 3: must be a power of two",
    "expression=x=": "expression = 'x=': expression, column 3: the expression ends too early",
}


@pytest.mark.parametrize("override", OVERRIDES)
def test_overrides(tmp_path: Path, override: str) -> None:
    line = refused(tmp_path, "x=3", "--set", override)
    assert line == f"--set: {OVERRIDES[override]}"


def test_another_expression_than_the_configurations(tmp_path: Path) -> None:
    assert refused(tmp_path, "x=3", config="sam_matmul") == (
        f"program for another configuration: expression is x=3, must be {PRODUCT}"
    )


def test_a_fabric_with_too_few_blocks(tmp_path: Path) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text('target = "sam"\n[fabric]\nroot = 1\nvalwrite = 1\narrayvals = 1\n')
    command = ("compile", path, "x=a*b", "-o", tmp_path / "x.npz")
    assert refusal(tmp_path, *command) == (
        "gnarl: graph: needs 2 of arrayvals, the fabric has 1; 1 of alu, the fabric has 0"
    )
