"""The CUDA benchmark's whole command, on a driver without a GPU."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.lib.records import Record, load, save
from tests.support.cuda.bench import write_model
from tests.support.cuda.fake_cuda import fake_gpus

PARTS = ("outputs", "launches", "kernels", "variants", "bits", "scale", "end_to_end")


def run(folder: str, *arguments: str) -> tuple[int, str]:
    """Exit status and output; jobs run in this process, which has the driver."""
    from click.testing import CliRunner

    from bench.cuda import main
    from bench.cuda_parts import comparison, launches, outputs
    from bench.lib import measurements
    from bench.lib.jobs import Failure
    from gnarl.hw.lib.errors import GnarlError

    def run_jobs(
        function: Callable[[Any], Any],
        jobs: list[Any],
        *,
        finished: Callable[[Any, Any], None] = lambda job, result: None,
        **options: Any,
    ) -> list[Any]:
        results: list[Any] = []
        for job in jobs:
            try:
                results.append(function(job))
                finished(job, results[-1])
            except GnarlError as error:
                results.append(Failure(str(error)))
        return results

    for module in (comparison, launches, measurements, outputs):
        module.run_jobs = run_jobs  # type: ignore[attr-defined]
    os.chdir(folder)
    done = CliRunner().invoke(main, [*arguments, "--workloads", ".", "--models", "A"])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def _marked(path: Path) -> list[Record]:
    """The file's records, with figures there that no run measures."""
    found = [
        each
        if isinstance(each.value, bool) or each.value is None
        else replace(each, value=each.value + (1 if isinstance(each.value, int) else 0.125))
        for each in load(path)
    ]
    save(path, found)
    return found


@pytest.mark.slow
def test_parts_are_measured_and_resumed(tmp_path: Path):
    write_model(tmp_path / "recflex" / "A")
    command = (*PARTS, "--quick", "--batch-sizes", "5", "-o", "out")
    with fake_gpus() as call:
        status, output = call(run, str(tmp_path), *command)
        assert status == 0, output
        found = {part: _marked(tmp_path / f"out/cuda_{part}.json") for part in PARTS}
        assert call(run, str(tmp_path), *command, "--resume")[0] == 0
    assert found == {part: load(tmp_path / f"out/cuda_{part}.json") for part in PARTS}
    names = {record.name for records in found.values() for record in records}
    for wanted in (
        "cuda.outputs/A/8/hash",
        "cuda.launches/A/cost model/1/code_warm_us",
        "cuda.variants/A/varying/checked/speedup",
        "cuda.kernels/A/5/static mapping, maximum/speedup",
        "cuda.scale/20_features/varying/uniform, warp per sample/speedup",
        "cuda.scale/mlperf/varying/this project/of_bound",
    ):
        assert wanted in names
    assert {record.bench for record in found["end_to_end"]} == {"cuda.end_to_end.models"}
    assert "cuda.end_to_end: A, 4 batches, varying: left out: this project: PyTorch" in output
