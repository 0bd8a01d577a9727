"""Pictures of runs say what is drawn in them, and draw what reports say, or another run by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from gnarl.sw.runtime.report.report import Report
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.run.session import run_once
from gnarl.sw.runtime.sram_compute.figures import CYCLES
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.runtime.target.registry import TARGETS
from gnarl.sw.runtime.tmu.figures import ACCESS_WAITS, WAITS
from tests.support.cuda.embedding_files import write_model
from tests.support.dpu.dag_files import product
from tests.support.machines.fake_board import fake_board

SPARSE = "x(i)=b(i)*c(i) -f=x:s -f=b:s -f=c:s"

VECTORS = {"b": np.arange(64) % 31 == 30, "c": np.arange(64) % 2 == 0}
"""So different that the RTL skips what the model does not."""

CONFIGURATIONS = {"dpu": "dpu_d1_b8", "sam": "sam_fp32", "tmu": "tmu_l2", "sram": "sram_b2"}

CASES = [
    (target, backend)
    for target in CONFIGURATIONS
    for backend in TARGETS[target].executor.backends
    if (target, backend) != ("tmu", "fpga")
]
"""Of all targets and backends but one, whose memory takes a line too long."""


@dataclass
class Picture:
    """What a picture's figure has in it: the lines of its title, the label and the end of its axis,
    its mean in %, and the kinds of its legends in %, by the labels of their axes."""

    title: list[str]
    axis: str
    end: float
    mean: float
    mixes: dict[str, dict[str, int]]


class Pictures(list[Figure]):
    """Those that are saved."""

    @property
    def last(self) -> Picture:
        above, *below = self[-1].axes
        (mean,) = (text.get_text() for text in above.texts)
        return Picture(
            above.get_title(loc="left").split("\n"),
            below[-1].get_xlabel(),
            below[-1].get_xlim()[1],
            float(mean.removeprefix("mean ").removesuffix(" %")),
            {axes.get_ylabel(): _legend(axes) for axes in below},
        )


def _legend(axes: Any) -> dict[str, int]:
    labels = [text.get_text().rpartition(" ") for text in _texts(axes.get_legend())]
    assert all(label[2] == "%" for label in labels)
    return {kind: int(share) for kind, _, share in (label[0].rpartition(" ") for label in labels)}


def _texts(legend: Any) -> list[Any]:
    return list(legend.get_texts())


@pytest.fixture
def pictures(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pictures]:
    saved = Pictures()
    for module in ("cuda.picture", "report.timeline"):  # imported before what it takes is patched
        monkeypatch.setattr(
            f"gnarl.sw.runtime.{module}.save_figure", lambda figure, path: saved.append(figure)
        )
    yield saved


def source_of(target: str, folder: Path) -> tuple[str, dict[str, Any]]:
    """A small workload, and what ``run_once`` is given with it."""
    if target == "dpu":
        return str(product(folder)), {}
    if target == "tmu":
        return "embedding_bag:tiny", {}
    if target == "sram":
        options = {"place": "memory"}
        return "examples/vec_add.c", {"sizes": {"n": 64}, "options": options}
    for name, vector in VECTORS.items():
        np.save(folder / f"{name}.npy", vector.astype(np.float32))
    return SPARSE, {"tensors": {name: str(folder / f"{name}.npy") for name in VECTORS}}


def drawn(target: str, backend: str, folder: Path) -> Report:
    """The report of a small run that is drawn."""
    configuration = load_configuration(CONFIGURATIONS[target])
    source, given = source_of(target, folder)
    with ExitStack() as stack:
        if backend == "fpga":
            hardware = configuration
            if target == "sam":
                compiler = Device(configuration, "model")
                hardware = compiler.hardware(compiler.compile((source, VECTORS)))
            given["port"] = stack.enter_context(fake_board(hardware))
        return run_once(
            configuration, source, backend=backend, timeline=folder / "picture.png", **given
        )


@pytest.mark.parametrize(("target", "backend"), CASES)
def test_a_picture_has_the_numbers_of_what_is_drawn(
    target: str, backend: str, tmp_path: Path, pictures: Pictures
) -> None:
    report = drawn(target, backend, tmp_path)
    picture = pictures.last
    first, *note = picture.title
    name, _, numbers = first.rpartition(": ")
    assert name == f"{report.workload} on {report.config}"
    counted = re.fullmatch(r"([\d,]+) (\w+)s, ([\d.]+) of (\d+) (.+?) (busy|in use)", numbers)
    assert counted is not None, picture.title
    steps, capacity = int(counted[1].replace(",", "")), int(counted[4])
    assert (steps, counted[2]) == (picture.end, picture.axis)
    assert picture.mean == pytest.approx(100 * float(counted[3]) / capacity, abs=1)
    for kinds in picture.mixes.values():
        assert sum(kinds.values()) <= 100 + len(kinds) / 2
    is_reports = note == []
    assert is_reports == (target in ("dpu", "sram") or backend == "rtl")
    if is_reports or (target, backend) == ("sam", "model"):
        assert steps == report.cycles
    if counted[6] == "busy" and report.utilisation is not None and steps == report.cycles:
        assert (capacity, counted[5]) == (report.figures.capacity, report.figures.unit)
        assert picture.mean == pytest.approx(100 * report.utilisation, abs=0.05)


def test_the_picture_of_sams_rtl_has_the_tokens_of_the_report(
    tmp_path: Path, pictures: Pictures
) -> None:
    report = drawn("sam", "rtl", tmp_path)
    assert report.cycles is not None
    tokens = {name: n for name, n in report.counters.items() if name.startswith("tokens_")}
    values = sum(count for name, count in tokens.items() if name.endswith("_val"))
    shares = [100 * n / len(tokens) / report.cycles for n in (values, sum(tokens.values()))]
    assert pictures.last.mixes == {
        f"% of {len(tokens)} streams": {
            "tokens: values": round(shares[0]),
            "tokens: coordinates, references": round(shares[1] - shares[0]),
        }
    }


def test_the_picture_of_the_tmus_rtl_has_the_waits_of_the_report(
    tmp_path: Path, pictures: Pictures
) -> None:
    report = drawn("tmu", "rtl", tmp_path)
    cycles, counters = report.cycles, report.counters
    assert cycles is not None
    shares = {name: round(100 * count / cycles) for name, count in counters.items()}
    assert pictures.last.mixes == {
        f"% of cycles: {unit}": {
            name if name == "instructions" else f"waits: {name}": shares[counter]
            for name, counter in names.items()
        }
        for unit, names in (("execute unit", WAITS), ("access unit", ACCESS_WAITS))
    }
    words = load_configuration(CONFIGURATIONS["tmu"]).config.data_words
    mean = 100 * counters["words_in_queue"] / cycles / words
    assert pictures.last.mean == pytest.approx(mean, abs=0.05)
    assert f"of {words} words of the data queue in use" in pictures.last.title[0]


@pytest.mark.parametrize("backend", ["fpga", "model"])
def test_sams_simulation_is_not_taken_for_the_hardware(
    backend: str, tmp_path: Path, pictures: Pictures
) -> None:
    report = drawn("sam", backend, tmp_path)
    picture = pictures.last
    assert picture.title[1:] == ["(simulated cycle by cycle, not on the RTL)"]
    assert picture.end == report.cycles
    assert f"{report.cycles:,}" in picture.title[0]


def test_the_picture_of_the_tmus_model_is_of_its_instructions(
    tmp_path: Path, pictures: Pictures
) -> None:
    report = drawn("tmu", "model", tmp_path)
    picture, counters = pictures.last, report.counters
    assert picture.title[1:] == [
        "(instructions of the model, which has no cycles: not the time of the RTL)"
    ]
    assert picture.axis == "instruction"
    assert picture.end == counters["instructions"] + counters.get("jumps_joined", 0)


@pytest.mark.parametrize("backend", ["rtl", "model"])
def test_the_picture_of_in_sram_computing_has_the_kinds_of_the_report(
    backend: str, tmp_path: Path, pictures: Pictures
) -> None:
    report = drawn("sram", backend, tmp_path)
    assert report.cycles is not None
    assert pictures.last.mixes["% of cycles"] == {
        label: round(100 * report.counters[name] / report.cycles) for label, name in CYCLES.items()
    }


def test_the_picture_of_a_launch_has_the_tasks_and_blocks_of_the_report(
    tmp_path: Path, pictures: Pictures
) -> None:
    report = run_once(
        load_configuration("cuda_sm90"),
        str(write_model(tmp_path)),
        backend="emulation",
        options={"batch": 700},
        timeline=tmp_path / "picture.png",
    )
    (axes,) = pictures[-1].axes
    tasks, blocks = (report.counters[name] for name in ("tasks", "blocks"))
    assert axes.get_title(loc="left") == (
        f"{report.workload} on cuda_sm90, 700 samples: {tasks} tasks on {blocks} blocks"
    )
    assert axes.get_xlabel() == "task, in the order of their numbers"
    assert axes.get_xlim() == (0, tasks)
    (legend,) = pictures[-1].legends
    counts = [text.get_text().rpartition(": ")[2].split() for text in _texts(legend)]
    assert sum(int(count) for count, _ in counts) == tasks
    assert {unit for _, unit in counts} <= {"task", "tasks"}
    assert 1 < blocks < tasks
