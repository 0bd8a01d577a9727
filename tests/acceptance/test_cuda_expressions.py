"""Expressions on CUDA through the ``gnarl`` command: as SAM takes them, from the same files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from gnarl import Device
from tests.support.commands import gnarl, refusal
from tests.support.sam.files import write_mtx

CUDA, SAM = "cuda_sm90", "sam_fp32"
POOLED = "X(i,j)=B(i,k)*C(k,j) -f=X:dd -f=B:ds -f=C:dd"
SAMPLED = "X(i,j)=B(i,j)*C(i,k)*D(k,j) -f=X:ss -f=B:ss -f=C:dd -f=D:dd:1,0 -s=reorder(i,j,k)"
VECTOR = "x(i)=B(i,k)*c(k) -f=x:d -f=B:ds -f=c:d"

B = np.array([[0, 1.5, 0, 2], [0, 0, 0, 0], [1, 0.25, -1, 3]])
C = np.arange(20).reshape(4, 5) / 4
LEFT, RIGHT = np.arange(6).reshape(3, 2) / 2, np.arange(8).reshape(2, 4) - 2.5


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write_mtx(tmp_path / "b.mtx", B)
    for name, array in (("c", C), ("v", C[:, 1]), ("left", LEFT), ("right", RIGHT)):
        np.save(tmp_path / f"{name}.npy", array)
    return tmp_path


def tensors(folder: Path, **names: str) -> list[str]:
    return [word for name in names for word in ("--tensor", f"{name}={folder / names[name]}")]


def pooled(folder: Path) -> list[str]:
    return tensors(folder, B="b.mtx", C="c.npy")


def sampled(folder: Path) -> list[str]:
    return tensors(folder, B="b.mtx", C="left.npy", D="right.npy")


def run(config: str, workload: str | Path, *arguments: str | Path) -> dict[str, Any]:
    backend = "emulation" if config == CUDA else "model"
    result = gnarl("run", config, workload, *arguments, "--backend", backend, "--json")
    assert result.exit_code == 0, result.stderr
    report: dict[str, Any] = json.loads(result.stdout)
    assert report["bit_exact"]
    return report


@pytest.mark.parametrize(
    ("text", "given"), [(f"{POOLED} -s=reorder(i,k,j)", pooled), (SAMPLED, sampled)]
)
def test_the_same_command_gives_the_same_numbers_on_sam(files: Path, text: str, given: Any) -> None:
    found = {}
    for config in (CUDA, SAM):
        report = run(config, text, *given(files))
        assert report["workload"] == text.split(" -")[0]
        found[config] = report["outputs"]
    assert found[CUDA] == found[SAM]


def test_outputs_are_written_as_those_of_sam(files: Path) -> None:
    path = files / "x.npz"
    run(CUDA, POOLED, *pooled(files), "-o", path)
    np.testing.assert_array_equal(np.load(path)["X"], B @ C)
    run(CUDA, SAMPLED, *sampled(files), "-o", path)
    np.testing.assert_array_equal(scipy.sparse.load_npz(path).toarray(), B * (LEFT @ RIGHT))
    run(CUDA, VECTOR, *tensors(files, B="b.mtx", c="v.npy"), "-o", path)
    np.testing.assert_array_equal(np.load(path)["x"], B @ C[:, 1])


def test_several_products_are_one_kernel(files: Path) -> None:
    text = "X(i,j)=B(i,k)*C(k,j)+D(i,l)*E(l,j) -f=B:ds -f=D:ds"
    given = tensors(files, B="b.mtx", C="c.npy", D="b.mtx", E="c.npy")
    report = run(CUDA, text, *given, "-o", files / "x.npz")
    assert report["statistics"]["features"] == 1
    np.testing.assert_array_equal(np.load(files / "x.npz")["X"], 2 * (B @ C))


@pytest.mark.parametrize("format", ["float16", "bfloat16"])
def test_the_format_is_the_configurations(files: Path, format: str) -> None:
    report = run(CUDA, POOLED, *pooled(files), "--set", f"format={format}")
    assert report["outputs"]["X"]["type"] == format


@pytest.mark.parametrize(
    ("text", "given", "kernel"),
    [(POOLED, pooled, "gnarl::BagKind<float"), (SAMPLED, sampled, "gnarl::SampledProduct<Table")],
)
def test_a_program_takes_new_operands(files: Path, text: str, given: Any, kernel: str) -> None:
    program = files / "p.npz"
    result = gnarl("compile", CUDA, text, *given(files), "-o", program)
    assert (result.exit_code, result.stdout) == (0, ""), result.stderr
    assert kernel in gnarl("disasm", program).stdout
    assert run(CUDA, program, *given(files))["outputs"] == run(CUDA, text, *given(files))["outputs"]
    write_mtx(files / "b.mtx", np.vstack([B, B])[: 3 if text == SAMPLED else 6] * 2)
    run(CUDA, program, *given(files))


def test_a_picture_of_a_pooled_sums_grid(files: Path) -> None:
    run(CUDA, POOLED, *pooled(files), "--timeline", files / "grid.png")
    assert (files / "grid.png").read_bytes().startswith(b"\x89PNG")


def test_from_python() -> None:
    operands = {"B": scipy.sparse.csr_array(B), "C": C}
    with Device(CUDA, "emulation") as device:
        program = device.compile((POOLED, operands))
        result = device.run(program, operands)
        np.testing.assert_array_equal(result.outputs["X"], B @ C)
        assert device.verify(result).bit_exact


LACKS = "not supported by target cuda"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ["run", CUDA, "X(i,j)=B(i,k)*C(k,j) -f=B:ds:1,0"],
            f"expression, column 8: B(i,k) in format ds10: {LACKS}: must be rows of entries, i "
            "outermost: -f=B:ds:0,1 or -f=B:ss:0,1",
        ),
        (["run", CUDA, "X(i,j)=B(i"], "expression, column 11: expected , or ), found the end"),
        (
            ["compile", CUDA, POOLED, "-o", "p.npz"],
            "expression, column 15: the size of index k is not known, and the kernel is made for "
            "it: --tensor C=PATH gives it",
        ),
        (
            ["run", CUDA, POOLED, "C=c.npy"],
            "X(i,j)=B(i,k)*C(k,j): tensor B is not given: --tensor NAME=PATH gives one",
        ),
        (
            ["run", CUDA, POOLED, "B=b.mtx", "C=c.npy", "--batch", "4"],
            "--batch 4: not supported for expressions, whose operands have rows of their own: must "
            "be left out",
        ),
        (
            ["run", CUDA, POOLED, "B=b.mtx", "C=c.npy", "--values", "c.npy"],
            "--values: not supported for expressions: --tensor NAME=PATH gives their tensors",
        ),
        (
            ["run", CUDA, SAMPLED, "B=b.mtx", "C=left.npy", "D=right.npy", "--mapping", "device"],
            "mapping = 'device': not supported for sampled products, whose entries are dealt "
            "evenly: must be left out",
        ),
        (
            ["run", CUDA, SAMPLED, "B=b.mtx", "C=left.npy", "D=right.npy", "--timeline", "t.png"],
            "--timeline: not supported for sampled products",
        ),
        (
            ["run", CUDA, POOLED, "B=b.mtx", "C=right.npy"],
            "expression, column 15: index k has size 2 in mode 0 of C, but 4 in mode 1 of B; it "
            "must have one size",
        ),
        (
            ["tune", CUDA, POOLED, "-o", "s.json"],
            "X(i,j)=B(i,k)*C(k,j): expressions are not tuned: must be a model",
        ),
    ],
)
def test_what_is_wrong_is_named(
    files: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], text: str
) -> None:
    monkeypatch.chdir(files)
    given = [
        word for one in arguments for word in (["--tensor", one] if one[1:2] == "=" else [one])
    ]
    if arguments[0] == "run":
        given += ["--backend", "emulation"]
    assert refusal(files, *given) == f"gnarl: {text}"
