"""Sizes of single arrays, in programs of several launches and on fabrics."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gnarl.hw.lib.errors import CapacityError, ConfigError, ProgramError
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.memory_map import array_windows
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration

STATEMENTS = "t(i)=b(i)*c(i); x(i)=t(i)+b(i) -f=b:d -f=c:d -f=t:d -f=x:d"
TENSORS = {"b": np.arange(20) + 1.0, "c": np.full(20, 2.0)}


@pytest.mark.parametrize("memory", ["local", "shared", "lines"])
def test_launches_have_the_sizes_of_their_own_arrays(memory: str) -> None:
    """``vals_c`` is of the first launch alone, ``vals_t`` of the second."""
    sizes = "arrays={vals_c=20, vals_t_vals=20, write_x_vals=20}"
    named = load_configuration("sam_fp32", (f"memory={memory}", "array_words=64", sizes))
    with Device(named, "model") as device:
        program = device.compile((STATEMENTS, TENSORS), fuse="none")
        result = device.run(program, TENSORS)
        assert device.verify(result).difference == ""
        np.testing.assert_array_equal(result.outputs["x"], 3 * TENSORS["b"])
    configs = [SamConfig.from_dict(launch.config) for launch in program.launches]
    assert [config.arrays for config in configs] == [
        {"vals_c": 20},
        {"vals_t_vals": 20, "write_x_vals": 20},
    ]


def test_what_no_launch_has_is_refused() -> None:
    named = load_configuration("sam_fp32", ("arrays={vals_c=20, vals_u=20}",))
    with Device(named, "model") as device, pytest.raises(ConfigError) as caught:
        device.compile((STATEMENTS, TENSORS), fuse="none")
    assert str(caught.value) == (
        "arrays.vals_u: no launch has such an array; there are vals_b_vals, vals_c_vals, "
        "write_t_vals_vals, vals_t_vals, write_x_vals_vals"
    )


def test_a_launch_that_needs_more_names_the_field() -> None:
    named = load_configuration("sam_fp32", ("arrays={vals_t=19}",))
    with Device(named, "model") as device:
        program = device.compile((STATEMENTS, TENSORS), fuse="none")
        with pytest.raises(CapacityError) as caught:
            device.run(program, TENSORS)
    assert str(caught.value).endswith("arrays.vals_t = 19: tensor t needs at least 20")


def test_units_of_a_fabric_have_sizes_of_their_own() -> None:
    """Each array of values is used by one of two units, the second of which is too small."""
    sizes = ("array_words=64", "arrays={arrayvals_1=20}")
    with Device(load_configuration("sam_fabric_small", sizes), "model") as device:
        program = device.compile("x(i)=b(i)*c(i) -f=x:s -f=b:s -f=c:s")
        given = {name: values[:20] for name, values in TENSORS.items()}
        assert device.verify(device.run(program, given)).difference == ""
        longer = {name: np.ones(21) for name in TENSORS}
        with pytest.raises(CapacityError) as caught:
            device.run(program, longer)
    assert str(caught.value) == "arrays.arrayvals_1 = 20: tensor c needs at least 21"
    with pytest.raises(ConfigError) as refused:
        load_configuration("sam_fabric_small", ("arrays={vals_b=20}",))
    assert "arrays.vals_b: no such array; there are arrayvals_0_vals, " in str(refused.value)


def test_arrays_of_blocks_have_as_many_words_as_others() -> None:
    """A value of 4 words is a row, of which there are a quarter as many."""
    text = "x(i)=b(i)*c(i) -f=b:d -f=c:d -f=x:d -s=block(i,4)"
    for sizes in ("arrays={vals_b=20}", "array_words=20"):
        with Device(load_configuration("sam_fp32", (sizes,)), "model") as device:
            program = device.compile(text)
            assert device.verify(device.run(program, TENSORS)).difference == ""
            (config,) = (SamConfig.from_dict(launch.config) for launch in program.launches)
            assert {window.name: window.rows for window in array_windows(config)}[
                "vals_b_vals"
            ] == 5
            with pytest.raises(CapacityError) as caught:
                device.run(program, {name: np.ones(21) for name in TENSORS})
        assert re.search(r" = 20: tensor [bcx] needs at least 24$", str(caught.value))


def test_results_of_blocks_that_are_too_long_say_in_which_rows() -> None:
    text = "x(i)=b(i) -f=b:s -f=x:s -s=block(i,4)"
    named = load_configuration("sam_fp32", ("arrays={write_x_vals=20}",))
    with Device(named, "model") as device, pytest.raises(ProgramError) as caught:
        device.run(device.compile(text), {"b": np.ones(24)})
    assert (
        "writes 6 rows to vals: must be at most 5, arrays.write_x_vals in rows of 4 words"
        in str(caught.value)
    )
