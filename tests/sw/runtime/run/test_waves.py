"""Runs with waves write views of signals that the waves have, of each target."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl.sw.program.program import Program
from gnarl.sw.runtime.machine.waves.trace_names import Variable, read_variables
from gnarl.sw.runtime.machine.waves.view import view
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.run.session import run_once
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.runtime.target.verilog import module_name, verilog
from tests.support.dpu.dag_files import product
from tests.support.machines.wave_views import gtkwave_groups, surfer_groups, verilog_variables
from tests.support.targets import adder
from tests.support.targets.installed import OUTSIDE, importable, install

FIXED = ["clock", "host_port", "run"]

GROUPS: Mapping[str, list[str]] = {
    "dpu_d1_b8": ["fetch", "issue", "decoder", "bank_0", "tree_0", "data_memory"],
    "sam_fp32": [
        f"datapath_block_{name}"
        for name in ("lookup_b_i", "root", "vals_b", "write_x_i", "write_x_vals")
    ],
    "tmu_l2": [
        "access",
        *(f"access_generator_{layer}" for layer in range(4)),
        *("queue", "tokens", "execute", "execute_sequencer", "hierarchy"),
    ],
    "sram_b2": [
        *("fetch", "unit", "bank_0", "bank_0_controller_sequencer", "transfer", "exchange"),
        *("near_memory", "vector_core", "vector_core_unit_sequencer", "main"),
    ],
}
"""By configuration: what an engineer looks at, behind the groups that all have."""

SAM_WORKLOAD = "x(i)=b(i) -f=x:s -f=b:s"


def workload(config: str, folder: Path) -> tuple[str, dict[str, Any]]:
    """A small one, as ``run_once`` takes it."""
    if config == "dpu_d1_b8":
        return str(product(folder)), {}
    if config == "tmu_l2":
        return "embedding_bag:tiny", {}
    if config == "sram_b2":
        nest = folder / "nest.c"
        nest.write_text("void f(int n, int a[n]) { for (int i = 0; i < n; i++) a[i] += 1; }\n")
        return str(nest), {"sizes": {"n": 8}}
    np.save(folder / "b.npy", np.array([0, 2.5, 0, 1.0]))
    return SAM_WORKLOAD, {"tensors": {"b": str(folder / "b.npy")}}


def design(config: str) -> list[Variable]:
    """The signals of a configuration's Verilog; of SAM, of that for the workload."""
    hardware = load_configuration(config)
    if config == "sam_fp32":
        device = Device(config, "model")
        program: Program = device.compile(SAM_WORKLOAD)
        hardware = device.hardware(program)
    return verilog_variables(verilog(hardware), module_name(hardware))


@pytest.mark.parametrize("config", GROUPS)
def test_every_signal_that_a_target_names_is_in_its_design(config: str) -> None:
    """So that no name stays which hardware no longer has."""
    units = load_configuration(config).target.executor.units
    assert units is not None
    groups = view(design(config), units)
    assert [group.name for group in groups[:3]] == FIXED
    assert {group.name for group in groups[3:]} == set(GROUPS[config])
    names = {shown.variable.name for group in groups for shown in group.shown}
    assert not {name for unit in units for name in unit.radices} - names


@pytest.mark.parametrize("fails", [False, True])
def test_devices_write_views_when_they_close(tmp_path: Path, fails: bool) -> None:
    """A target's of another package: each instance with streams has a group."""
    package = tmp_path / "package"
    package.mkdir()
    install(package, "outside", OUTSIDE)
    table = np.arange(72).reshape(adder.SHAPE)
    np.savetxt(tmp_path / "table.txt", table, "%d")
    with importable(package):
        try:
            with Device("adder", waves=tmp_path / "x.fst") as device:
                device.run(device.compile(tmp_path / "table.txt"), {"table": table})
                if fails:
                    raise RuntimeError
        except RuntimeError:
            assert fails
    paths = {each.path for each in read_variables(tmp_path / "x.fst")}
    shown = surfer_groups(tmp_path / "x.sucl")
    assert list(shown) == list(gtkwave_groups(tmp_path / "x.gtkw")) == [*FIXED, "port"]
    assert all(names and set(names) <= paths for names in shown.values())


def test_devices_that_have_not_run_write_nothing(tmp_path: Path) -> None:
    with Device("dpu_d1_b8", waves=tmp_path / "x.fst"):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("config", GROUPS)
def test_views_show_signals_of_the_waves(tmp_path: Path, config: str) -> None:
    waves = tmp_path / "waves.fst"
    source, arguments = workload(config, tmp_path)
    report = run_once(load_configuration(config), source, waves=waves, **arguments)
    assert report.matches
    variables = read_variables(waves)
    gtkwave = gtkwave_groups(waves.with_suffix(".gtkw"))
    surfer = surfer_groups(waves.with_suffix(".sucl"))
    paths = {each.path for each in variables}
    with_bits = {each.path + each.bits for each in variables}
    assert list(gtkwave) == list(surfer)
    assert set(surfer) == {*FIXED, *GROUPS[config]}
    for group, names in surfer.items():
        assert names
        assert set(names) <= paths
        assert set(gtkwave[group]) <= with_bits
        assert [name.partition("[")[0] for name in gtkwave[group]] == names
