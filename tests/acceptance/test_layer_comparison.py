"""One layer of a graph convolutional network on SAM and on the TMU, against one golden model."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import pytest
import torch

from gnarl import Device
from tests.support.commands import gnarl

CONFIGURATIONS = ("sam_fp32", "tmu_l8")

LAYER = """
import warnings

import torch

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(5, 3)

    def forward(self, adj, x):
        return torch.relu(self.lin(adj @ x))

def made(layout):
    torch.manual_seed(0)
    adj = (torch.rand(6, 6) < 0.4) * torch.rand(6, 6)
    return Layer().eval(), (layout(adj), torch.rand(6, 5))

def dense():
    return made(torch.Tensor.to_dense)

def rows():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CSR is in beta state
        return made(torch.Tensor.to_sparse_csr)

def entries():
    return made(torch.Tensor.to_sparse)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("layers")
    (folder / "layer.py").write_text(LAYER)
    module, inputs = runpy.run_path(str(folder / "layer.py"))["dense"]()
    torch.export.save(torch.export.export(module, inputs), folder / "layer.pt2")
    return folder


@pytest.mark.parametrize("source", ("layer.pt2", "layer.py:rows", "layer.py:entries"))
def test_a_layer_on_both(folder: Path, source: str) -> None:
    compared = gnarl("compare", folder / source, *CONFIGURATIONS, "--backend", "model", "--json")
    assert compared.exit_code == 0, compared.stderr
    report = json.loads(compared.stdout)
    assert report["matches"]
    assert report["golden"] == "sam_fp32"
    assert [run["config"] for run in report["runs"]] == [*CONFIGURATIONS]


def test_the_table_for_people(folder: Path) -> None:
    shown = gnarl("compare", folder / "layer.pt2", *CONFIGURATIONS, "--backend", "model")
    assert shown.exit_code == 0, shown.stderr
    assert shown.stdout.count("✔") == 2
    assert "Results are compared with the golden model of sam_fp32." in shown.stdout


def test_a_layer_in_python(folder: Path) -> None:
    """Names of inputs are the user's, with _ for dots; the result is PyTorch's."""
    module, (adj, x) = runpy.run_path(str(folder / "layer.py"))["rows"]()
    names = {}
    for name in CONFIGURATIONS:
        with Device(name, "model") as device:
            workload = device.workload((module, (adj, x)))
            result = device.run(device.compile(workload), workload.inputs)
            assert device.verify(result).difference == ""
        names[name] = {*workload.inputs}
        wanted = module(adj, x).detach()
        found = np.asarray(result.outputs["result"])
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    of_adj = {f"adj_{each}" for each in ("segments", "columns", "values")}
    assert names["tmu_l8"] - of_adj == {"x", "lin_weight", "lin_bias"}
    assert names["sam_fp32"] == {"adj", "x", "lin_weight", "lin_bias"}
