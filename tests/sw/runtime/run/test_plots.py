"""Results draw themselves, as ``--timeline`` does, and say why where they cannot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.report.timeline import save_figure
from gnarl.sw.runtime.run.device import Device
from tests.support.dpu.dag_files import product
from tests.support.errors import refused
from tests.support.targets import adder
from tests.support.targets.installed import OUTSIDE, importable, install

VECTORS = {"b": np.array([0, 2.5, 0, 1.0]), "c": np.array([1.0, 2.0, 0, 0])}
SPARSE = "x(i)=b(i)*c(i) -f=x:s -f=b:s -f=c:s"

CONFIGURATIONS = ("dpu_d1_b8", "sam_fp32", "tmu_l2", "sram_b2")


def result_of(config: str, folder: Path) -> Result[Any]:
    """The result of a small run."""
    device = Device(config, "model")
    if config == "dpu_d1_b8":
        return device.run(device.compile(product(folder)), {"a": 3.0, "b": 2.0})
    if config == "sam_fp32":
        return device.run(device.compile(SPARSE), VECTORS)
    if config == "tmu_l2":
        workload = device.workload("embedding_bag:tiny")
        return device.run(device.compile(workload), workload.inputs)
    arrays = {name: np.arange(8, dtype=np.float32) for name in ("a", "b")}
    return device.run(device.compile("examples/vec_add.c"), arrays)


@pytest.mark.parametrize("config", CONFIGURATIONS)
def test_a_plot_is_what_timeline_draws(tmp_path: Path, config: str) -> None:
    result = result_of(config, tmp_path)
    figure = result.plot()
    assert isinstance(figure, Figure)
    above, below = figure.axes
    workload = result.program.workload
    assert above.get_title(loc="left").startswith(f"{workload} on {config}: ")
    assert below.get_legend() is not None
    presenter = Device(config, "model").target.presenter
    presenter.draw(result.program, result, f"{workload} on {config}", tmp_path / "timeline.png")
    save_figure(figure, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes() == (tmp_path / "timeline.png").read_bytes()


def test_plots_go_into_axes_of_others(tmp_path: Path) -> None:
    result = result_of("dpu_d1_b8", tmp_path)
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert result.plot(right) is figure
    assert right.get_title(loc="left") == result.plot().axes[0].get_title(loc="left")
    assert right.get_ylabel() == result.plot().axes[0].get_ylabel()
    assert figure.axes == [left, right]
    assert not left.has_data() and right.has_data()


def test_notebooks_show_a_plot_once(tmp_path: Path) -> None:
    figure = result_of("dpu_d1_b8", tmp_path).plot()
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    assert pyplot.get_fignums() == []


def test_results_of_no_run_are_refused(tmp_path: Path) -> None:
    result = replace(result_of("dpu_d1_b8", tmp_path), plotter=None)
    with refused("plot: this result of product is not what Device.run returned: cannot be drawn"):
        result.plot()


def test_targets_without_pictures_are_named(tmp_path: Path) -> None:
    install(tmp_path, "outside", OUTSIDE)
    with importable(tmp_path):
        table = np.arange(72).reshape(adder.SHAPE)
        np.savetxt(tmp_path / "table.txt", table, "%d")
        device = Device("adder", "model")
        result = device.run(device.compile(tmp_path / "table.txt"), {"table": table})
        with refused(f"plot: not supported by target {device.target.name}"):
            result.plot()
