"""Bad input to the CUDA target: one line that says where and what would be right, status 2."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from gnarl.sw.compiler.cuda.architectures import ARCHITECTURES
from tests.support.commands import gnarl, refusal
from tests.support.cuda.embedding_files import values, write_model, write_values
from tests.support.program_files import array_bytes, with_member

CONFIG = "cuda_sm90"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path)


def refused(folder: Path, *arguments: str | Path) -> str:
    """Why a run on the emulation is refused, without its own beginning."""
    return refusal(folder, "run", CONFIG, *arguments, "--backend", "emulation").removeprefix(
        "gnarl: "
    )


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        (
            {"f1_indices": np.array([3, 20, 4])},
            "indices of f1[1] = 20: must be from 0 to 19",
        ),
        (
            {"f1_indices": np.array([3, -1, 4])},
            "indices of f1[1] = -1: must be from 0 to 19",
        ),
        (
            {"f2_offsets": np.array([0, 2, 1])},
            "offsets of f2[2] = 1: must be at least 2, as the one before",
        ),
        (
            {"f2_offsets": np.array([0, 1, 4])},
            "offsets of f2[2] = 4: must be 3, the number of indices",
        ),
        ({"f2_offsets": np.array([1, 1, 3])}, "offsets of f2[0] = 1: must be 0"),
        ({"f0_offsets": None}, "f0.offsets: is missing"),
        (
            {"f0_indices": np.array([0.5, 1.0, 2.0])},
            "f0.indices: is float64 [3]: must be whole numbers in one dimension",
        ),
        (
            {"f0_table": np.zeros((50, 5), np.float32)},
            "f0.table: has shape [50, 5]: must be [50, 4]",
        ),
        (
            {"f0_table": np.zeros((50, 4), np.int8)},
            "f0.table: is int8: must be float32",
        ),
        (
            {"f0_weights": np.ones(2, np.float32)},
            "f0.weights: the feature is not weighted: must be left out",
        ),
        (
            {"f9_indices": np.array([1])},
            "f9.indices: the model has no such array; names are FEATURE.indices, FEATURE.offsets, "
            "FEATURE.weights and FEATURE.table, features f0 to f2",
        ),
    ],
)
def test_values(
    model: Path, tmp_path: Path, changed: dict[str, np.ndarray | None], text: str
) -> None:
    path = write_values(tmp_path / "mine.npz", **changed)
    assert refused(tmp_path, model, "--values", path) == f"{path}: {text}"


def test_values_that_are_no_archive(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    path.write_text("0 1 2")
    assert refused(tmp_path, model, "--values", path).startswith(
        f"{path}: is not an .npz file of arrays: "
    )


def test_values_in_a_damaged_member(model: Path, tmp_path: Path) -> None:
    path = write_values(tmp_path / "mine.npz")
    with_member(path, "f1.table.npy", b"\x93NUMPY")
    assert refused(tmp_path, model, "--values", path) == (
        f"{path}: is not an .npz file of arrays: 'f1.table.npy' is damaged: not an array of NumPy"
    )


def test_values_that_are_compressed(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    arrays = values()
    np.savez_compressed(path, **arrays)
    run = gnarl("run", CONFIG, model, "--values", path, "--backend", "emulation")
    assert run.exit_code == 0, run.stderr
    np.savez_compressed(path, **arrays, note=np.zeros(2**26))
    assert refused(tmp_path, model, "--values", path).startswith(
        f"{path}: is not an .npz file of arrays: expands to 536,"
    )


def test_tables_without_features_are_refused(model: Path, tmp_path: Path) -> None:
    (model / "table_config.txt").write_text("50,4\n20,8\n")
    assert str(model) in refused(tmp_path, model)


def test_a_dimension_beyond_the_limit(tmp_path: Path) -> None:
    model = write_model(tmp_path)
    (model / "table_config.txt").write_text("50,4\n20,5000\n30,3\n")
    assert refused(tmp_path, model) == (
        f"{model}/table_config.txt:2: dim = 5000: must be from 1 to 4096"
    )


def test_tables_beyond_the_memory(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(*_: object) -> None:
        raise MemoryError("Unable to allocate 8.00 TiB")

    monkeypatch.setattr("gnarl.sw.workloads.embedding.inputs.synthesise_tables", none_left)
    assert refused(tmp_path, model) == "out of memory: Unable to allocate 8.00 TiB"


def test_schedules_of_another_model_and_of_another_architecture(tmp_path: Path) -> None:
    model, other = write_model(tmp_path), write_model(tmp_path, "other")
    (other / "table_config.txt").write_text("50,4\n20,8\n30,4\n")
    schedules = tmp_path / "schedules.json"
    assert (
        gnarl(
            "tune", CONFIG, model, "-o", schedules, "--strategy", "cost-model", "--batches", "1"
        ).exit_code
        == 0
    )
    text = refused(tmp_path, other, "--schedules", schedules)
    digest = "[0-9a-f]{40}…"
    expected = rf"{schedules}: model = {digest}: does not match other, which is {digest}"
    assert re.fullmatch(expected, text)
    text = refusal(
        tmp_path, "run", "cuda_sm80", model, "--schedules", schedules, "--backend", "emulation"
    )
    assert text == f"gnarl: {schedules}: arch = 'sm_90': must be 'sm_80', as in the configuration"


def test_schedules_that_are_damaged(tmp_path: Path) -> None:
    model, schedules = write_model(tmp_path), tmp_path / "schedules.json"
    schedules.write_text(json.dumps({"version": 1}))
    assert refused(tmp_path, model, "--schedules", schedules).startswith(f"{schedules}: ")


def test_no_driver_for_the_gpu(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gnarl.sw.runtime.cuda.gpu import driver

    if not isinstance(start_error(driver), str):
        pytest.skip("this machine has a GPU")
    text = refusal(tmp_path, "run", CONFIG, model, "--backend", "cuda")
    assert text.endswith("--backend emulation runs on the CPU")


def start_error(driver: object) -> str | None:
    from gnarl.hw.lib.errors import GnarlError

    try:
        driver.start()  # type: ignore[attr-defined]
    except GnarlError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["rtl", CONFIG], "gnarl rtl: cuda_sm90: target cuda has no Verilog. See gnarl rtl --help"),
        (
            ["tune", "dpu_d1_b8", "x", "-o", "y.json"],
            "gnarl: dpu_d1_b8: target dpu has no schedules",
        ),
        (
            ["run", CONFIG, "x", "--backend", "rtl"],
            "gnarl run: --backend rtl: target cuda runs on cuda or emulation. See gnarl run --help",
        ),
        (
            ["run", "dpu_d1_b8", "x", "--batch", "3"],
            "gnarl run: --batch: not supported by target dpu. See gnarl run --help",
        ),
        (
            ["run", CONFIG, "x", "--no-reassociate"],
            "gnarl run: --no-reassociate: not supported by target cuda. See gnarl run --help",
        ),
        (
            ["run", CONFIG, "x", "--tensor", "B=b.mtx", "--backend", "emulation"],
            "gnarl: --tensor B: not supported for models: --values gives tables and inputs",
        ),
        (
            ["run", CONFIG, "x", "--waves", "w.fst", "--backend", "emulation"],
            "gnarl run: --waves shows the RTL: not for --backend emulation. See gnarl run --help",
        ),
        (
            ["run", CONFIG, "x", "--set", "arch=sm_70", "--backend", "emulation"],
            f"gnarl: --set: arch = 'sm_70': must be one of {', '.join(ARCHITECTURES)}",
        ),
    ],
)
def test_arguments(tmp_path: Path, arguments: list[str], text: str) -> None:
    assert refusal(tmp_path, *arguments) == text


def test_a_program_that_is_damaged(model: Path, tmp_path: Path) -> None:
    program = tmp_path / "small.npz"
    gnarl("compile", CONFIG, model, "-o", program)
    with np.load(program) as archive:
        arrays = {
            name: archive[name] for name in archive.files if name.endswith(("source", "plan"))
        }
    assert set(arrays) == {"source", "plan"}
    truncated = tmp_path / "truncated.npz"
    truncated.write_bytes(program.read_bytes()[:-100])
    assert refused(tmp_path, truncated).startswith(f"{truncated}: not a program file, or damaged: ")


def test_a_program_whose_source_was_changed(model: Path, tmp_path: Path) -> None:
    program = tmp_path / "small.npz"
    gnarl("compile", CONFIG, model, "-o", program)
    with np.load(program) as archive:
        source = archive["source"].tobytes()
    line = source.count(b"\n") + 1
    code = f'#include <cstdlib>\nstatic int ran = system("touch {tmp_path}/ran");\n'
    with_member(program, "source.npy", array_bytes(np.frombuffer(source + code.encode(), np.uint8)))
    for command in (["run", CONFIG, program, "--backend", "emulation"], ["disasm", program]):
        assert refusal(tmp_path, *command) == (
            f"gnarl: {program}: section 'source': line {line} is "
            "'#include <cstdlib>': does not match what section 'plan' gives: compile the workload "
            "again"
        )


def test_options_that_would_change_nothing(model: Path, tmp_path: Path) -> None:
    program, schedules = tmp_path / "small.npz", tmp_path / "schedules.json"
    gnarl("compile", CONFIG, model, "-o", program)
    schedules.touch()
    assert refused(tmp_path, program, "--schedules", schedules) == (
        f"--schedules: {program} is compiled already: must be left out"
    )
    values = write_values(tmp_path / "mine.npz")
    assert refused(tmp_path, model, "--values", values, "--batch", "3") == (
        f"--batch 3: {values} has 2 samples: must be left out"
    )


def test_a_program_for_another_architecture(model: Path, tmp_path: Path) -> None:
    program = tmp_path / "small.npz"
    gnarl("compile", "cuda_sm80", model, "-o", program)
    assert refused(tmp_path, program) == (
        f"{program}: program for another configuration: arch is sm_80, must be sm_90"
    )
