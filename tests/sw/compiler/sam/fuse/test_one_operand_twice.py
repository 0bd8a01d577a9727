"""A dense input that a region takes twice has one storage, which must suit both."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sam.fuse.regions import Fusion, Region, lower_regions
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.workloads.einsum.text import parse_program


def lowered(text: str) -> None:
    program = parse_program(text)
    names = tuple(each.name for each in program.statements)
    lower_regions(Fusion(program, (Region(names),)))


def test_an_order_is_found_that_suits_both() -> None:
    x = np.random.default_rng(0).integers(-3, 4, (6, 5)).astype(float)
    with Device("sam_fp32", backend="model") as device:
        program = device.compile(("g(i,j)=sum[k](x(i,k)*x(j,k));", {"x": x}))
        result = device.run(program, {"x": x})
        assert device.verify(result).bit_exact
    np.testing.assert_array_equal(result.outputs["g"], x @ x.T)


def test_no_order_suits_a_matrix_and_its_transpose() -> None:
    with pytest.raises(WorkloadError, match="x"):
        lowered("g(i,j)=x(i,j)*x(j,i);")


def test_accesses_in_two_statements_are_compared() -> None:
    """The second one was walked against its storage."""
    a = np.arange(12.0).reshape(3, 4)
    text = "t(k)=sum[l](A(l,k)); y(m)=sum[k](A(m,k)*t(k));"
    tensors = {"A": a}
    with Device("sam_fp32", backend="model") as device:
        result = device.run(device.compile((text, tensors)), tensors)
        assert device.verify(result).bit_exact
    np.testing.assert_array_equal(result.outputs["y"], a @ a.sum(0))
