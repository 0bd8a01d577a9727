"""The TMU through the ``gnarl`` command: all kinds of workloads, and how they are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from gnarl import Device
from gnarl.sw.workloads.loops.sources import named_workload
from tests.support.commands import gnarl, refusal
from tests.support.sam.files import write_mtx

TMU = "tmu_l2"
PRODUCT = "Y(i,k)=B(i,j)*C(j,k) -f=B:ds -s=reorder(i,j,k)"
VECTOR = "y(i)=B(i,j)*x(j) -f=B:ds"

B = np.array([[0, 1.5, 0, 2], [0, 0, 0, 0], [1, 0.25, -1, 3]])
D = np.roll(B, 1, axis=1) + np.diag([1.0, 0, 2, 0])[: B.shape[0], : B.shape[1]]
C = np.arange(20).reshape(4, 5) / 4


def run(*arguments: str | Path, backend: str = "model") -> dict[str, Any]:
    result = gnarl("run", TMU, *arguments, "--backend", backend, "--json")
    assert result.exit_code == 0, result.stderr
    report: dict[str, Any] = json.loads(result.stdout)
    assert report["bit_exact"]
    return report


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write_mtx(tmp_path / "b.mtx", B)
    write_mtx(tmp_path / "d.mtx", D)
    np.save(tmp_path / "c.npy", C)
    np.save(tmp_path / "x.npy", C[:, 1])
    return tmp_path


def tensors(folder: Path, **names: str) -> list[str]:
    return [word for name in names for word in ("--tensor", f"{name}={folder / names[name]}")]


@pytest.mark.parametrize(
    "text, names, wanted",
    [
        (VECTOR, {"B": "b.mtx", "x": "x.npy"}, B @ C[:, 1]),
        (PRODUCT, {"B": "b.mtx", "C": "c.npy"}, B @ C),
        ("y=B(i,j)*x(j) -f=B:ss", {"B": "b.mtx", "x": "x.npy"}, (B @ C[:, 1]).sum()),
        ("Y(i,j)=2*B(j,i) -s=reorder(j,i)", {"B": "b.mtx"}, 2 * B.T),
        ("Y(i,j)=B(i,j)*D(i,j) -f=B:ds -f=D:ds", {"B": "b.mtx", "D": "d.mtx"}, B * D),
        ("Y(i,j)=B(i,j)+D(i,j) -f=B:ds -f=D:ds", {"B": "b.mtx", "D": "d.mtx"}, B + D),
    ],
)
def test_expressions(files: Path, text: str, names: dict[str, str], wanted: Any) -> None:
    """Results have the tensor's name and shape; a scalar has none."""
    path = files / "out.npz"
    report = run(text, *tensors(files, **names), "-o", path)
    assert report["workload"] == text.split(" -")[0]
    (found,) = np.load(path).values()
    assert found.dtype == np.float32 and found.shape == np.shape(wanted)
    np.testing.assert_array_equal(found, wanted)


def test_an_expression_on_rtl(files: Path) -> None:
    given = tensors(files, B="b.mtx", x="x.npy")
    assert run(VECTOR, *given, backend="rtl")["outputs"] == run(VECTOR, *given)["outputs"]


def test_a_program_of_an_expression_takes_new_operands(files: Path) -> None:
    program, given = files / "p.npz", tensors(files, B="b.mtx", x="x.npy")
    result = gnarl("compile", TMU, VECTOR, *given, "-o", program)
    assert (result.exit_code, result.stdout) == (0, ""), result.stderr
    write_mtx(files / "b.mtx", B[::-1] * 2)
    np.save(files / "x.npy", np.ones(4))
    assert run(program, *given, "-o", files / "y.npz")["workload"] == "y(i)=B(i,j)*x(j)"
    np.testing.assert_array_equal(np.load(files / "y.npz")["y"], (B[::-1] * 2).sum(1))


def test_numbers_that_float32_rounds_to_zero_are_reported(files: Path) -> None:
    np.save(files / "x.npy", np.array([1, 1e-60, 1, 1]))
    report = run(VECTOR, *tensors(files, B="b.mtx", x="x.npy"))
    assert report["vanished"] == {"count": 1, "first": "x[1] = 1e-60", "format": "float32"}


def test_expressions_from_python() -> None:
    operands = {"B": scipy.sparse.csr_array(B), "x": C[:, 1]}
    with Device(TMU, "model") as device:
        program = device.compile((VECTOR, operands))
        result = device.run(program, operands)
        np.testing.assert_array_equal(result.outputs["y"], B @ C[:, 1])
        assert device.verify(result).bit_exact


