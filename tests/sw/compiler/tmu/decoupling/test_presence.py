"""What comes of a union's positions: only where the fiber has the coordinate."""

from __future__ import annotations

import pytest
from xdsl.dialects import scf

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.nests.dialects.slc import MemStrOp
from gnarl.sw.compiler.nests.hoist import hoist
from gnarl.sw.compiler.nests.scf import to_scf
from gnarl.sw.compiler.tmu.passes.decouple import decouple
from gnarl.sw.workloads.loops.python.source import read_source

HEAD = (
    "n, m = sizes('n', 'm')\n\n\n@nest\n"
    "def f(l: int32[n], r: int32[n], x: float32[m], z: float32[m], y: float32[n]):\n"
    "    for k, (p, q), (hp, hq) in union(l, r):\n"
)


def decoupled(*lines: str, size: int = 5):
    """A union of fibers of at most 9 elements, of which ``x`` and ``z`` have ``size``."""
    text = HEAD + "".join(f"        {line}\n" for line in lines)
    return decouple(hoist(to_scf(read_source(text, "file.py"), {"n": 9, "m": size})))


MEANT = {
    "either": ("y[k] = x[p] if hp else z[q]",),
    "either, in branches": ("if hp:", "    y[k] = x[p]", "else:", "    y[k] = z[q]"),
    "not both": ("y[k] = 1.0 if hp and hq else (z[q] if not hp else x[p])",),
    "neither reached": ("if not hp and not hq:", "    y[k] = x[p]"),
    "or none": ("if not hp or x[p] > 1.0:", "    y[k] = 1.0", "else:", "    y[k] = x[p]"),
    "and more": ("if hp and p > 0 and x[p - 1] > 1.0:", "    y[k] = x[p]"),
}
NOT_MEANT = {
    "the other": ("y[k] = x[p] if hq else 1.0",),
    "none": ("y[k] = 1.0 if hp else x[p]",),
    "none, in a branch": ("if hp:", "    y[k] = 1.0", "else:", "    y[k] = x[p]"),
    "any": ("y[k] = x[p] if hp or hq else 1.0",),
    "not both": ("y[k] = 1.0 if hp and hq else x[p]",),
    "not of a value": ("if hp and x[p] > 1.0:", "    y[k] = 1.0", "else:", "    y[k] = z[q]"),
    "or a value": ("if hp or z[q] > 1.0:", "    y[k] = x[p]"),
    "not, in a condition": ("y[k] = 1.0 if x[p] > 1.0 and hp else 2.0",),
}


@pytest.mark.parametrize("name", MEANT)
def test_what_is_meant(name: str):
    decoupled(*MEANT[name])


@pytest.mark.parametrize("name", NOT_MEANT)
def test_what_is_not_meant(name: str):
    with pytest.raises(WorkloadError, match="of a fiber that may lack the coordinate"):
        decoupled(*NOT_MEANT[name])


def test_what_is_chosen_where_a_fiber_has_the_coordinate_stays_a_stream():
    """It need not be known to be in its array: elsewhere, the stream reads nothing."""
    operations = list(decoupled("y[k] = x[p] if hp else 1.0").walk())
    assert sum(isinstance(each, MemStrOp) for each in operations) == 1
    assert not any(isinstance(each, scf.IfOp) for each in operations)


def test_what_has_an_element_for_each_of_a_fiber_stays_a_stream():
    """Whatever chooses it: where the fiber lacks the coordinate, its position is 0, not behind."""
    operations = list(decoupled("y[k] = (x[p] if k > 1 else 1.0) if hp else 2.0", size=9).walk())
    assert sum(isinstance(each, MemStrOp) for each in operations) == 1
    assert not any(isinstance(each, scf.IfOp) for each in operations)
