"""What the golden arithmetic counts as lost, against exact fractions."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.hw.lib.formats import FLOAT_FORMATS, parse_format
from gnarl.hw.lib.losses import LOSSES
from gnarl.hw.lib.operation import Operation
from gnarl.sw.golden.arithmetic import arithmetic
from tests.support.arithmetic.floats import fresh_rng
from tests.support.arithmetic.losses import lost, pairs_at_ends

FORMATS = [*FLOAT_FORMATS, "fixed4.0", "fixed4.3", "fixed16.8", "fixed32.0", "fixed32.31"]
COMPUTED = [each for each in Operation if not each.name.startswith("PASS")]


@pytest.mark.parametrize("count", [300, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", FORMATS)
def test_results_at_the_ends_of_formats(name: str, count: int):
    format, unit = parse_format(name), arithmetic(name)
    left, right = (each.astype(np.uint32) for each in pairs_at_ends(format, count, fresh_rng()))
    found = dict.fromkeys(LOSSES, 0)
    for operation in COMPUTED:
        pairs = zip(left.tolist(), right.tolist(), strict=True)
        expected = np.array([lost(format, operation, *pair) for pair in pairs])
        for kind in (*LOSSES, ""):
            a, b = (unit.numbers(each[expected == kind]) for each in (left, right))
            o = unit.apply(operation, a, b)
            with np.errstate(all="raise"):  # NaNs are no reason to warn
                counted = unit.losses(operation, a, b, o)
            assert counted == dict.fromkeys(LOSSES, 0) | ({kind: len(a)} if kind else {})
            if kind:
                found[kind] += len(a)
    assert found["overflow"] and (found["underflow"] or name.endswith(".0"))
    assert bool(found["nan"]) == (name in FLOAT_FORMATS)
