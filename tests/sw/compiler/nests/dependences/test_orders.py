"""What loops of a nest allow, from its SCF and from its SLC."""

from __future__ import annotations

import pytest
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from gnarl.sw.compiler.nests.dependences.accesses import access_of, distances_in, may_meet
from gnarl.sw.compiler.nests.dependences.distances import NONE, UNKNOWN, Distances
from gnarl.sw.compiler.nests.dependences.orders import allows_vectors, may_permute
from gnarl.sw.compiler.nests.dialects import slc
from gnarl.sw.compiler.nests.functions import function_of
from gnarl.sw.compiler.nests.scf import to_scf
from gnarl.sw.compiler.tmu.passes.decouple import decouple
from gnarl.sw.workloads.loops.python.source import read_source

HEAD = """\
n, m = sizes('n', 'm')


@nest
def f(
    x: float32[n], a: float32[n], b: float32[n], i: int32[n], o: int32[n + 1], u: float32[n, m],
    t: float32[n, m], w: float32[m, m],
):
"""


def module_of(body: str) -> ModuleOp:
    return to_scf(read_source(f"{HEAD}    {body}\n", "file.py"), {"n": 20, "m": 16})


def loops_of(module: ModuleOp) -> list[Operation]:
    """The outermost first."""
    return [each for each in module.walk() if isinstance(each, (scf.ForOp, *slc.LOOPS))]


ROW = {
    "a[k] = a[k] * x[k]": True,
    "a[k] = x[k]": True,
    "a[k] = a[k + 1] + x[k]": True,
    "a[k + 1] = a[k] + x[k]": False,
    "a[k + 4] = a[k] + x[k]": True,
    "a[k + 3] = a[k] + x[k]": False,
    "a[k] = a[0] + x[k]": False,
    "a[k + 1] = a[0] + x[k]": True,
    "a[0] = x[k]": False,
    "a[2 * k] = a[2 * k + 1] + x[k]": True,
    "a[8 - k] = a[k] + x[k]": False,
    "a[19 - k] = a[k] + x[k]": True,
    "a[i[k]] = x[k]": False,
    "a[k] = a[i[k]]": False,
    "b[k] = a[k + 1]; a[k] = x[k]": True,
    "a[k] = x[k]; b[k] = a[k + 1]": False,
    "a[k + 1] = x[k]; b[k] = a[k]": True,
    "b[k] = a[k]; a[k + 1] = x[k]": False,
    "a[k] = b[k] + x[k]; b[k + 1] = a[k]": False,
    "a[k + 1] = x[k]; a[k] = 2.0 * x[k]": True,
    "a[k] = x[k]; a[k + 1] = 2.0 * x[k]": False,
}
"""Whether four iterations, of ten, may go side by side."""


@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize("body", ROW)
def test_vectors(body: str, decoupled: bool):
    statements = "".join(f"\n        {each}" for each in body.split("; "))
    module = module_of(f"for k in range(9):{statements}")
    if decoupled:
        if "[i[k]]" in body or "x[k]" not in body:
            return  # its loops are others
        module = decouple(module)
    (loop,) = loops_of(module)
    assert allows_vectors(loop, 4) == ROW[body]


def test_an_array_written_behind_all_others():
    module = module_of("for k in range(9):\n        a[k] = x[k]\n        a[k] = 2.0 * x[k]")
    (loop,) = loops_of(module)
    first, _ = [each for each in module.walk() if isinstance(each, memref.StoreOp)]
    assert allows_vectors(loop, 4)
    assert not allows_vectors(loop, 4, late=[first])


def test_loops_inside_are_gone_through_once_for_all():
    module = module_of(
        "for k in range(9):\n        for e in range(9):\n            a[k + e] += x[e]"
    )
    outer, inner = loops_of(module)
    assert not allows_vectors(outer, 4)
    assert allows_vectors(inner, 4)
    module = module_of("for k in range(9):\n        for e in range(9):\n            a[k] += x[e]")
    outer, inner = loops_of(module)
    assert allows_vectors(outer, 4)
    assert not allows_vectors(inner, 4)


TABLE = {
    "u[k, e] = u[k, e] + t[k, e]": True,
    "u[k, e] = t[e, k]": True,
    "u[k + 1, e + 1] = u[k, e]": True,
    "u[k + 1, e] = u[k, e + 1]": False,
    "u[k, e] = u[k + 1, e + 1]": True,
    "u[k, e + 1] = u[k, e]": True,
    "u[k, 0] = u[k, e]": True,
    "w[k, e] = w[e, k]": False,
    "a[k] += t[k, e]": True,
    "a[e] += t[k, e]": True,
    "a[k + e] = t[k, e]": False,
    "a[0] += t[k, e]": False,
}


@pytest.mark.parametrize("body", TABLE)
def test_loops_in_any_order(body: str):
    module = module_of(f"for k in range(9):\n        for e in range(9):\n            {body}")
    assert may_permute(loops_of(module)) == TABLE[body]


def test_distances():
    text = "for k in range(9):\n        for e in range(o[k], o[k + 1]):\n"
    text += "            u[k + 1, e] = u[k, e + 2]"
    outer, inner = loops_of(module_of(text))
    load, store = (
        access_of(each)
        for each in outer.walk()
        if isinstance(each, memref.LoadOp | memref.StoreOp) and len(each.indices) == 2
    )
    assert distances_in(outer, load, store) == Distances(-1, -1)
    assert distances_in(inner, load, store) == NONE
    assert distances_in(inner, load, store, outer) == Distances(2, 2)
    assert distances_in(inner, store, store) == Distances(0, 0)


def test_loaded_places_may_be_any_iterations():
    module = module_of(
        "for k in range(9):\n        for e in range(o[k], o[k + 1]):\n            a[i[e]] = x[e]"
    )
    outer, inner = loops_of(module)
    (store,) = [access_of(each) for each in module.walk() if isinstance(each, memref.StoreOp)]
    assert distances_in(inner, store, store) == UNKNOWN
    assert distances_in(outer, store, store) == Distances(-8, 8)


def test_accesses_that_meet():
    module = module_of(
        "for k in range(9):\n        a[k + 10] = x[k]\n        b[k] = a[k] + a[k + 1]"
    )
    function = function_of(module)
    stores = [access_of(each) for each in module.walk() if isinstance(each, memref.StoreOp)]
    loads = [access_of(each) for each in module.walk() if isinstance(each, memref.LoadOp)]
    _, first, second = loads
    assert not may_meet(stores[0], first)
    assert not may_meet(stores[0], second, function)  # up to 9, and from 10 on
    assert may_meet(first, second, function)
    assert not may_meet(first, second)
    assert not may_meet(stores[0], stores[1], function)


@pytest.mark.parametrize(("first", "meets"), [(13, False), (12, True)])
def test_a_loop_in_steps_ends_with_its_last_iteration(first: int, meets: bool):
    module = module_of(
        "for k in range(0, 15, 4):\n        a[k] = x[k]\n"
        f"    for k in range({first}, 20):\n        b[k] = a[k]"
    )
    function = function_of(module)
    store, _ = (access_of(each) for each in module.walk() if isinstance(each, memref.StoreOp))
    _, load = (access_of(each) for each in module.walk() if isinstance(each, memref.LoadOp))
    assert may_meet(store, load, function) == meets
