"""Outputs of whole models, and parts of the design off and on, on a driver without a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bench.cuda_parts import measure, outputs, variants
from bench.cuda_parts.field import require_gpu_of
from bench.cuda_parts.model_sources import ModelFolder
from bench.cuda_parts.stored_batches import StoredBatches
from bench.lib.records import rows
from bench.lib.results import Results
from tests.support.cuda.bench import write_model
from tests.support.cuda.fake_cuda import Call, fake_gpus


@pytest.fixture(scope="module")
def call() -> Iterator[Call]:
    with fake_gpus() as call:
        yield call


def test_outputs_are_those_of_the_golden_model(tmp_path: Path, call: Call):
    """Of a batch that was made ahead, and of one that was not."""
    source = ModelFolder(write_model(tmp_path / "A"))
    results = Results.begin(tmp_path / "r.json", resume=False)
    stored = StoredBatches(tmp_path)
    stored.make(source.load(), 5, 3, 0)
    gpu = call(require_gpu_of, 0)
    job = outputs.Job(source, (5, 2), gpu, 3, tmp_path / "schedules", results, None, stored)
    call(outputs.measure, job)
    found = results.load()
    table = rows(found)
    assert {samples: row["bit_exact"] for (_, samples), row in table.items()} == {5: True, 2: True}
    hashes = {row["hash"] for row in table.values()}
    assert len(hashes) == 2
    assert outputs.verdict(found) == "bit-exact: 2 of 2 batches of whole models"
    body = outputs.tables(found)["Outputs of whole models"].body
    assert body[0][3] == f"{table['A', 5]['hash']:012x}"
    outputs.draw(found, tmp_path / "a.png")
    call(outputs.measure, job)
    assert results.load() == found


def test_hashes_are_of_all_bits():
    arrays = [np.zeros((2, 2), np.float32), np.ones((2, 1), np.float16)]
    assert outputs.hash_of(arrays) == outputs.hash_of([each.copy() for each in arrays])
    arrays[0][1, 1] = -0.0
    assert outputs.hash_of(arrays) != outputs.hash_of([abs(each) for each in arrays])
    assert 0 <= outputs.hash_of(arrays) < 1 << 48


def test_variants_compute_the_same(tmp_path: Path, call: Call):
    source = ModelFolder(write_model(tmp_path / "A"))
    results = Results.begin(tmp_path / "r.json", resume=False)
    job = variants.job_of(source, 1, 3, tmp_path / "schedules", results)
    assert call(measure.measure, job) == measure.Measured()
    found = results.load()
    table = rows(record for record in found if record.bench == variants.BENCH)
    assert {kernel: row["bit_exact"] for (_, _, kernel), row in table.items()} == {
        name: True for name in (measure.OURS, *variants.VARIANTS)
    }
    assert f"bit-exact: {len(table)} of {len(table)} kernels" in variants.verdict(found)
    assert variants.tables(found)["Variants"].header[3:-1] == [
        f"× {name}" for name in variants.VARIANTS
    ]
    variants.draw(found, tmp_path / "a.png")
