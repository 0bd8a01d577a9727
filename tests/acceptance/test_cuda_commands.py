"""The CUDA target through the ``gnarl`` command, on the emulation: no test here needs a GPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl.sw.compiler.cuda.schedule import MAPPINGS
from tests.support.commands import gnarl
from tests.support.cuda.embedding_files import write_model, write_values

CONFIG = "cuda_sm90"


def run(model: str | Path, *arguments: str | Path) -> dict[str, Any]:
    """The JSON object of a run that succeeds."""
    result = gnarl("run", CONFIG, model, *arguments, "--backend", "emulation", "--json")
    assert (result.exit_code, result.stdout.count("\n")) == (0, 1), result.stderr
    report: dict[str, Any] = json.loads(result.stdout)
    assert report["matches"]
    return report


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path)


def test_a_model_is_looked_up_on_the_emulation(model: Path) -> None:
    report = run(model)
    assert (report["target"], report["backend"], report["workload"]) == (
        "cuda",
        "emulation",
        "small",
    )
    assert report["bit_exact"]
    assert report["cycles"] is report["ops_per_cycle"] is report["utilisation"] is None
    assert report["statistics"]["features"] == 3
    assert report["statistics"]["batch"] == 64
    assert list(report["outputs"]) == ["f0", "f1", "f2"]
    threads = report["statistics"]["block_threads"] * report["counters"]["blocks"]
    assert report["counters"]["threads"] == threads


def test_the_page_says_that_no_gpu_was_used(model: Path) -> None:
    result = gnarl("run", CONFIG, model, "--backend", "emulation")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "small on cuda_sm90, emulation (no GPU was used)\n" in result.stdout
    assert "✔ bit-exact" in result.stdout
    assert "Features by template\n" in result.stdout


def test_seed_and_batch_choose_the_data(model: Path) -> None:
    first, again, other = (run(model, "--batch", "9", "--seed", seed) for seed in ("1", "1", "2"))
    assert first["outputs"] == again["outputs"] != other["outputs"]
    assert first["counters"] == again["counters"]
    assert first["statistics"]["batch"] == 9


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_every_thread_mapping_gives_the_same_results(model: Path, mapping: str) -> None:
    plain, mapped = run(model), run(model, "--set", "workers=blocks", "--mapping", mapping)
    assert mapped["outputs"] == plain["outputs"]


def test_warps_map_nothing(model: Path) -> None:
    result = gnarl("run", CONFIG, model, "--backend", "emulation", "--mapping", "device")
    assert (result.exit_code, result.stderr) == (
        2,
        "gnarl: mapping = 'device': not supported where workers are warps, whose tasks follow from "
        "the batch's size: must be left out, or workers = blocks\n",
    )


def test_values_of_ones_own(model: Path, tmp_path: Path) -> None:
    output = tmp_path / "pooled.npz"
    report = run(model, "--values", write_values(tmp_path / "mine.npz"), "-o", output)
    assert report["statistics"]["batch"] == 2
    # Each table's rows hold their own number: row 3 is looked up, then rows 1 and 4.
    assert report["outputs"]["f2"] == {
        "shape": [2, 3],
        "type": "float32",
        "entries": 6,
        "values": {"f2[0,0]": 3, "f2[0,1]": 3, "f2[0,2]": 3, "f2[1,0]": 5},
    }
    with np.load(output) as arrays:
        pooled = {name: arrays[name] for name in arrays.files}
    assert {name: array.dtype for name, array in pooled.items()} == dict.fromkeys(
        ("f0", "f1", "f2"), np.float32
    )
    for name, dim in (("f0", 4), ("f1", 8), ("f2", 3)):
        assert pooled[name].tolist() == [[3] * dim, [5] * dim]


def test_values_that_are_exact_in_no_order_are_compared_within_a_bound(
    model: Path, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    path = write_values(
        tmp_path / "mine.npz",
        f1_table=rng.standard_normal((20, 8), np.float32),
        f1_indices=rng.integers(0, 20, 3000),
        f1_offsets=np.array([0, 1000, 3000]),
    )
    report = run(model, "--values", path)
    assert report["max_rel_error"] > 0


def test_a_program_file_runs_as_its_model_does(model: Path, tmp_path: Path) -> None:
    program = tmp_path / "small.npz"
    assert gnarl("compile", CONFIG, model, "-o", program).exit_code == 0
    assert run(program)["outputs"] == run(model)["outputs"]
    again = tmp_path / "again.npz"
    gnarl("compile", CONFIG, model, "-o", again)
    assert program.read_bytes() == again.read_bytes()


def test_the_passes_are_listed_and_dumped(model: Path, tmp_path: Path) -> None:
    listed = gnarl("passes", CONFIG).stdout.splitlines()
    names = [line.split()[0] for line in listed if not line.startswith(" ")]
    assert names == ["pass", "group", "schedule", "fuse"]
    dump = tmp_path / "dump"
    done = gnarl("compile", CONFIG, model, "--dump", dump, "--stop-after", "schedule")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    assert sorted(path.name for path in dump.iterdir()) == ["01_group.txt", "02_schedule.txt"]
    lines = (dump / "02_schedule.txt").read_text().splitlines()
    assert lines[0].endswith(": cost model")
    assert [line.partition(": ")[0] for line in lines[1:]] == ["f0", "f1", "f2"]
    program = tmp_path / "small.npz"
    arguments = ("-o", program, "--dump", dump, "--dump-after", "fuse")
    assert gnarl("compile", CONFIG, model, *arguments).exit_code == 0
    assert gnarl("disasm", program).stdout == (dump / "03_fuse.cu").read_text()


def test_disasm_prints_the_fused_kernel(model: Path, tmp_path: Path) -> None:
    program = tmp_path / "small.npz"
    gnarl("compile", CONFIG, model, "-o", program)
    text = gnarl("disasm", program).stdout
    assert text.startswith('// The embedding layer of "small": 3 features, 3 codes. Generated.\n')
    assert 'extern "C" __global__ void __launch_bounds__(' in text
    assert "case 2: Code2::run(" in " ".join(text.split())


def test_tuning_without_a_gpu_says_so_and_its_file_is_used(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gnarl.sw.runtime.cuda.gpu.measure.gpus", lambda: [])
    schedules = tmp_path / "schedules.json"
    result = gnarl("tune", CONFIG, model, "-o", schedules, "--batches", "2")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith(f"{schedules}: ")
    assert result.stdout.endswith("there was no GPU for two-stage tuning\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["schedules.json", "small"]
    assert run(model, "--schedules", schedules)["matches"]


def test_a_picture_of_the_grid(model: Path, tmp_path: Path) -> None:
    picture = tmp_path / "grid.png"
    run(model, "--timeline", picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
