"""Models on a fabric: one machine, and a configuration of it for each launch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gnarl.hw.lib.errors import CapacityError, ProgramError
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.machine.host import HostDriver
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sam.target import TARGET
from gnarl.sw.runtime.target.configuration import load_configuration

EXAMPLES = Path(__file__).parents[4] / "examples"
SUM = "T(i,k)=sum[m](B(i,m)*C(m,k)); X(i,k)=T(i,k)+D(i,k) -f=B:ss -f=C:ss -f=T:ss -f=D:ss -f=X:ss"
VECTORS = "t(i)=relu(b(i)); x(i)=t(i)*3 -f=b:s -f=t:s -f=x:s"
MOVED = (
    "t(i)=relu(b(i)); s=slice[i:2:3](b(i)); r(j)=concat(t(i),s); y(j)=r(j)*3; x(j,k)=reshape(y(j)) "
    "-f=b:s -f=t:s -f=r:s -f=y:s"
)
LISTED = (
    "A(i)=coo[i:4](at(d,e),b(e)); t(i)=relu(A(i)); x(i)=t(i)*3 -f=A:s -f=b:d -f=t:s -f=x:s -r=x"
)
POOL = (
    "fabric={root=1, fiberlookup=1, repsiggen=1, repeat=1, arrayvals=2, alu=1, function_relu=1, "
    "fiberwrite=1, valwrite=1}"
)
SMALL = ("format=fixed16.0", "index_bits=8", "array_words=16", "skip=false", POOL)
"""A fabric for ``VECTORS``, whose RTL is built in a few seconds."""


@pytest.fixture(scope="module")
def operands() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = {"B": (5, 7), "C": (7, 6), "D": (5, 6)}
    return {
        name: (rng.random(shape) < 0.4) * rng.integers(1, 9, shape).astype(float)
        for name, shape in shapes.items()
    }


@pytest.fixture(scope="module")
def device() -> Device:
    return Device("sam_fabric_small", "model")


@pytest.fixture(scope="module")
def program(device, operands) -> Program:
    return device.compile((SUM, operands), fuse="none")


def configurations(program: Program) -> list[tuple[int, ...]]:
    return [tuple(each.sections["configuration"].tolist()) for each in program.launches]


def check_launches(device: Device, result: Result) -> None:
    """All of them were right, on the same machine."""
    program = result.program
    assert device.verify(result).difference == ""
    assert {each.digest for each in program.launches} == {device.configuration.config.digest}
    for run in result.launches:
        assert device.hardware(program, run.launch) is device.configuration


def test_two_statements(device, program, operands):
    result = device.run(program, operands)
    check_launches(device, result)
    expected = operands["B"] @ operands["C"] + operands["D"]
    assert np.array_equal(result.outputs["X"].to_dense(), expected)


@pytest.mark.parametrize("memory", ["local", "shared", "lines"])
def test_rtl(memory, monkeypatch):
    """A launch finds nothing of the configuration of the one before, but in a shared memory what
    that one has written; the host moves elements between them."""
    loaded: Counter[str] = Counter()
    write_window = HostDriver.write_window

    def noted(self: HostDriver, window: str, words: np.ndarray, start: int = 0) -> None:
        loaded[window] += len(words)
        write_window(self, window, words, start)

    monkeypatch.setattr(HostDriver, "write_window", noted)
    configuration = load_configuration(
        "sam_fabric_small", (*SMALL, f"memory={memory}", "memory_channels=2")
    )
    with Device(configuration, "rtl") as device:
        program = device.compile((VECTORS, {"b": np.ones(4)}), fuse="none")
        assert len(set(configurations(program))) == 2
        for b in ([0, 3, -4, 5], [-1, 0, 0, 2]):
            loaded.clear()
            result = device.run(program, {"b": np.array(b, float)})
            check_launches(device, result)
            expected = 3 * np.maximum(b, 0)
            assert np.array_equal(result.outputs["x"].to_dense(), expected)
            if memory == "shared":
                entries = np.count_nonzero(b)
                # Coordinates and values of b, the constant, and a segment.
                assert loaded["words"] <= 2 * entries + 1
                assert loaded["pairs"] == 1
            if memory == "lines":
                # A segment is two words.
                assert loaded["words"] <= 2 * np.count_nonzero(b) + 1 + 2
            moving = device.compile((MOVED, {"b": np.ones(4)}), fuse="none")
            result = device.run(moving, {"b": np.array(b, float)})
            check_launches(device, result)
            moved = np.concatenate([np.maximum(b, 0), [b[2]]]).reshape(5, 1)
            assert np.array_equal(result.outputs["x"], 3 * moved)
            given = {"at": np.array([[0, 0, 3, 2]]), "b": np.array(b, float)}
            result = device.run(device.compile((LISTED, given), fuse="none"), given)
            check_launches(device, result)
            sums = [b[0] + b[1], 0, b[3], b[2]]
            assert np.array_equal(result.outputs["x"].to_dense(), 3 * np.maximum(sums, 0))


@pytest.mark.parametrize("example", ["gcn", "graphsage"])
def test_networks(example):
    """The fabric for models has what their statements need."""
    with Device("sam_fabric_ml", "model") as device:
        workload = device.workload(f"{EXAMPLES / example}.py:karate")
        result = device.run(device.compile(workload, fuse="none"), workload.inputs)
        check_launches(device, result)


def test_a_program_is_a_file(tmp_path, program):
    path = tmp_path / "sum.npz"
    program.save(path)
    loaded = Program.load(path, lambda target: TARGET.compiler.schema)
    assert configurations(loaded) == configurations(program)
    assert len(set(configurations(loaded))) == 2


def test_another_launchs_configuration(program):
    first, second = program.launches
    configuration = first.sections["configuration"]
    wrong = replace(second, sections={**second.sections, "configuration": configuration})
    with pytest.raises(ProgramError) as caught:
        replace(program, launches=(first, wrong)).check()
    assert "section 'configuration': does not match the plan's graph" in str(caught.value)


def test_a_region_that_is_too_large(device, operands):
    with pytest.raises(CapacityError) as caught:
        device.compile((SUM, operands), fuse="layer")
    assert str(caught.value) == (
        "region X: graph: needs 1 of union_values, the fabric has 0; 6 of fiberlookup, the fabric "
        "has 4"
    )


def test_dumps(device, operands):
    made: dict[str, Mapping[str, str]] = {}
    trace = Trace(write=lambda name, texts: made.update({name: texts}))
    device.compile((SUM, operands), fuse="none", trace=trace)
    assert list(made["configure"]) == ["T.txt", "X.txt"]