@pytest.mark.parametrize(
    "text, names, message",
    [
        ("y(i)=B(i", {}, "expression, column 9: expected , or ), found the end"),
        (
            VECTOR,
            {"B": "b.mtx"},
            "y(i)=B(i,j)*x(j): tensor x is not given: --tensor NAME=PATH gives one",
        ),
        (
            VECTOR,
            {"B": "b.mtx", "x": "c.npy"},
            "expression, column 13: tensor x has 2 dimensions, but x(j) 1; they must be the same",
        ),
        (
            VECTOR,
            {"B": "b.mtx", "x": "x.npy", "D": "c.npy"},
            "tensor D is not in the expression; it has B, x, y",
        ),
        (
            VECTOR,
            {"B": "large.npy", "x": "x.npy"},
            "B[1,2] = 1e+39: float32 holds -3.4028234663852886e+38 to 3.4028234663852886e+38",
        ),
        (
            "y(i)=B(i,j)-C(i,j)",
            {"B": "b.mtx", "C": "b.mtx"},
            "expression:1:1: sub: an expression must be a product, or a sum of two tensors",
        ),
    ],
)
def test_expressions_that_are_refused(
    files: Path, text: str, names: dict[str, str], message: str
) -> None:
    large = np.zeros((3, 4))
    large[1, 2] = 1e39
    np.save(files / "large.npy", large)
    assert refusal(files, "run", TMU, text, *tensors(files, **names)) == f"gnarl: {message}"


def test_operands_that_a_program_does_not_take(files: Path) -> None:
    program, given = files / "p.npz", tensors(files, B="b.mtx", x="x.npy")
    gnarl("compile", TMU, VECTOR, *given, "-o", program)
    write_mtx(files / "b.mtx", np.diag([1.0, 2, 3, 4])[:3])
    assert refusal(files, "run", TMU, program, *given) == (
        "gnarl: tensor B_coordinates1: dimension 0 has size 3: must be 6"
    )
    more = [*given, *tensors(files, C="c.npy")]
    assert refusal(files, "run", TMU, program, *more) == (
        "gnarl: tensor C is not in the expression; it has B, x, y"
    )


def test_a_dump_is_a_workload(files: Path) -> None:
    """Whose program is the same, byte for byte, but which has no values."""
    program, dumps, given = files / "p.npz", files / "d", tensors(files, B="b.mtx", x="x.npy")
    compiled = gnarl("compile", TMU, VECTOR, *given, "-o", program, "--dump", dumps)
    assert compiled.exit_code == 0, compiled.stderr
    (lowered,) = dumps.glob("*_lower.mlir")
    for dump in (dumps / "01_scf.mlir", dumps / "08_bufferize.mlir", lowered):
        again = files / f"{dump.stem}.npz"
        assert gnarl("compile", TMU, dump, "-o", again).exit_code == 0
        assert again.read_bytes() == program.read_bytes()
        assert run(dump, *given)["outputs"] == run(program, *given)["outputs"]
    assert refusal(files, "run", TMU, dumps / "04_decouple.mlir") == (
        "gnarl: y(i)=B(i,j)*x(j): tensors B, x are not given: --tensor NAME=PATH gives one"
    )


def test_a_dump_of_a_named_operation_on_rtl(files: Path) -> None:
    """Passes by name in between."""
    name = "block_gather:tiny"
    result = gnarl("compile", TMU, name, "-o", files / "p.npz", "--dump", files / "d")
    assert result.exit_code == 0, result.stderr
    early, late = files / "d" / "01_scf.mlir", files / "late.mlir"
    made = gnarl("opt", early, "--config", TMU, "-p", "hoist,decouple,vectorize,bufferize")
    late.write_text(made.stdout)
    arrays = named_workload(name).inputs
    for each, array in arrays.items():
        np.save(files / f"{each}.npy", array)
    given = tensors(files, **{each: f"{each}.npy" for each in arrays})
    assert run(late, *given, backend="rtl")["outputs"] == run(name)["outputs"]
    assert refusal(files, "run", TMU, late) == (
        f"gnarl: {name}: no values of {', '.join(arrays)}: --tensor NAME=PATH gives them"
    )
    assert refusal(files, "run", TMU, late, *given, "--opt", "3") == (
        f"gnarl: --opt: {late} has its own: must be left out"
    )


def test_mlir_text_that_is_no_dump(files: Path) -> None:
    path = files / "a.mlir"
    path.write_text("builtin.module {\n}\n")
    assert refusal(files, "run", TMU, path) == (
        f"gnarl: {path}: no attribute gnarl: must be what gnarl compile --dump has written"
    )
    assert refusal(files, "run", TMU, files / "b.mlir") == (
        f"gnarl: {files / 'b.mlir'}: No such file or directory"
    )
