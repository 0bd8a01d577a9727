"""Elements that a condition alone keeps inside of their arrays: the golden model's bits."""

from __future__ import annotations

import pytest
from xdsl.dialects import scf

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.nests.dialects.slc import MemStrOp
from gnarl.sw.compiler.nests.hoist import hoist
from gnarl.sw.compiler.nests.scf import to_scf
from gnarl.sw.compiler.tmu.passes.decouple import decouple
from gnarl.sw.workloads.loops.python.source import read_source
from tests.support.nests.dependent_runs import check_tmu
from tests.support.nests.left_out_nests import BODIES, MERGES, left_out
from tests.support.tmu.manners import MANNERS

CONFIG = TmuConfig(lanes=4, memory_bytes=1 << 16, l1_bytes=1 << 10, l2_bytes=1 << 11)
COMMON = {
    ("below", "level 0"),
    ("below, written", "level 4"),
    ("a place at a loaded place", "level 1"),
    ("nested choice", "level 2"),
    ("choice in index", "level 3"),
    ("and and", "level 4"),
    ("or if", "level 0"),
    ("hoisted", "coupled"),
    ("hoisted", "level 4"),
    ("before a loop", "level 4"),
    ("a lower bound", "level 1"),
    ("a chosen row, written", "level 4"),
    ("of a union: short2", "level 0"),
    ("of a union: and3", "level 4"),
    ("of an intersection: ifshort2", "level 3"),
}
"""Cases that run each time."""

CASES = [
    pytest.param(name, manner, marks=[] if (name, manner) in COMMON else pytest.mark.slow)
    for name in (*BODIES, *MERGES)
    for manner in MANNERS
]


@pytest.mark.parametrize("name, manner", CASES)
def test_left_out(name: str, manner: str):
    check_tmu(left_out(name), CONFIG, reassociate=False, **MANNERS[manner])


def test_what_is_inside_anyway_stays_a_stream():
    text = "(n,) = sizes('n')\n\n\n@nest\ndef f(a: float32[n], c: int32[n], y: float32[n]):\n"
    text += "    for k in range(n - 1):\n        y[k] += a[k + 1] if c[k] > 0 else 1.0\n"
    operations = list(decouple(hoist(to_scf(read_source(text, "file.py"), {"n": 9}))).walk())
    assert sum(isinstance(each, MemStrOp) for each in operations) == 2
    assert not any(isinstance(each, scf.IfOp) for each in operations)


def test_what_is_loaded_in_any_case_stays_a_stream():
    """At an index that may be anything: of its array where a choice takes it or not."""
    text = "(n,) = sizes('n')\n\n\n@nest\n"
    text += "def f(a: float32[n], p: int32[n], c: int32[n], y: float32[n]):\n"
    text += "    for k in range(n):\n        t = a[p[k]]\n"
    text += "        y[k] += t if c[k] > 0 else 1.0\n"
    operations = list(decouple(hoist(to_scf(read_source(text, "file.py"), {"n": 9}))).walk())
    assert sum(isinstance(each, MemStrOp) for each in operations) == 3
    assert not any(isinstance(each, scf.IfOp) for each in operations)
