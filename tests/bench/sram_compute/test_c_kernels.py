"""The benchmark of small kernels in C."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bench.lib.records import records
from bench.sram_compute_parts import c_kernels

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc to compare with")

REFUSED = {
    "gather": {"memory"},
    "softmax": {"memory", "near", "core", "auto"},
}
"""Some that places do not take."""

SAMPLE = ("dot_int8", "flip_horizontal", "popcount_builtin", "image_histogram", "prefix_sum")


def made(name: str, *, bit_exact: bool = True, **cycles: int):
    job = c_kernels.Job(name, 0)
    values = {**dict.fromkeys(c_kernels.METRICS), **cycles, "bit_exact": bit_exact}
    return records(c_kernels.BENCH, job.labels, values, c_kernels.METRICS, job.setting())


def test_kernels_that_places_take(tmp_path: Path):
    found = made("invert", cycles_memory=500, cycles_core=900, cycles_auto=500)
    found += made("softmax") + made("gather", bit_exact=False, cycles_core=1234, cycles_auto=1234)
    assert c_kernels.verdict(found).splitlines() == [
        "memory takes 1 of 3 kernels, at least 80: ✘",
        "near takes 0 of 3 kernels",
        "core takes 2 of 3 kernels",
        "auto takes 2 of 3 kernels, at least 100: ✘",
        "refused by all: softmax",
        "with gcc's bits wherever they run: 1 of 2 kernels",
    ]
    (table,) = c_kernels.tables(found).values()
    assert table.body[2] == "gather|||1,234|1,234|NO".split("|")
    c_kernels.draw(found, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1000


def test_there_are_as_many_as_are_said():
    assert len(c_kernels.NAMES) == len(set(c_kernels.NAMES)) == 107
    assert {*c_kernels.QUICK, *SAMPLE, *REFUSED} <= {*c_kernels.NAMES}


@needs_gcc
@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample(name: str):
    places = ("memory", "core") if name != "image_histogram" else ("near", "core", "auto")
    for place in places:
        ran = c_kernels.run_in(name, place)
        assert ran.is_exact and ran.cycles, (place, ran.refusal)


@needs_gcc
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gnarl.sw.workloads.refusals.InputWarning")
@pytest.mark.parametrize("name", [each for each in c_kernels.NAMES if each != "covariance"])
def test_all(name: str):
    found = c_kernels.measure(c_kernels.Job(name, 1))
    assert found["bit_exact"]
    refused = {place for place in c_kernels.PLACES if found[f"cycles_{place}"] is None}
    assert refused >= REFUSED.get(name, set())


@needs_gcc
def test_a_wrong_result_is_seen(monkeypatch: pytest.MonkeyPatch):
    library = c_kernels.library(c_kernels.TEXT.replace("255 - in[i]", "254 - in[i]"))
    monkeypatch.setattr(c_kernels, "library", lambda text: library)
    assert not c_kernels.run_in("invert", "memory").is_exact
