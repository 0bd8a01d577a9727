"""Loops in order wherever that is what it takes: the same elements, as rewritten and as planned."""

from __future__ import annotations

import pytest

from bench.sram_compute_parts.c_kernels import NAMES, TEXT
from gnarl.sw.compiler.sram_compute.tdfg.in_arrays import rewritten
from gnarl.sw.compiler.sram_compute.tdfg.interchange import outermost_first
from gnarl.sw.compiler.sram_compute.tdfg.plan import plan, refusals
from gnarl.sw.compiler.sram_compute.tdfg.run import run
from gnarl.sw.compiler.sram_compute.tdfg.shared_locals import sharing_locals
from gnarl.sw.workloads.loops.c.source import read_source
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.ir.nest import For, Nest
from gnarl.sw.workloads.loops.ir.verify import verify
from tests.support.nests import c_kernels
from tests.support.nests.loop_interpreter import interpret
from tests.support.parameters import slow_but

IN_ORDER = ("reverse", "transpose", "flip_horizontal", "gemv_float", "prefix_sum", "identity")
CARRIED = ("argmax_rows", "max_pool", "knn_nearest", "mean_and_variance", "triangle_count")

SIZES = {"h": 3, "w": 5, "m": 4, "n": 5, "p": 3}


def small(nest: Nest, manner: str):
    sizes = {each.name: SIZES.get(each.name, 6) for each in nest.sizes}
    return bind(nest, c_kernels.values(nest, sizes, 1, manner), sizes)


def require_same(nest: Nest, found, wanted) -> None:
    for name in nest.outputs:
        assert c_kernels.one_nan(found[name]) == c_kernels.one_nan(wanted[name]), name


@pytest.mark.parametrize("manner", [pytest.param("small", marks=pytest.mark.slow), "edges"])
@pytest.mark.parametrize("name", (*IN_ORDER, *CARRIED))
def test_planned(name: str, manner: str):
    nest = read_source(TEXT, "k.c", name)
    binding = small(nest, manner)
    wanted = interpret(nest, binding)
    taken = False
    for other in (nest, *rewritten(nest)):
        verify(other)
        given = {
            each: values
            for each, values in {**binding.arrays, **binding.scalars}.items()
            if each not in nest.temporaries
        }
        bound = bind(other, given, binding.sizes)
        require_same(nest, interpret(other, bound), wanted)
        steps = plan(other, reassociate=False, streams=False, serial=True)
        if not refusals(steps):
            taken = True
            require_same(nest, run(other, steps, bound), wanted)
    assert taken
    assert refusals(plan(nest, reassociate=False, streams=False))


@pytest.mark.parametrize("name", slow_but(NAMES[::12], NAMES))
def test_rewritten(name: str):
    if name in ("sigmoid", "softmax", "argmin"):
        return
    nest = read_source(TEXT, "k.c", name)
    sizes = {
        each.name: 17 if each.name == "m" else 40 if "_" in each.name else 5 for each in nest.sizes
    }
    given = c_kernels.values(nest, sizes, 2, "small")
    wanted = interpret(nest, bind(nest, given, sizes))
    for other in rewritten(nest):
        verify(other)
        require_same(nest, interpret(other, bind(other, given, sizes)), wanted)


def loops(text: str) -> list[str]:
    """Variables of the outermost loops of the ways that a nest of a statement has."""
    (statement,) = read_source(f"void f(int n, {text}", "f.c").body
    found = [*outermost_first(statement)]
    assert found[-1] == statement and all(isinstance(each, For) for each in found)
    return [each.variable for each in found]


ROWS = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) "


def test_loops_that_may_be_outermost():
    own = "int a[n][n], const int b[n][n]) { " + ROWS
    assert loops(own + "a[i][j] = b[j][i]; }") == ["j", "i"]
    assert loops(own + "{ int t = b[j][i]; a[i][j] = t; } }") == ["j", "i"]
    assert loops(own + "a[i][j] = a[j][i]; }") == ["i"]
    assert loops(own + "a[i][0] = b[i][j]; }") == ["i"]
    assert loops(own.replace("j < n", "j < i") + "a[i][j] = 1; }") == ["i"]


def test_locals_that_are_carried_keep_the_order():
    text = "void f(int n, int a[n][n], const int b[n][n]) { int t = 0; %s{ a[i][j] = t; t = i; } }"
    nest = read_source(text % ROWS, "f.c")
    assert [each.variable for each in outermost_first(nest.body[1])] == ["i"]


def test_statements_that_share_locals():
    nest = read_source(
        "void f(int n, int a[n], int b[1]) { b[0] = 1; int s = 0; a[0] = 2; "
        "for (int i = 0; i < n; i++) s += a[i]; b[0] = s; int t = 1; a[0] = t; a[1] = 3; }",
        "f.c",
    )
    assert [len(group) for group in sharing_locals(nest.body)] == [1, 4, 2, 1]
    assert sharing_locals(()) == []


def test_reads_beyond_the_array_of_loops_around_are_no_secret():
    """What is read under a condition must be in its array in all iterations of loops in order."""
    text = "void f(int n, int m, const int a[m], int c[1]) { for (int i = 0; i < n; i++) %s }"
    for body, is_taken in (
        ("if (c[0] > a[0]) c[0] = a[i];", False),
        ("if (a[i] > c[0]) c[0] = a[i];", True),
    ):
        nest = read_source(text % body, "f.c")
        assert (not refusals(plan(nest, streams=False, serial=True))) == is_taken
