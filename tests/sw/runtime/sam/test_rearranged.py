"""Tensors that the host makes between launches, and files of such programs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.errors import ProgramError, WorkloadError
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sam.target import TARGET
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.errors import refused
from tests.support.program_files import manifest_of, with_manifest

TEXT = (
    "t(i,j)=A(i,j)*2; r(k)=reshape(t(i,j)); y(k)=r(k)+1.5*r(k); c(i,k)=concat(y(k),r(k)); "
    "s(i)=slice[k:1:7:3](r(k)); -f=A:ss -f=t:ss -f=y:s -f=c:ss -r=y,c,s"
)
A = np.array([[0.0, 1.0, 0.0, 2.0], [0.5, 0.0, 0.0, -3.0]])
R = 2 * A.ravel()


@pytest.fixture(scope="module")
def device() -> Device:
    return Device("sam_fp32", "model")


@pytest.fixture(scope="module")
def program(device: Device) -> Program:
    return device.compile((TEXT, {"A": A}))


def require_right(device: Device, program: Program) -> None:
    result = device.run(program, {"A": A})
    assert device.verify(result).difference == ""
    np.testing.assert_array_equal(result.outputs["y"].to_dense(), 2.5 * R)
    np.testing.assert_array_equal(result.outputs["c"].to_dense(), [2.5 * R, R])
    np.testing.assert_array_equal(result.outputs["s"], R[1:7:3])
    assert result.cycles == sum(each.finished.cycles for each in result.launches)


def test_results_and_cycles(device: Device, program: Program) -> None:
    assert [each.name for each in program.launches] == ["t", "y"]
    require_right(device, program)


def test_a_program_is_a_file(tmp_path: Path, device: Device, program: Program) -> None:
    program.save(path := tmp_path / "p.npz")
    loaded = load(path)
    assert loaded.steps == program.steps
    require_right(device, loaded)


def test_a_program_without_steps_says_nothing_of_them(tmp_path: Path, device: Device) -> None:
    device.compile(("t(i)=sum[k](A(i,k))", {"A": A})).save(path := tmp_path / "p.npz")
    assert "steps" not in manifest_of(path)


def test_only_entries_are_moved(device: Device) -> None:
    """Of tensors that no memory holds."""
    at = np.array([[0, 1], [1, 0], [2**16 - 1, 2**15 - 1]])
    tensor = Tensor((2**16, 2**15), at, np.array([1.0, 2.0, 3.0]))
    text = (
        "t(i,j)=A(i,j)*2; r(k)=reshape(t(i,j)); y(k)=r(k)*r(k); c(i,k)=concat(y(k),r(k)); "
        "-f=A:ss -f=t:ss -f=y:s -f=c:ss -r=y,c"
    )
    result = device.run(device.compile((text, {"A": tensor})), {"A": tensor})
    assert device.verify(result).difference == ""
    places = [1, 2**15, 2**31 - 1]
    assert result.outputs["y"].coordinates.ravel().tolist() == places
    assert result.outputs["c"].coordinates.tolist() == [[i, at] for i in (0, 1) for at in places]
    assert result.outputs["c"].values.tolist() == [4, 16, 36, 2, 4, 6]


def test_a_number_that_the_format_does_not_hold_is_refused(device: Device) -> None:
    program = device.compile(("r(i,j)=reshape(a(i)); y(i)=a(i)*2; -r=r,y", {"a": np.ones(3)}))
    with refused("a[1] = 1e+300: float32 holds -3.4028234663852886e+38 to 3.4028234663852886e+38"):
        device.run(program, {"a": np.array([1.0, 1e300, 2.0])})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"text": "r(k)=reshape[k:9](t(i,j))"}, "step r: text: statement r, column 1: index k of "),
        ({"text": "r(k)=reshape(u(i,j))"}, "step r: text is of u, r: must move t to r"),
        ({"text": "r(k)=sum[i](t(i,k))"}, "step r: text is of t, r: must move t to r"),
        ({"text": "r(k)=slice[i:0:1](t(i,k)); x=r(k)"}, "step r: text: statement x, column "),
        ({"text": "\u2028"}, "step r: text: statement 1, column 1: "),
        ({"text": 3}, "steps[0].text in manifest.json is 3: must be of type str"),
        ({"more": 3}, "manifest.json has an unknown field 'steps[0].more'"),
        ({"inputs": ["u"]}, "steps[0].inputs[0] in manifest.json is 'u': must be a tensor"),
        ({"inputs": ["y"]}, "launch 1 (y): input r: no earlier launch writes it"),
        ({"output": "t"}, "launch 1 (y): input r: no earlier launch writes it"),
    ],
)
def test_damaged_steps_are_refused(
    tmp_path: Path, program: Program, change: dict[str, Any], problem: str
) -> None:
    program.save(path := tmp_path / "p.npz")
    steps = manifest_of(path)["steps"]
    with_manifest(path, steps=[{**steps[0], **change}, *steps[1:]])
    with pytest.raises(ProgramError) as error:
        load(path)
    assert str(error.value).startswith(f"{path}: {problem}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        (3, "steps in manifest.json is 3: must be of type list"),
        ([3], "steps[0] in manifest.json is 3: must be an object"),
        ([{"inputs": []}], "manifest.json has no steps[0].output"),
    ],
)
def test_what_are_no_steps_is_refused(
    tmp_path: Path, program: Program, steps: Any, problem: str
) -> None:
    program.save(path := tmp_path / "p.npz")
    with_manifest(path, steps=json.loads(json.dumps(steps)))
    with pytest.raises(ProgramError, match=f"^{re.escape(f'{path}: {problem}')}$"):
        load(path)


AT = np.array([[1, 0, 1, 1, 0], [2, 0, 2, 2, 0]])
LISTED = (
    "a(i,j)=coo[i:3,j:4](at(d,e),w(e)); p(i,j)=stored(b(i,j)); y(i)=sum[j](a(i,j)*x(j)); "
    "n(i)=sum[j](p(i,j)) -f=b:ss -r=y,n"
)
ENTRIES = Tensor((3, 4), np.array([[0, 1], [0, 3], [2, 2]]), np.array([0.0, -4.0, 0.5]))


@pytest.mark.parametrize(("format", "large"), [("float32", 2.0**24), ("float16", 2.0**11)])
def test_what_is_listed_in_one_place_is_added_in_order(format: str, large: float) -> None:
    """Rounded each time, where the sum of all would be another."""
    given = {"at": AT, "w": np.array([large, 3, 1, -large, 0]), "x": np.ones(4), "b": ENTRIES}
    with Device(load_configuration("sam_fp32", (f"format={format}",)), "model") as device:
        result = device.run(device.compile((LISTED, given)), given)
        assert device.verify(result).difference == ""
    np.testing.assert_array_equal(result.outputs["y"], [3, 0, 0])
    np.testing.assert_array_equal(result.outputs["n"], [2, 0, 1])


def test_lists_of_coordinates_are_in_files(tmp_path: Path, device: Device) -> None:
    """Each run has its own, in no format of the machine; nodes above 2**24 are exact."""
    given = {"at": AT, "w": np.arange(5.0), "x": np.ones(4), "b": ENTRIES}
    device.compile((LISTED, given)).save(path := tmp_path / "p.npz")
    program = load(path)
    assert {spec.name: spec.type for spec in program.inputs}["at"] == "float64"
    result = device.run(program, {**given, "at": AT[:, ::-1]})
    assert device.verify(result).difference == ""
    np.testing.assert_array_equal(result.outputs["y"], [3, 7, 0])
    for wrong, number in ((AT + 2, "3"), (AT - 1, "-1"), (AT * 0.5, "0.5")):
        with pytest.raises(WorkloadError, match=rf"at\(0, \d\) = {number}: must be a whole number"):
            device.run(program, {**given, "at": wrong})
    with refused("tensor at: dimension 1 has size 4: must be 5"):
        device.run(program, {**given, "at": AT[:, :4]})


def test_coordinates_above_those_that_float32_has(device: Device) -> None:
    size = 2**26
    text = f"a(i)=coo[i:{size}](at(d,e)); y(i)=a(i)*2 -f=a:s -f=y:s"
    given = {"at": np.array([[2**24 + 1, 2**25 + 3, 2**24 + 1]])}
    result = device.run(device.compile((text, given)), given)
    assert device.verify(result).difference == ""
    assert result.outputs["y"].coordinates.ravel().tolist() == [2**24 + 1, 2**25 + 3]
    assert result.outputs["y"].values.tolist() == [4, 2]


def test_numbers_that_the_format_does_not_have() -> None:
    """Of edges without a weight, each of which is 1."""
    listed, weighted = (f"a(i)=coo[i:3](at(d,e){w}); y(i)=a(i)*0.5" for w in ("", ",w(e)"))
    given = {"at": np.array([[2, 2]]), "w": np.array([0.5, 0.25])}
    with Device(load_configuration("sam_fp32", ("format=fixed16.15",)), "model") as device:
        with refused("a[2] = 1.0: fixed16.15 holds -1.0 to 0.999969482421875"):
            device.run(device.compile((listed, {"at": given["at"]})), {"at": given["at"]})
        result = device.run(device.compile((weighted, given)), given)
        assert device.verify(result).difference == ""
        np.testing.assert_array_equal(result.outputs["y"], [0, 0, 0.375])


def load(path: Path) -> Program:
    return Program.load(path, lambda target: TARGET.compiler.schema)
