"""Einsum programs of files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from gnarl.sw.workloads.einsum.pytorch.sources import (
    file_program,
    function_program,
    module_program,
)
from tests.support.errors import refused
from tests.support.nests.pytorch_modules import module
from tests.support.pytorch_programs import layers, lines, require_values
from tests.support.workloads import workload_file

GCN = Path(__file__).parents[5] / "examples" / "gcn.py"

PAIR = """
import torch
def pair():
    return torch.nn.Linear(3, 2), (torch.ones(4, 3),)
def alone():
    return torch.nn.Linear(3, 2)
made = pair()
"""


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(3, 2), torch.nn.Linear(2, 2)

    def forward(self, x: torch.Tensor, scale: float) -> torch.Tensor:
        h = self.second(torch.relu(self.first(x)))
        return torch.softmax(self.second(torch.tanh(h)) * scale, -1)


def test_a_file_is_what_its_module_is(tmp_path: Path) -> None:
    inputs = torch.arange(12.0).reshape(4, 3), 0.5
    path = tmp_path / "net.pt2"
    net = Net().eval()
    torch.export.save(torch.export.export(net, inputs), path)
    chosen = {"first.weight": "dd:1,0", "x": "ds"}
    found, wanted = file_program(path, chosen), module_program(net, inputs, chosen)
    assert lines(found) == lines(wanted)
    assert found.program.statements[0].place == wanted.program.statements[0].place != ""
    assert layers(found) == layers(wanted)
    assert [*dict.fromkeys(layers(found).values())] == ["first", "second", "second@1"]
    assert (found.program.name, wanted.program.name) == ("net", "Net")
    assert found.program.formats == wanted.program.formats
    assert (found.names, found.shapes) == (wanted.names, wanted.shapes)
    for name, tensor in wanted.data.items():
        np.testing.assert_array_equal(found.data[name].to_dense(), tensor.to_dense())


def test_zacharys_karate_club() -> None:
    model = function_program(f"{GCN}:karate")
    assert model.parameters == model.data.keys() - {"adj", "x"}
    assert model.shapes["adj"] == model.shapes["x"] == (34, 34)
    assert model.data["adj"].nnz == 2 * 78 + 34
    assert str(model.program.formats["adj"]) == str(model.program.formats["x"]) == "ds01"
    assert [*dict.fromkeys(layers(model).values())] == ["conv1", "conv2"]
    adjacency, features, *weights = (
        model.data[name].to_dense()
        for name in ("adj", "x", "conv1_weight", "conv1_bias", "conv2_weight", "conv2_bias")
    )
    assert np.linalg.eigvalsh(adjacency).max() == pytest.approx(1)
    hidden = np.maximum(adjacency @ features @ weights[0].T + weights[1], 0)
    scores = np.exp(adjacency @ hidden @ weights[2].T + weights[3])
    require_values(model, [scores / scores.sum(1, keepdims=True)])


def test_cora(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = workload_file("graph/cora_adjacency.mtx")
    monkeypatch.setenv("GNARL_WORKLOADS", str(file.parents[1]))
    model = function_program(f"{GCN}:cora", {"conv1.weight": "dd:1,0"})
    assert model.shapes["x"] == (2708, 1433)
    assert (model.data["adj"].nnz, model.data["x"].nnz) == (2 * 5278 + 2708, 49216)
    assert model.result_shapes == {"softmax": (2708, 7)}


def test_cora_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GNARL_WORKLOADS", str(tmp_path))
    with pytest.raises(
        Exception, match=r"gcn\.py:\d+: FileNotFoundError: .*cora_adjacency\.mtx is "
    ):
        function_program(f"{GCN}:cora")


def test_functions_and_pairs_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    path.write_text(PAIR)
    for name in ("pair", "made"):
        assert lines(function_program(f"{path}:{name}"))[0].startswith("linear(i,j)=")
    with refused(f"{path}: defines no other: must define a function of that name"):
        function_program(f"{path}:other")
    with refused(
        f"{path}: alone gives Linear: must give a tuple of a module and the arguments of its "
        "forward"
    ):
        function_program(f"{path}:alone")
    with refused(f"{path}: must be FILE.py:NAME, of a function that gives a module"):
        function_program(str(path))


def test_arguments_by_name() -> None:
    def forward(self, x, *, by):
        return x * by

    model = module_program(module(forward), {"x": torch.ones(3), "by": 2.5})
    assert lines(model) == ["mul(i)=x(i)*2.5"]
