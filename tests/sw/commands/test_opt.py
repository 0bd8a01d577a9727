"""``gnarl opt``: any level is read, goes through passes, and is printed."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from gnarl.sw.compiler.sam.fuse.choices import PROGRAM_PASSES
from tests.support.commands import gnarl, refusal
from tests.support.results import load_dense

PASSES = (
    "select",
    "hoist",
    "decouple",
    "vectorize",
    "first_iterations",
    "store_streams",
    "bufferize",
    "align_queues",
    "keep_sums",
    "fetch_rows",
    "forward_stores",
    "keep_rows",
    "partial_sums",
    "repeat_fibers",
    "prefetch_rows",
    "count_iterations",
    "stream_places",
    "delay_stores",
    "split_masks",
    "store_lanes",
    "lower",
)


@pytest.fixture
def dumps(tmp_path: Path) -> list[Path]:
    """Dumps of all levels, in order."""
    folder = tmp_path / "dumps"
    arguments = ("compile", "tmu_l2", "embedding_bag:tiny", "-o", tmp_path / "x.npz")
    assert gnarl(*arguments, "--dump", folder).exit_code == 0
    return sorted(folder.iterdir())


def test_a_dump_goes_through_the_next_pass_to_the_next_dump(dumps: list[Path]) -> None:
    for name, before, after in zip(PASSES, dumps[:-1], dumps[1:], strict=True):
        result = gnarl("opt", before, "-p", name, "--config", "tmu_l2", "--zero", "out")
        assert (result.exit_code, result.stdout) == (0, after.read_text())


def test_all_passes_at_once(dumps: list[Path]) -> None:
    options = ("-p", ",".join(PASSES), "--config", "tmu_l2", "--zero", "out")
    assert gnarl("opt", dumps[0], *options).stdout == dumps[-1].read_text()


def test_no_pass_prints_what_was_read(dumps: list[Path]) -> None:
    assert gnarl("opt", dumps[2]).stdout == dumps[2].read_text()


def test_refusals(dumps: list[Path], tmp_path: Path) -> None:
    scf, file = dumps[0], tmp_path / "x.mlir"
    known = ", ".join(PASSES)
    assert refusal(tmp_path, "opt", scf, "-p", "frob") == (
        f"gnarl: pass frob: must be one of {known}"
    )
    assert refusal(tmp_path, "opt", scf, "-p", "lower") == (
        f"gnarl: {scf}: pass lower takes SLC: the module is SCF"
    )
    assert refusal(tmp_path, "opt", scf, "--config", "dpu_d1_b8") == (
        f"gnarl: {scf}: MLIR text is not supported by target dpu"
    )
    file.write_text("builtin.module {\n}\n")
    assert refusal(tmp_path, "opt", file) == (
        f'gnarl: {file}: must have one func.func, whose attribute names = "a,b" has the names of '
        "its arguments"
    )
    file.write_text("builtin.module {\n  frob\n}\n")
    assert refusal(tmp_path, "opt", file) == (
        f"gnarl: {file}:3:1: Operation frob is not registered"
    )


LAYER = """func.func @layer(%adj: tensor<?x?xf32>, %x: tensor<?x?xf32>, %weight: tensor<?x?xf32>,
    %empty: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?xf32>) -> tensor<?x?xf32>
  %t = linalg.matmul ins(%adj, %x : tensor<?x?xf32>, tensor<?x?xf32>)
      outs(%init : tensor<?x?xf32>) -> tensor<?x?xf32>
  %y = linalg.matmul ins(%t, %weight : tensor<?x?xf32>, tensor<?x?xf32>)
      outs(%init : tensor<?x?xf32>) -> tensor<?x?xf32>
  func.return %y : tensor<?x?xf32>
}
"""


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    """A program of Einsums: two products."""
    path = tmp_path / "layer.mlir"
    path.write_text(LAYER)
    return path


def test_a_program_of_einsums_goes_through_its_passes_and_runs(layer: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed.mlir"
    result = gnarl("opt", layer, "-p", "associate=adj*(x*weight),views")
    assert result.exit_code == 0, result.stderr
    changed.write_text(result.stdout)
    first, second = result.stdout.split("linalg.generic ")[1:]
    assert (" ins(%x, %weight :" in first, " ins(%adj, %t :" in second) == (True, True)
    given = []
    noise = np.random.default_rng(0)
    for name, shape in {"adj": (3, 4), "x": (4, 5), "weight": (5, 2)}.items():
        np.save(tmp_path / f"{name}.npy", noise.integers(-3, 4, shape).astype(np.float32))
        given += ["--tensor", f"{name}={tmp_path / name}.npy"]
    outputs = []
    for file in (layer, changed):
        options = ("--backend", "model", "-o", tmp_path / "y.npz")
        assert gnarl("run", "sam_fp32", file, *given, *options).exit_code == 0
        outputs.append(load_dense(tmp_path / "y.npz", "y"))
    np.testing.assert_array_equal(*outputs)


def test_help_lists_the_passes_of_programs() -> None:
    listed = gnarl("opt", "--help").stdout.partition("Passes of programs of Einsums (sam):")[2]
    names = re.findall(r"^  (\S+)", listed, re.MULTILINE)
    assert names == [*PROGRAM_PASSES]


def test_refusals_of_programs(layer: Path, tmp_path: Path) -> None:
    known = ", ".join(PROGRAM_PASSES)
    assert refusal(tmp_path, "opt", layer, "-p", "hoist") == (
        f"gnarl: pass hoist: must be one of {known}"
    )
    assert refusal(tmp_path, "opt", layer, "--zero", "y") == (
        "gnarl: --zero: not for a program of Einsums: must be left out"
    )
    assert refusal(tmp_path, "opt", layer, "-p", "associate=adj*(x*w)") == (
        f"gnarl: {layer}: associate 'adj*(x*w)': the model has no product of just adj, w, x"
    )
    layer.write_text(LAYER.replace("constant 0.0", "constant 0x7F800000"))
    assert refusal(tmp_path, "opt", layer) == (
        f"gnarl: {layer}:5:3: linalg.matmul: inf must be finite"
    )
    layer.write_text(LAYER.replace("  func.return", "  frob\n  func.return"))
    assert refusal(tmp_path, "opt", layer) == (
        f"gnarl: {layer}:10:3: Operation frob is not registered"
    )
