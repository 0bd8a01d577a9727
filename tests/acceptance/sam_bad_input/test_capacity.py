"""Values, tensors and results that need more than the machine has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse

from tests.support.commands import gnarl, refusal
from tests.support.sam.files import CONFIG, COPY, HEADER
from tests.support.sam.refusals import refused


def test_values_that_fixed_point_does_not_hold(tmp_path: Path) -> None:
    path = tmp_path / "b.npy"
    np.save(path, np.array([[0, 1.0], [0, 1000.0]]))
    given = ("--tensor", f"B={path}", "--set", "format=fixed16.8")
    holds = "fixed16.8 holds -128.0 to 127.99609375"
    assert refused(tmp_path, COPY, *given) == f"B[1,1] = 1000.0: {holds}"
    np.save(path, np.ones((2, 2)))
    times = "X(i,j)=300*B(i,j) -f=X:ss -f=B:ss"
    assert refused(tmp_path, times, *given) == f"constant = 300.0: {holds}"


def test_arrays_that_are_too_short(tmp_path: Path) -> None:
    path = tmp_path / "b.npz"
    scipy.sparse.save_npz(path, scipy.sparse.random_array((40, 40), density=0.5, rng=1))
    given = ("--tensor", f"B={path}", "--backend", "model", "--set")
    line = refused(tmp_path, COPY, *given, "array_words=256")
    assert line == "array_words = 256: tensor B needs at least 800"
    assert gnarl("run", CONFIG, COPY, *given, "array_words=800").exit_code == 0
    dense = "X(i,j)=B(i,j) -f=B:ss"
    line = refused(tmp_path, dense, *given, "array_words=1024")
    assert line == "array_words = 1024: tensor X needs at least 1600"
    assert gnarl("run", CONFIG, dense, *given, "array_words=1600").exit_code == 0


def test_results_that_are_too_long(tmp_path: Path) -> None:
    path = tmp_path / "b.npy"
    np.save(path, np.ones(40))
    text = "X(i,j)=b(i)*c(j) -f=X:ss -f=b:s -f=c:s"
    given = ("--tensor", f"b={path}", "--tensor", f"c={path}", "--set", "array_words=256")
    line = refusal(tmp_path, "run", CONFIG, text, *given, "--backend", "model")
    assert line == (
        "gnarl: X(i,j)=b(i)*c(j): model block write_X_j (fiberwrite): writes 1,600 rows to crd: "
        "must be at most 256, array_words"
    )


def test_accumulators_that_are_too_small(tmp_path: Path) -> None:
    path = tmp_path / "b.npy"
    np.save(path, np.ones((2, 100)))
    text = "x(j)=B(i,j) -f=x:s -f=B:ss -s=reorder(i,j)"
    given = (text, "--tensor", f"B={path}", "--backend", "model", "--set")
    line = refusal(tmp_path, "run", CONFIG, *given, "accumulator_words=64")
    assert line == (
        "gnarl: x(j)=B(i,j): model block accumulate_i (spaccumulator): needs 100 sums: must be at "
        "most 64, accumulator_words"
    )
    assert gnarl("run", CONFIG, *given, "accumulator_words=128").exit_code == 0


def test_indices_that_are_too_narrow(tmp_path: Path) -> None:
    path = tmp_path / "b.npy"
    np.save(path, np.eye(2, 300))
    narrow = ("--tensor", f"B={path}", "--set", "index_bits=8")
    line = refused(tmp_path, COPY, *narrow)
    assert line == f"{path}: index_bits = 8: index j of size 300 needs at least 9"
    np.save(path, np.ones((20, 20)))
    line = refused(tmp_path, COPY, *narrow)
    assert line == "index_bits = 8: tensor B needs at least 9, for 400 rows"
    far = tmp_path / "b.tns"
    far.write_text(f"{10**17} 1 1\n")
    line = refused(tmp_path, COPY, "--tensor", f"B={far}")
    assert line == f"{far}: index_bits = 32: index i of size {10**17} needs at least 57"


def test_bitvectors_with_narrow_indices(tmp_path: Path, operands: list[str]) -> None:
    arguments = (COPY.replace("B:ss", "B:bb"), *operands[:2], "--set", "index_bits=16")
    assert refused(tmp_path, *arguments) == (
        "index_bits = 16: must be 32 where tensors have bitvector levels, whose rows hold words of "
        "that width"
    )


def test_dense_levels_beyond_memory(tmp_path: Path) -> None:
    path = tmp_path / "b.mtx"
    path.write_text(HEADER + "2 1000000000 1\n1 1 1\n")
    given = ("--tensor", f"B={path}")
    assert refused(tmp_path, "X(i,j)=B(i,j) -f=X:ss -f=B:dd", *given) == (
        "B: level 1 (dimension 1, dense) has 2 x 1,000,000,000 positions: at most 268,435,456; a "
        "compressed level stores only entries"
    )
