"""Expressions that cannot be parsed, walked or computed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import refusal
from tests.support.sam.files import CONFIG
from tests.support.sam.refusals import TRANSPOSED, refused

EXPRESSIONS = {
    "blank": (" ", 1, "expected a result such as X(i,j), found the end"),
    "only a result": ("x(i)", 5, "expected =, found the end"),
    "nothing to compute": ("x(i)=", 6, "the expression ends too early"),
    "not closed": ("x(i)=b(i", 9, "expected , or ), found the end"),
    "division": ("x=a/b", 4, "division is not supported; multiply by reciprocal(…)"),
    "diagonal": (
        "x(i)=B(i,i)",
        6,
        "index i appears twice in B(i,i); a diagonal cannot be read or written, use an index for "
        "each mode",
    ),
    "two orders": (
        "x(i)=b(i)*b",
        11,
        "tensor b has 0 indices here and 1 in column 6; a tensor has one order",
    ),
    "its own operand": (
        "x(i)=x(i)",
        6,
        "result x cannot also be an operand; give the result its own name",
    ),
    "another script": ("x(i)=𝔟(i)", 6, "unexpected character '𝔟'"),
    "format of another order": (
        "x(i)=B(i,j)*c(j) -f=x:ss",
        23,
        "format ss has 2 levels, but tensor x has 1 index; it must have one level for each",
    ),
    "format of no tensor": (
        "x(i)=b(i) -f=D:s",
        14,
        "-f names tensor D, which is not in the expression; it has x, b",
    ),
    "unknown level": (
        "x(i)=b(i) -f=b:q",
        16,
        "level format 'q' must be one of d (dense), s (compressed), b (bitvector)",
    ),
    "mode order": (
        "x(i)=B(i,j) -f=B:ss:0,0",
        21,
        "mode order 0,0 must name each of 0, 1 once",
    ),
    "loop of no index": (
        "x(i)=b(i) -s=reorder(k)",
        22,
        "index 'k' is not in the expression; it has i",
    ),
    "loop is missing": (
        "x(i)=B(i,j) -s=reorder(i)",
        26,
        "index j is missing in the loop order; it must name every index",
    ),
    "unknown option": ("x(i)=b(i) -g=b", 11, "unknown option -g; the options are -f and -s"),
    "nested": ("x=" + "(" * 5000, 63, "parts are nested deeper than 60"),
    "beyond float64": (
        "x=2*1e999",
        5,
        "a number is too large; it must be finite in float64",
    ),
    "0 in float64": (
        "x=2*1e-999",
        5,
        "a number is too small; it must be 0, or at least 5e-324, the smallest number of float64",
    ),
    "number of 5000 digits": (
        "x=" + "9" * 5000,
        3,
        "a number is too large; it must be finite in float64",
    ),
    "long name": (
        "x" * 30_000 + "=3",
        20_001,
        "30,002 characters are too many; at most 20,000",
    ),
    "long": ("x=" + "+".join(["b"] * 1000), 603, "there are more than 300 operands"),
    "not walkable": ("x(i)=B(i,j) -f=B:ss -s=reorder(j,i)", 6, TRANSPOSED.partition(": ")[2]),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions(tmp_path: Path, name: str) -> None:
    text, column, problem = EXPRESSIONS[name]
    line = f"expression, column {column}: {problem}"
    assert refused(tmp_path, text) == line
    for command in (("compile", CONFIG, text, "-o", tmp_path / "x.npz"), ("rtl", CONFIG, text)):
        assert refusal(tmp_path, *command) == f"gnarl: {line}"


@pytest.mark.parametrize("workload", ["b.mtx", "c.tns", "no/such/x.json", "folder"])
def test_a_file_in_place_of_an_expression(
    tmp_path: Path, operands: list[str], workload: str
) -> None:
    (tmp_path / "folder").mkdir()
    path = tmp_path / workload
    assert refused(tmp_path, path, *operands) == (
        f"{path}: must be an expression, a graph (.gv, .dot) or a model (.pt2, .mlir, "
        "FILE.py:NAME); --tensor NAME=PATH gives a file's tensor"
    )
