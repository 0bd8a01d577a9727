"""What a region computes more than once, as reports say it and as runs count operations."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.sw.compiler.sam.fuse.regions import Fusion, Region, lower_regions
from gnarl.sw.compiler.sam.fuse.schedule import Schedule
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.workloads.einsum.text import parse_program

SIZES = {"i": 3, "j": 4, "k": 5, "m": 6}
PRODUCTS = "T(i,m)=sum[k](A(i,k)*X(k,m)); N(i,j)=sum[m](T(i,m)*W(m,j))"


@pytest.mark.parametrize(
    ("text", "order", "expected", "times"),
    [
        (PRODUCTS, "ikmj", [], 1),
        (PRODUCTS, "imkj", [], 1),
        (PRODUCTS, "ijkm", ["T(i,m) is computed again in each turn of j"], 4),
        (f"{PRODUCTS} -f=N:dd:1,0", "jikm", ["T(i,m) is computed again in each turn of j"], 4),
        (
            "T(k,m)=sum[j](X(k,j)*Z(j,m)); N(i,m)=sum[k](A(i,k)*T(k,m))",
            "ikjm",
            ["T(k,m) is computed again in each turn of i"],
            3,
        ),
        # Only outside of its innermost loop: else its values are repeated.
        ("T(k,m)=sum[j](X(k,j)*Z(j,m)); N(i,m)=sum[k](A(i,k)*T(k,m)) -f=N:dd:1,0", "kjmi", [], 1),
        (
            "T(k,m)=sum[j](X(k,j)*Z(j,m)); Y(k,m)=T(k,m)+1; N(i,m)=sum[k](A(i,k)*Y(k,m))",
            "ikjm",
            [
                "T(k,m) is computed again in each turn of i",
                "Y(k,m) is computed again in each turn of i",
            ],
            3,
        ),
    ],
)
def test_loops_around(text: str, order: str, expected: list[str], times: int) -> None:
    program = parse_program(text)
    names = tuple(each.name for each in program.statements)
    region = Region(names, tuple(order))
    (lowered,) = lower_regions(Fusion(program, (region,), may_copy=True))
    assert [each for each in lowered.remarks if "again" in each] == expected
    rng = np.random.default_rng(0)
    inputs = {
        access.tensor: rng.random([SIZES[index] for index in access.indices])
        for each in program.einsums
        for access in each.operands
        if access.tensor in program.inputs
    }
    with Device("sam_fp32", "model") as device:
        workload = device.workload((text, inputs))
        compiled = device.compile(workload, schedule=Schedule(regions=(region,)))
        result = device.run(compiled, inputs)
        counters = result.launches[0].finished.counters
    once = {"T(i,m)": 3 * 5 * 6, "T(k,m)": 5 * 4 * 6}[str(program.einsums[0].result)]
    assert counters["operations_mul"] == once * times


def test_what_is_neither_sum_nor_maximum_is_not_said() -> None:
    """Computing it again costs no more than repeating it."""
    program = parse_program("T(k,m)=X(k,m)+1; N(i,m)=sum[k](A(i,k)*T(k,m))")
    (lowered,) = lower_regions(Fusion(program, (Region(("T", "N"), tuple("ikm")),)))
    assert lowered.remarks == ()
