"""Values, tensors and results that need more than the machine has."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
import scipy.sparse

from gnarl.hw.lib.errors import ProgramError
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sam.target import SamExecutor
from gnarl.sw.runtime.target.configuration import load_configuration
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


@pytest.mark.parametrize("backend", ["model", "rtl"])
def test_sums_are_counted_before_hardware_is_built(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys of order two lie 256 apart for 200 columns; which rows there are is in the data."""

    def machine(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("built")

    monkeypatch.setattr(SamExecutor, "machine", machine)
    text = "X(i,j)=B(i,k)*C(k,j) -f=X:ss -f=B:ss:1,0 -f=C:ss -s=reorder(k,i,j)"
    with Device(load_configuration(CONFIG, ("accumulator_words=512",)), backend) as device:
        program = device.compile(text)
        b, c = np.eye(4, 8), np.ones((8, 200))
        with pytest.raises(ProgramError) as caught:
            device.run(program, {"B": b, "C": c})
        assert str(caught.value) == (
            "X(i,j)=B(i,k)*C(k,j): model block accumulate_k (spaccumulator): needs 968 sums: must "
            "be at most 512, accumulator_words"
        )
        b[2:] = 0  # the first two rows fit
        with pytest.raises(AssertionError, match="built"):
            device.run(program, {"B": b, "C": c})


def test_arrays_of_sizes_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "b.npz"
    scipy.sparse.save_npz(path, scipy.sparse.random_array((40, 40), density=0.5, rng=1))
    given = ("--tensor", f"B={path}", "--backend", "model", "--set", "array_words=1024", "--set")
    line = refused(tmp_path, COPY, *given, "arrays={vals_B=799}")
    assert line == "arrays.vals_B = 799: tensor B needs at least 800"
    line = refused(tmp_path, COPY, *given, "arrays={lookup_B_j_seg=39, lookup_B_i_crd=39}")
    assert line == "arrays.lookup_B_j_seg = 39: tensor B needs at least 40"
    line = refusal(tmp_path, "run", CONFIG, COPY, *given, "arrays={write_X_vals=799}")
    assert line.endswith(
        "model block write_X_vals (valwrite): writes 800 rows to vals: must be at most 799, "
        "arrays.write_X_vals"
    )
    line = refusal(tmp_path, "run", CONFIG, COPY, *given, "arrays={vals_C=1}")
    assert line == (
        "gnarl: arrays.vals_C: no such array; there are lookup_B_i_seg, lookup_B_i_crd, "
        "lookup_B_j_seg, lookup_B_j_crd, vals_B_vals, write_X_i_seg, write_X_i_crd, "
        "write_X_j_seg, write_X_j_crd, write_X_vals_vals"
    )
    enough = "arrays={vals_B=800, lookup_B_i=40, write_X_j_crd=800}"
    assert gnarl("run", CONFIG, COPY, *given, enough).exit_code == 0


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
